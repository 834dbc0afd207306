"""A handler's result becomes a status, headers and bytes, and a stream ends as it should."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.platform.http.answer.negotiation import COMPRESS_FROM_BYTES
from gridloom.platform.http.answer.render import EncodedResponse, prefetch_first_chunk, render, send_response
from gridloom.platform.http.responses import Content, EventStream, Page, Response, Stream

pytestmark = pytest.mark.pure


def request_with(**more: Any) -> Any:
    operation = SimpleNamespace(status=201, deprecation=None)
    return SimpleNamespace(operation=operation, target="/toys?limit=1", stopping=asyncio.Event(), **more)


class Frames:
    """Two frames, then none for ever; whether they were given up is known."""

    def __init__(self) -> None:
        self.is_closed = False
        self.waits = asyncio.Event()

    async def give(self) -> AsyncIterator[bytes]:
        try:
            yield b"one"
            yield b"two"
            self.waits.set()
            await asyncio.Event().wait()
        finally:
            self.is_closed = True


async def send(response: EncodedResponse, *, is_head: bool = False, accepts: bytes = b"gzip") -> tuple[Any, bytes]:
    """The headers and the body that are sent."""
    sent: list[Any] = []

    async def take(message: Any) -> None:
        sent.append(message)

    async def wait_for_more() -> Any:
        await asyncio.Event().wait()

    await send_response(response, {b"accept-encoding": accepts}, take, wait_for_more, is_head=is_head)
    assert sent[0]["status"] == response.status
    assert [message.get("more_body", False) for message in sent[1:]] == [True] * (len(sent) - 2) + [False]
    return dict(sent[0]["headers"]), b"".join(message["body"] for message in sent[1:])


class TestAStreamOfEvents:
    async def test_ends_where_the_service_is_about_to_leave(self):
        request, frames = request_with(), Frames()
        stream = render(request, EventStream(frames.give())).stream
        assert stream is not None
        assert [await anext(stream), await anext(stream)] == [b"one", b"two"]
        third = asyncio.ensure_future(anext(stream, None))
        await frames.waits.wait()
        assert not third.done()
        request.stopping.set()
        assert await third is None
        assert frames.is_closed

    async def test_is_given_up_with_its_reader(self):
        response = render(request_with(), EventStream((frames := Frames()).give()))
        await prefetch_first_chunk(response)
        assert response.stream is not None
        assert await anext(response.stream) == b"one"
        await response.stream.aclose()  # type: ignore[attr-defined]
        assert frames.is_closed

    async def test_that_fails_at_once_fails_before_its_status_is_sent(self):
        async def fail() -> AsyncIterator[bytes]:
            raise LookupError
            yield b""

        with pytest.raises(LookupError):
            await prefetch_first_chunk(render(request_with(), EventStream(fail())))

    async def test_is_given_up_where_its_request_is_before_it_has_begun(self):
        frames = Frames()
        silent = frames.give()
        assert [await anext(silent), await anext(silent)] == [b"one", b"two"]
        preparing = asyncio.ensure_future(prefetch_first_chunk(render(request_with(), EventStream(silent))))
        await frames.waits.wait()
        preparing.cancel()
        await asyncio.wait({preparing})
        for _ in range(5):
            await asyncio.sleep(0)
        assert frames.is_closed

    async def test_still_has_what_had_come_when_the_service_is_about_to_leave(self):
        request = request_with()
        request.stopping.set()
        stream = render(request, EventStream(Frames().give())).stream
        assert stream is not None
        assert [frame async for frame in stream] == [b"one", b"two"]

    async def test_that_is_silent_at_first_is_begun_all_the_same_and_given_up_with_its_reader(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("gridloom.platform.http.answer.render.FIRST_PIECE_S", 0.0)
        frames = Frames()
        silent = frames.give()
        assert [await anext(silent), await anext(silent)] == [b"one", b"two"]
        response = render(request_with(), EventStream(silent))
        await prefetch_first_chunk(response)
        assert response.stream is not None
        await frames.waits.wait()
        reading = asyncio.ensure_future(anext(response.stream))
        await asyncio.sleep(0)  # it has begun to wait
        reading.cancel()
        await asyncio.wait({reading})
        assert frames.is_closed

    async def test_is_neither_kept_nor_compressed(self):
        async def give() -> AsyncIterator[bytes]:
            yield b"x" * COMPRESS_FROM_BYTES

        headers, body = await send(render(request_with(), EventStream(give())))
        assert headers == {
            b"content-type": b"text/event-stream",
            b"cache-control": b"no-cache",
            b"x-accel-buffering": b"no",
            b"x-content-type-options": b"nosniff",
        }
        assert body == b"x" * COMPRESS_FROM_BYTES


class TestATableThatIsStreamed:
    async def test_ends_at_once_for_who_asks_for_the_head_and_is_closed(self):
        frames = Frames()
        chunks = frames.give()
        await anext(chunks)
        headers, body = await send(render(request_with(), Stream(chunks, "text/csv")), is_head=True)
        assert headers == {
            b"content-type": b"text/csv",
            b"x-content-type-options": b"nosniff",
            b"vary": b"Accept-Encoding, Accept",
            b"content-encoding": b"gzip",
        }
        assert body == b""
        assert frames.is_closed

    async def test_is_closed_with_its_reader_though_it_is_compressed(self):
        frames = Frames()

        async def take(message: Any) -> None:
            pass

        async def leave() -> Any:
            await frames.waits.wait()
            return {"type": "http.disconnect"}

        response = render(request_with(), Stream(frames.give(), "text/csv"))
        await send_response(response, {b"accept-encoding": b"zstd"}, take, leave, is_head=False)
        assert frames.is_closed

    async def test_is_waited_for_until_its_first_piece_is_there_or_fails(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("gridloom.platform.http.answer.render.FIRST_PIECE_S", 0.0)

        async def fail_late() -> AsyncIterator[bytes]:
            for _ in range(5):
                await asyncio.sleep(0)
            raise LookupError
            yield b""

        with pytest.raises(LookupError):
            await prefetch_first_chunk(render(request_with(), Stream(fail_late(), "text/csv")))


class TestAnAnswer:
    def test_has_the_tag_of_what_it_shows_and_says_when_its_operation_ends(self):
        request = request_with()
        request.operation.deprecation = SimpleNamespace(deprecation="@1", sunset="later")
        headers = render(request, Response({}, etag="7")).headers
        assert headers == {
            "ETag": '"7"',
            "Deprecation": "@1",
            "Sunset": "later",
            "Content-Type": "application/json",
        }
        assert render(request_with(), Response({})).headers == {"Content-Type": "application/json"}
        assert render(request_with(), Response(None, 204, etag="8")).headers == {"ETag": '"8"'}

    def test_has_the_status_of_its_operation_unless_it_says_another(self):
        results: list[Any] = [{}, Response({}), Response({}, 202)]
        assert [render(request_with(), result).status for result in results] == [201, 201, 202]
        assert render(request_with(), None).body == b""

    def test_links_to_the_next_page_where_there_is_one(self):
        pages = [render(request_with(), Page([], next_cursor=cursor)) for cursor in (None, "c")]
        assert ["Link" in page.headers for page in pages] == [False, True]
        assert "cursor=c" in pages[1].headers["Link"]

    async def test_is_compressed_from_its_length_on(self):
        for length, used in ((COMPRESS_FROM_BYTES - 1, None), (COMPRESS_FROM_BYTES, b"gzip")):
            headers, body = await send(render(request_with(), Content(b"x" * length, "text/csv")))
            assert headers.get(b"content-encoding") == used
            assert (b"vary" in headers) is (used is not None)
            assert headers[b"content-length"] == str(len(body)).encode()
            assert (gzip.decompress(body) if used else body) == b"x" * length

    async def test_of_nothing_has_no_length_and_one_of_any_language_has_headers_all_the_same(self):
        headers, body = await send(render(request_with(), Response(None, 204, headers={"X-Name": "Łódź"})))
        assert (headers, body) == ({b"x-name": "?ód?".encode("latin-1"), b"x-content-type-options": b"nosniff"}, b"")

    async def test_that_could_be_compressed_says_so_to_who_does_not_ask_for_it(self):
        content = Content(b"x" * COMPRESS_FROM_BYTES, "text/csv")
        headers, _ = await send(render(request_with(), content), accepts=b"br")
        assert headers[b"vary"] == b"Accept-Encoding, Accept"
        assert b"content-encoding" not in headers

    async def test_in_json_is_kept_by_nobody_unless_it_says_so_itself(self):
        public = {"Cache-Control": "public, max-age=60"}
        results: list[tuple[Any, bytes]] = [({}, b"no-store"), (Response({}, headers=public), b"public, max-age=60")]
        for result, said in results:
            headers, _ = await send(render(request_with(), result))
            assert headers[b"cache-control"] == said

    async def test_that_is_compressed_already_is_sent_as_it_is(self):
        long = b"x" * COMPRESS_FROM_BYTES
        for content in (Content(long, "text/css", {"Content-Encoding": "br"}), Content(long, "image/png")):
            headers, body = await send(render(request_with(), content))
            assert headers.get(b"content-encoding") == (b"br" if content.headers else None)
            assert body == long

    async def test_to_who_asks_for_the_head_tells_the_length_alone(self):
        headers, body = await send(render(request_with(), Content(b"abc", "text/csv")), is_head=True)
        assert (headers[b"content-length"], body) == (b"3", b"")
