"""The last stage of a request: a handler's result as status, headers and bytes, sent to the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from gridloom.kernel.problem import Problem
from gridloom.platform.http.answer.negotiation import COMPRESS_FROM_BYTES, compress, compress_stream, encoding_for
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.paging import next_link
from gridloom.platform.http.request import Receive, Request, Send, await_disconnect, encode_header_name, quoted
from gridloom.platform.http.responses import EVENT_STREAM, Content, EventStream, Page, Response, Stream

PROBLEM_JSON = "application/problem+json"
FIRST_PIECE_S = 1.0
"""How long the start of a live stream is waited for before its status is sent."""
UNCOMPRESSED_TYPES = ("application/vnd.apache.parquet", "text/event-stream", "image/")


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


async def send_response(
    response: EncodedResponse,
    request_headers: dict[bytes, bytes],
    send: Send,
    receive: Receive,
    *,
    is_head: bool,
    gone: Callable[[], asyncio.Task[None]] | None = None,
) -> None:
    """`gone` gives the task that waits for the client to disconnect, where there is one already."""
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
    if response.stream is None:
        await send({"type": "http.response.body", "body": b"" if is_head else body})
        return
    leaving = gone() if gone is not None else asyncio.ensure_future(await_disconnect(receive))
    await _send_stream(response.stream, encoding, send, leaving, is_head=is_head)


async def _send_stream(
    chunks: AsyncIterator[bytes],
    encoding: str | None,
    send: Send,
    gone: asyncio.Future[None],
    *,
    is_head: bool,
) -> None:
    """Send chunk by chunk, and stop making them when the reader has left."""
    source = compress_stream(chunks, encoding) if encoding is not None else chunks
    sending = asyncio.ensure_future(_pump_frames(source, chunks, send, is_head=is_head))
    try:
        await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (gone, sending):
            if not task.done():
                task.cancel()
        await asyncio.wait({gone, sending})
    if not sending.cancelled():
        sending.result()


async def _pump_frames(
    source: AsyncIterator[bytes],
    origin: AsyncIterator[bytes],
    send: Send,
    *,
    is_head: bool,
) -> None:
    async with aclosing(source), aclosing(origin):  # type: ignore[type-var]
        if not is_head:
            async for chunk in source:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
