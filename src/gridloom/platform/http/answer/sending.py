"""A response handed to the server: encoded as the caller accepts it, by the piece, no faster than it is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Final

from gridloom.platform.http.answer.negotiation import COMPRESS_FROM_BYTES, compress, compress_stream, encoding_for
from gridloom.platform.http.answer.render import EncodedResponse
from gridloom.platform.http.answer.unread import PIECE_BYTES, SentAnswer
from gridloom.platform.http.request import Receive, Send, await_disconnect, encode_header_name

UNCOMPRESSED_TYPES: Final = ("application/vnd.apache.parquet", "text/event-stream", "image/")


async def send_response(
    response: EncodedResponse,
    request_headers: dict[bytes, bytes],
    send: Send,
    receive: Receive,
    *,
    is_head: bool,
    gone: Callable[[], asyncio.Task[None]] | None = None,
    answer: SentAnswer | None = None,
) -> None:
    """`gone` gives the task that waits for the client to disconnect, where there is one already; `answer` counts what
    has not been read."""
    headers, body = response.headers, response.body
    media_type = headers.get("Content-Type", "")
    headers["X-Content-Type-Options"] = "nosniff"
    if media_type.endswith("json"):  # answers are the caller's own; those that may be kept say so themselves
        headers.setdefault("Cache-Control", "no-store")
    is_compressible = not media_type.startswith(UNCOMPRESSED_TYPES) and "Content-Encoding" not in headers
    encoding = None
    if is_compressible and (response.stream is not None or len(body) >= COMPRESS_FROM_BYTES):
        accepted = request_headers.get(b"accept-encoding")
        encoding = encoding_for(accepted.decode("latin-1") if accepted else None)
        headers["Vary"] = "Accept-Encoding, Accept"
    if encoding is not None:
        headers["Content-Encoding"] = encoding
        if response.stream is None:
            body = await compress(body, encoding)
    if response.stream is None and response.status != 204:
        headers["Content-Length"] = str(len(body))
    await send(
        {
            "type": "http.response.start",
            "status": response.status,
            "headers": [
                (encode_header_name(name), value.encode("latin-1", "replace")) for name, value in headers.items()
            ],
        }
    )
    source = response.stream
    if source is None and (len(body) <= PIECE_BYTES or answer is None or is_head):
        await send({"type": "http.response.body", "body": b"" if is_head else body})
        return
    leaving = gone() if gone is not None else asyncio.ensure_future(await_disconnect(receive))
    if source is None:
        assert answer is not None
        response.body = b""  # what has been sent of it is not held any more
        answer.grow(len(body))
        await _send_while_read(_send_body(body, send, answer), leaving, answer)
        return
    encoded = compress_stream(source, encoding) if encoding is not None else source
    counted = None if response.is_live else answer
    await _send_while_read(_send_stream(encoded, source, send, counted, is_head=is_head), leaving, counted)


async def _send_while_read(
    sending: Coroutine[None, None, None], gone: asyncio.Future[None], answer: SentAnswer | None
) -> None:
    """Send until the reader has left or, for its slowness, gives way."""
    task = asyncio.ensure_future(sending)
    if answer is not None:
        answer.begin(task)
    try:
        await asyncio.wait({gone, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in (gone, task):
            if not one.done():
                one.cancel()
        await asyncio.wait({gone, task})
    if not task.cancelled():
        task.result()


def _cut_pieces(body: bytes) -> Iterator[bytes]:
    if len(body) <= PIECE_BYTES:
        yield body
        return
    view = memoryview(body)
    for start in range(0, len(body), PIECE_BYTES):
        yield bytes(view[start : start + PIECE_BYTES])


async def _send_body(body: bytes, send: Send, answer: SentAnswer) -> None:
    for piece in _cut_pieces(body):
        await _send_piece(piece, send, answer)
        answer.grow(-len(piece))
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_stream(
    source: AsyncIterator[bytes], origin: AsyncIterator[bytes], send: Send, answer: SentAnswer | None, *, is_head: bool
) -> None:
    """Chunk by chunk; those to come are made when the ones before have been taken."""
    async with aclosing(source), aclosing(origin):  # type: ignore[type-var]
        if not is_head:
            async for chunk in source:
                if answer is None:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    continue
                answer.grow(len(chunk))
                for piece in _cut_pieces(chunk):
                    await _send_piece(piece, send, answer)
                    answer.grow(-len(piece))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_piece(piece: bytes, send: Send, answer: SentAnswer) -> None:
    answer.piece_waits()
    await send({"type": "http.response.body", "body": piece, "more_body": True})
    answer.piece_taken(len(piece))
