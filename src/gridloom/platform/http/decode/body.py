"""Bodies: received within limits of size, time and memory, then decoded on the event loop, in a thread or in a process.

| Size of a JSON body | Where it is decoded |
|---|---|
| up to 32 KiB (`INLINE_MAX_BYTES`) | on the event loop |
| up to 1 MiB (`SUBPROCESS_MIN_BYTES`) | in a thread |
| above | validated in a process of its own, then decoded slice by slice in a thread |
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import Counter
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Any, Final
from uuid import UUID

from gridloom.kernel.problem import BadRequest, PayloadTooLarge, TooManyRequests, UnsupportedMediaType
from gridloom.kernel.shares import KIBIBYTE, MEBIBYTE, Share, ShareExceeded, ShareLimits
from gridloom.platform.database.pool import Database
from gridloom.platform.http.decode.json_decoder import decoder_of
from gridloom.platform.http.long_bodies.decoder_process import INLINE_MAX_BYTES, SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.platform.http.request import Receive, Request
from gridloom.platform.http.shares import ShareUse

BODY_TIMEOUT_S = 60
BODY_IDLE_TIMEOUT_S = 10
"""Maximum time without data in a body, after which its memory is released."""
MAX_BUFFERED_BYTES: Final = 128 * MEBIBYTE
RETRY_AFTER_S: Final = 1
REJECTION_PAUSE_S: Final = 0.25
"""Before an organisation is answered that its share is used up: large bodies repeated without a break would take from
others by their rejections alone."""
GZIP_PIECE_BYTES: Final = 256 * KIBIBYTE
"""A gzip body is unpacked piece by piece, so that it never holds much more memory than it was given."""
SMALL_BYTES: Final = 64 * KIBIBYTE
"""Bodies up to this size are always let in, so that large ones of others do not prevent a login or a bid."""
PACE_WINDOW_S = 2.0
"""How long a body may pause before it counts as slow, however much has come before."""


def read_content_type(request: Request) -> str:
    header = request.header("content-type")
    media_type = header.split(";")[0].strip().lower() if header else ""
    media_types = request.operation.body_format.media_types
    if media_type not in media_types:
        raise UnsupportedMediaType(f"The Content-Type is to be {' or '.join(media_types)}.")
    encoding = request.header("content-encoding")
    if encoding == "gzip" and request.operation.body_format.may_be_gzip:
        return media_type
    if encoding not in (None, "identity"):
        raise UnsupportedMediaType("Bodies are taken as they are, without Content-Encoding.")
    return media_type


async def receive_body(request: Request, receive: Receive, held: BodyReservation) -> bytes:
    limit_bytes = request.operation.body_format.limit_bytes
    announced = request.header("content-length")
    if announced is not None and announced.isdigit():
        if int(announced) > limit_bytes:
            raise PayloadTooLarge(f"The body may have up to {limit_bytes} bytes.")
        try:
            held.check_announced(int(announced))
        except ShareExceeded:
            await asyncio.sleep(REJECTION_PAUSE_S)
            raise
    chunks: list[bytes] = []
    size = 0
    now = asyncio.get_running_loop().time
    started = now()
    try:
        async with asyncio.timeout_at(started + BODY_IDLE_TIMEOUT_S) as timeout:
            held.begin_receiving(lambda: timeout.reschedule(now()))
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadRequest("The connection closed before the body was complete.")
                chunk = message.get("body", b"")
                size += len(chunk)
                if size > limit_bytes:
                    raise PayloadTooLarge(f"The body may have up to {limit_bytes} bytes.")
                held.reject_if_evicted()
                held.grow_to(size)
                chunks.append(chunk)
                if not message.get("more_body", False):
                    break
                timeout.reschedule(min(now() + BODY_IDLE_TIMEOUT_S, started + BODY_TIMEOUT_S))
    except TimeoutError:
        held.reject_if_evicted()
        raise BadRequest(
            f"The request body timed out: {BODY_IDLE_TIMEOUT_S:g} s without data, or {BODY_TIMEOUT_S:g} s in all."
        ) from None
    finally:
        held.end_receiving()
    if len(chunks) == 1:
        return chunks[0]
    return b"".join(chunks) if size <= SUBPROCESS_MIN_BYTES else await asyncio.to_thread(b"".join, chunks)


async def unpack_body(request: Request, body: bytes, held: BodyReservation) -> bytes:
    """The body without its Content-Encoding, where it has one that the operation takes."""
    if request.header("content-encoding") != "gzip":
        return body
    limit_bytes = request.operation.body_format.limit_bytes
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    pieces: list[bytes] = []
    size = 0
    try:
        while not unpacker.eof and (body or (pieces and pieces[-1])):
            if pieces:
                pieces.append(await asyncio.to_thread(unpacker.decompress, body, GZIP_PIECE_BYTES))
            else:
                pieces.append(unpacker.decompress(body, GZIP_PIECE_BYTES))
            body = unpacker.unconsumed_tail
            size += len(pieces[-1])
            if size > limit_bytes:
                raise PayloadTooLarge(f"The body may unpack to up to {limit_bytes} bytes.")
            held.grow_to(max(size, held.size_bytes))
    except zlib.error:
        raise BadRequest("The body is not gzip, as its Content-Encoding says.") from None
    if not unpacker.eof or unpacker.unused_data:
        raise BadRequest("The gzip of the body is cut off, or something follows it.")
    return b"".join(pieces) if size <= SUBPROCESS_MIN_BYTES else await asyncio.to_thread(b"".join, pieces)


async def decode_body(request: Request, body: bytes, holder: Hashable | None) -> Any:
    type = request.operation.body
    if type is bytes:
        return body
    decoder = decoder_of(type)
    if len(body) <= INLINE_MAX_BYTES:
        return decoder(body)
    if len(body) <= SUBPROCESS_MIN_BYTES:
        return await asyncio.to_thread(decoder, body)
    # Validating takes far longer than decoding what is valid: only the latter happens in this process.
    await run_in_subprocess(holder, _validate_body, body, request.operation.handler)
    return await asyncio.to_thread(decoder.decode_trusted, body)


def _validate_body(body: bytes, handler: Any) -> None:
    """Raises the errors of an operation's body; the operation goes to another process by its handler's name."""
    decoder_of(handler.__operation__.body)(body)


class BodyBudget:
    """Bytes of request bodies that this process buffers: in all, and for one organisation. Too much is rejected, never
    queued.

    Where there is no room, bodies that arrive too slowly are evicted first: those of the same organisation where its
    own share is used up, else any.
    """

    def __init__(
        self, most_bytes: int = MAX_BUFFERED_BYTES, *, share_bytes: int | None = None, min_bytes_per_s: int = 0
    ) -> None:
        self.most_bytes = most_bytes
        self.share_bytes = most_bytes if share_bytes is None else share_bytes
        self.min_bytes_per_s = min_bytes_per_s
        self.held_bytes = 0
        self._bytes_of: Counter[Hashable] = Counter()
        self.receiving: dict[BodyReservation, None] = {}

    @classmethod
    def of(cls, limits: ShareLimits) -> BodyBudget:
        return cls(2 * limits.body_bytes, share_bytes=limits.body_bytes, min_bytes_per_s=limits.min_body_bytes_per_s)

    def bytes_of(self, holder: Hashable) -> int:
        return self._bytes_of[holder]

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        return ShareUse(used=self.bytes_of(organisation_id), limit=self.share_bytes)

    def hold(self, holder: Hashable | None = None) -> BodyReservation:
        """`holder` is the organisation that the body counts for; None is exempt from the share."""
        return BodyReservation(self, holder)

    def count(self, holder: Hashable | None, change_bytes: int) -> None:
        self.held_bytes += change_bytes
        if holder is not None:
            self._bytes_of[holder] += change_bytes
            if not self._bytes_of[holder]:
                del self._bytes_of[holder]

    def evict_slow(self, needed_bytes: int, asking: BodyReservation, holder: Hashable | None = None) -> None:
        """Have slow bodies, the largest first, give way until so many bytes are free; of one holder if given."""
        now = time.monotonic()
        slow = [
            body
            for body in self.receiving
            if body is not asking and (holder is None or body.holder == holder) and body.is_slow(now)
        ]
        for body in sorted(slow, key=lambda one: one.size_bytes, reverse=True):
            if needed_bytes <= 0:
                return
            needed_bytes -= body.size_bytes
            body.evict()


class BodyReservation:
    """One request's part, given back when the request is over."""

    __slots__ = ("_budget", "_is_evicted", "_on_pace_until", "_received_bytes", "_stop", "holder", "size_bytes")

    def __init__(self, budget: BodyBudget, holder: Hashable | None) -> None:
        self.holder = holder
        self._budget = budget
        self.size_bytes = 0
        self._stop: Callable[[], None] | None = None
        self._is_evicted = False
        self._received_bytes = 0
        self._on_pace_until = time.monotonic() + PACE_WINDOW_S

    def begin_receiving(self, stop: Callable[[], None]) -> None:
        """From now on `stop` is called if this body has to give way to another."""
        self._stop = stop
        self._budget.receiving[self] = None

    def end_receiving(self) -> None:
        self._stop = None
        self._budget.receiving.pop(self, None)

    def is_slow(self, now: float) -> bool:
        return now > self._on_pace_until

    def evict(self) -> None:
        """Stop receiving; the bytes are not counted from now on, and are gone with the next step of the event loop."""
        assert self._stop is not None, "only what is being received gives way"
        self._is_evicted = True
        self._stop()
        self.end_receiving()
        self._give_back()

    def reject_if_evicted(self) -> None:
        if self._is_evicted:
            raise ShareExceeded(
                Share.BODY_BYTES,
                self._budget.share_bytes,
                f"The body came more slowly than {self._budget.min_bytes_per_s} bytes/s and gave way to another.",
                RETRY_AFTER_S,
            )

    def check_announced(self, size_bytes: int) -> None:
        """Refuse a body for which there would be no room now.

        Nothing is set aside: announcing costs the caller nothing, so it may not take anything from others either.
        """
        if size_bytes <= SMALL_BYTES:
            return
        if self._find_excess(size_bytes) > 0:
            self._budget.evict_slow(self._find_excess(size_bytes), self, self.holder)
        if self._find_excess(size_bytes) > 0:
            raise ShareExceeded(
                Share.BODY_BYTES,
                self._budget.share_bytes,
                f"Your organisation has {self._budget.bytes_of(self.holder)} bytes of request bodies under way here.",
                RETRY_AFTER_S,
            )
        # A single body is always let in, however small the budget is.
        budget, others_bytes = self._budget, self._budget.held_bytes - self.size_bytes
        if others_bytes > 0 and others_bytes + size_bytes > budget.most_bytes:
            budget.evict_slow(others_bytes + size_bytes - budget.most_bytes, self)
            others_bytes = budget.held_bytes - self.size_bytes
        if others_bytes > 0 and others_bytes + size_bytes > budget.most_bytes:
            raise TooManyRequests(
                "The server is buffering too many large request bodies. Retry after 1 s.", RETRY_AFTER_S
            )

    def _find_excess(self, size_bytes: int) -> int:
        """By how much the holder's bodies would exceed its share; its only one never does."""
        if self.holder is None:
            return 0
        others_bytes = self._budget.bytes_of(self.holder) - self.size_bytes
        return others_bytes + size_bytes - self._budget.share_bytes if others_bytes > 0 else 0

    def grow_to(self, size_bytes: int) -> None:
        """Have room for what has come of a body so far, or refuse it."""
        if size_bytes > max(self.size_bytes, SMALL_BYTES):
            self.check_announced(size_bytes)
            self._budget.count(self.holder, size_bytes - self.size_bytes)
            self.size_bytes = size_bytes
        self._keep_pace(size_bytes - self._received_bytes)
        self._received_bytes = size_bytes

    def _keep_pace(self, new_bytes: int) -> None:
        """Received bytes extend the deadline by their time at the lowest pace, for the window at most."""
        now = time.monotonic()
        earned_s = new_bytes / self._budget.min_bytes_per_s if self._budget.min_bytes_per_s else PACE_WINDOW_S
        self._on_pace_until = min(max(self._on_pace_until, now) + earned_s, now + PACE_WINDOW_S)

    def _give_back(self) -> None:
        if self.size_bytes:
            self._budget.count(self.holder, -self.size_bytes)
        self.size_bytes = 0

    def __enter__(self) -> BodyReservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_receiving()
        self._give_back()
