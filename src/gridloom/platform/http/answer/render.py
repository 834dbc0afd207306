"""The last stage of a request: a handler's result as status, headers and bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from gridloom.kernel.problem import Problem
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.paging import next_link
from gridloom.platform.http.request import Request, quoted
from gridloom.platform.http.responses import EVENT_STREAM, Content, EventStream, Page, Response, Stream

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
