"""Which media type and which encoding an answer takes, from what the caller accepts."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from functools import lru_cache

import zstandard

from gridloom.kernel.problem import NotAcceptable
from gridloom.platform.http.responses import CSV, EXCEL_CSV

COMPRESS_FROM_BYTES = 4096
OFF_LOOP_FROM_BYTES = 64 * 1024


MAX_HEADER = 1000
"""Longer headers are cut off, so that the cache of headers, which any client can send, stays small."""


def negotiate(accept: str | None, offered: tuple[str, ...], *, for_excel: bool = False) -> str:
    """The offered media type that the caller prefers; the first one where it has no preference.

    for_excel: the answer is CSV for Excel, which `Accept` must allow.
    """
    shortened = accept and accept[:MAX_HEADER]
    if not for_excel:
        return _choose_media_type(shortened, offered)
    _choose_media_type(shortened, (CSV,))
    return EXCEL_CSV


@lru_cache(maxsize=1024)
def _choose_media_type(accept: str | None, offered: tuple[str, ...]) -> str:
    if accept is None or accept.strip() in ("", "*/*"):
        return offered[0]
    best, best_quality = "", 0.0
    wanted = [_read_preference(part) for part in accept.split(",")]
    for media_type in offered:
        matches = [
            (specificity, quality)
            for specificity, quality in (_match_media_type(w, media_type) for w in wanted)
            if specificity
        ]
        quality = max(matches)[1] if matches else 0.0
        if quality > best_quality:
            best, best_quality = media_type, quality
    if not best:
        raise NotAcceptable(f"This operation answers {', '.join(offered)}, and Accept allows none of them.")
    return best


def _read_preference(part: str) -> tuple[str, float]:
    media_type, *parameters = (piece.strip() for piece in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return media_type.lower(), min(1.0, max(0.0, float(value)))
            except ValueError:
                return media_type.lower(), 0.0
    return media_type.lower(), 1.0


def _match_media_type(wanted: tuple[str, float], media_type: str) -> tuple[int, float]:
    pattern, quality = wanted
    if pattern == media_type:
        return 3, quality
    if pattern == f"{media_type.split('/')[0]}/*":
        return 2, quality
    return (1, quality) if pattern in ("*/*", "*") else (0, 0.0)


def encoding_for(accept_encoding: str | None) -> str | None:
    """`zstd` before `gzip`; None for the body as it is."""
    return _choose_encoding(accept_encoding[:MAX_HEADER]) if accept_encoding else None


@lru_cache(maxsize=1024)
def _choose_encoding(accept_encoding: str) -> str | None:
    qualities = dict(_read_preference(part) for part in accept_encoding.split(","))
    return next((name for name in ("zstd", "gzip") if qualities.get(name, 0.0) > 0.0), None)


async def compress(body: bytes, encoding: str, *, is_kept: bool = False) -> bytes:
    """is_kept: compressed once and sent many times, so that it may take longer and becomes smaller."""
    if len(body) < OFF_LOOP_FROM_BYTES:
        return _compress_body(body, encoding, is_kept)
    return await asyncio.to_thread(_compress_body, body, encoding, is_kept)


def _compress_body(body: bytes, encoding: str, is_kept: bool) -> bytes:
    if encoding == "zstd":
        return zstandard.ZstdCompressor(level=12 if is_kept else 3).compress(body)
    return gzip.compress(body, compresslevel=9 if is_kept else 5, mtime=0)


async def compress_stream(chunks: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The same bytes, encoded chunk by chunk."""
    coder = zstandard.ZstdCompressor(level=3).compressobj() if encoding == "zstd" else zlib.compressobj(5, wbits=31)
    async for chunk in chunks:
        encoded = (
            await asyncio.to_thread(coder.compress, chunk)
            if len(chunk) >= OFF_LOOP_FROM_BYTES
            else coder.compress(chunk)
        )
        if encoded:
            yield encoded
    yield coder.flush()
