"""A response handed to the server: encoded as the caller accepts it, by the piece, no faster than it is read.

What readers have not taken yet is bounded. The server takes the next piece of a body when the connection has room for
it, so what a connection holds besides is at most a piece. A reader that is slow while others wait for the memory, or
for the place of its read, gives way.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from contextlib import aclosing, contextmanager
from typing import Final
from uuid import UUID

from prometheus_client import Counter as Count
from prometheus_client import Gauge

from gridloom.kernel.shares import KIBIBYTE, Share, ShareExceeded, ShareLimits
from gridloom.platform.database.pool import Database
from gridloom.platform.http.answer.render import (
    COMPRESS_FROM_BYTES,
    EncodedResponse,
    compress,
    compress_stream,
    encoding_for,
)
from gridloom.platform.http.request import Receive, Send, await_disconnect, encode_header_name
from gridloom.platform.http.shares import ShareUse

PIECE_BYTES: Final = 256 * KIBIBYTE
STREAM_BYTES: Final = 1 << 20
"""Counted for a stream before it begins; then its chunks are, each of which is sent before the next is made."""
POLL_INTERVAL_S: Final = 1.0
RETRY_AFTER_S: Final = 5

UNREAD_BYTES: Final = Gauge(
    "gridloom_unread_answer_bytes", "Bytes of answers that were built and not sent yet", multiprocess_mode="livesum"
)
EVICTED: Final = Count("gridloom_slow_readers_evicted", "Answers broken off because their readers were slow")


class UnreadAnswers:
    """Bytes of unsent answers of this worker, by organisation, and the pace of those who read them."""

    def __init__(self, limits: ShareLimits) -> None:
        self._limits = limits
        self._bytes_of: Counter[Hashable] = Counter()
        self._total_bytes = 0
        self._sending: dict[SentAnswer, None] = {}
        self._is_polling = False
        self._refused_at = float("-inf")
        self.others_wait: Callable[[], bool] = lambda: False

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        return ShareUse(used=self._bytes_of[organisation_id], limit=self._limits.unread_bytes)

    def check_room(self, holder: Hashable | None, response: EncodedResponse) -> None:
        """Refuse another large answer where the organisation's readers, or all of them, have left too much. A single
        answer is always sent, however large it is."""
        size_bytes = len(response.body) if response.stream is None else STREAM_BYTES
        if size_bytes <= PIECE_BYTES or holder is None or response.is_live:
            return
        own_bytes, share_bytes = self._bytes_of[holder], self._limits.unread_bytes
        is_over_share = own_bytes > 0 and own_bytes + size_bytes > share_bytes
        if is_over_share or (self._total_bytes > 0 and self._total_bytes + size_bytes > 2 * share_bytes):
            self._refused_at = time.monotonic()
            raise ShareExceeded(
                Share.UNREAD_ANSWERS,
                share_bytes,
                f"Your organisation has {own_bytes} bytes of answers here that nothing has read yet.",
                RETRY_AFTER_S,
            )

    @contextmanager
    def hold(self, holder: Hashable | None) -> Iterator[SentAnswer]:
        """Count an answer while it is sent."""
        answer = SentAnswer(self, holder)
        try:
            yield answer
        finally:
            answer.grow(-answer.unread_bytes)
            self._sending.pop(answer, None)

    def watch(self, answer: SentAnswer) -> None:
        """Its reader may have to give way from now on."""
        self._sending[answer] = None
        if not self._is_polling:
            self._poll_later()

    def count(self, holder: Hashable | None, change_bytes: int) -> None:
        self._total_bytes += change_bytes
        UNREAD_BYTES.inc(change_bytes)
        if holder is not None:
            self._bytes_of[holder] += change_bytes
            if not self._bytes_of[holder]:
                del self._bytes_of[holder]

    def _poll_later(self) -> None:
        self._is_polling = True
        asyncio.get_running_loop().call_later(POLL_INTERVAL_S, self._evict_slow)

    def _evict_slow(self) -> None:
        now = time.monotonic()
        is_wanted = self.others_wait() or now - self._refused_at < self._limits.slow_reader_s
        for answer in tuple(self._sending):
            if answer.is_slow(now, self._limits) and is_wanted:
                answer.evict()
        self._is_polling = False
        if self._sending:
            self._poll_later()


class SentAnswer:
    """One answer on its way."""

    __slots__ = ("_answers", "_holder", "_since", "_taken_bytes", "_task", "_waited_s", "is_evicted", "unread_bytes")

    def __init__(self, answers: UnreadAnswers, holder: Hashable | None) -> None:
        self._answers = answers
        self._holder = holder
        self._task: asyncio.Task[None] | None = None
        self._since: float | None = None
        self._waited_s = 0.0
        self._taken_bytes = 0
        self.unread_bytes = 0
        self.is_evicted = False

    def grow(self, change_bytes: int) -> None:
        if change_bytes:
            self.unread_bytes += change_bytes
            self._answers.count(self._holder, change_bytes)

    def begin(self, task: asyncio.Task[None]) -> None:
        """`task` sends it, and is cancelled where the reader has to give way."""
        self._task = task
        self._answers.watch(self)

    def piece_waits(self) -> None:
        """The connection is asked to take a piece: until it has, the time is the reader's."""
        self._since = time.monotonic()

    def piece_taken(self, size_bytes: int) -> None:
        if self._since is not None:
            self._waited_s += time.monotonic() - self._since
        self._since = None
        self._taken_bytes += size_bytes

    def is_slow(self, now: float, limits: ShareLimits) -> bool:
        """Whether less was taken in so much of the reader's time than the lowest pace allows. Each such time is
        measured anew."""
        waited_s = self._waited_s + (0.0 if self._since is None else now - self._since)
        if waited_s < limits.slow_reader_s:
            return False
        if self._taken_bytes < limits.min_reader_bytes_per_s * waited_s:
            return True
        self._since, self._waited_s, self._taken_bytes = None if self._since is None else now, 0.0, 0
        return False

    def evict(self) -> None:
        if self._task is not None and not self.is_evicted:
            self.is_evicted = True
            EVICTED.inc()
            self._task.cancel()


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
