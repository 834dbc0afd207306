"""The last stage of a request: a handler's result as status, headers and bytes, as the caller accepts them."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import zstandard

from gridloom.kernel.problem import NotAcceptable, Problem
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.paging import next_link
from gridloom.platform.http.request import Request, quoted
from gridloom.platform.http.responses import CSV, EVENT_STREAM, EXCEL_CSV, Content, EventStream, Page, Response, Stream

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


PROBLEM_JSON = "application/problem+json"
FIRST_PIECE_S = 1.0
"""How long the start of a live stream is waited for before its status is sent."""


@dataclass(slots=True)
class EncodedResponse:
    status: int
    headers: dict[str, str]
    body: bytes
    stream: AsyncIterator[bytes] | None = None
    is_live: bool = False
    """Whether the stream goes on for as long as its reader stays: then its first piece may be long in coming."""


def render_problem(problem: Problem, path: str, request_id: str) -> EncodedResponse:
    body = to_json(problem.document(instance=path, request_id=request_id))
    return EncodedResponse(problem.status, {**problem.headers, "Content-Type": PROBLEM_JSON}, body)


def render(request: Request, result: Any) -> EncodedResponse:
    """A handler's result as status, headers and bytes."""
    status = request.operation.status
    headers: dict[str, str] = {}
    if isinstance(result, Response):
        status = result.status or status
        headers.update(result.headers)
        if result.etag is not None:
            headers["ETag"] = quoted(result.etag)
        if result.problem is not None:
            return render_problem(result.problem, request.path, request.request_id)
        result = result.body
    location = request.operation.location
    if location is not None and status == 201:
        headers["Location"] = _fill_location(location, request, result)
    deprecation = request.operation.deprecation
    if deprecation is not None:
        headers |= {"Deprecation": deprecation.deprecation, "Sunset": deprecation.sunset}
    if isinstance(result, Page):
        if result.next_cursor is not None:
            headers["Link"] = next_link(request.target, result.next_cursor)
        result = result.items
    if result is None:
        return EncodedResponse(status, headers, b"")
    if isinstance(result, Content | Stream):
        headers |= {**result.headers, "Content-Type": result.media_type}
        if isinstance(result, Content):
            return EncodedResponse(status, headers, result.body)
        return EncodedResponse(status, headers, b"", stream=result.chunks)
    if isinstance(result, EventStream):
        headers |= {"Content-Type": EVENT_STREAM, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return EncodedResponse(status, headers, b"", stream=_stop_early(result.frames, request.stopping), is_live=True)
    headers["Content-Type"] = "application/json"
    return EncodedResponse(status, headers, to_json(result))


def _fill_location(location: str, request: Request, created: Any) -> str:
    segments = zip(request.operation.path.split("/"), request.path.split("/"), strict=True)
    values = {name[1:-1]: value for name, value in segments if name.startswith("{")}
    return location.format(id=getattr(created, "id", None), **values)


async def prefetch_first_chunk(response: EncodedResponse) -> None:
    """Have the first piece of a stream before its status is sent: an early failure is a problem, no broken 200."""
    stream = response.stream
    assert stream is not None
    first = asyncio.ensure_future(anext(stream, None))
    try:
        await asyncio.wait({first}, timeout=FIRST_PIECE_S if response.is_live else None)
    except BaseException:
        first.cancel()
        raise
    if first.done():
        first.result()
    response.stream = _chain_first(first, stream)


async def _chain_first(first: asyncio.Task[bytes | None], stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        piece = await first
        while piece is not None:
            yield piece
            piece = await anext(stream, None)
    finally:
        if not first.done():
            first.cancel()
            await asyncio.wait({first})
        await stream.aclose()  # type: ignore[attr-defined]


async def _stop_early(frames: AsyncIterator[bytes], stopping: asyncio.Event) -> AsyncIterator[bytes]:
    """The frames, until the service is about to leave."""
    leaving = asyncio.ensure_future(stopping.wait())
    upcoming: asyncio.Task[bytes] | None = None
    try:
        while True:
            upcoming = asyncio.ensure_future(anext(frames))
            await asyncio.wait({upcoming, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not upcoming.done():
                return
            try:
                yield upcoming.result()
            except StopAsyncIteration:
                return
    finally:
        leaving.cancel()
        if upcoming is not None and not upcoming.done():
            upcoming.cancel()
            await asyncio.wait({upcoming})
        await frames.aclose()  # type: ignore[attr-defined]  # what the frames hold is given back at once
