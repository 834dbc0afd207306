"""New points of an asset as they are stored: server-sent events that can be resumed.

An event is one request's points of one market day, as columns. Its id is the segment's position in the asset's order of
writing, so a client that reconnects with it gets exactly what was stored since.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import orjson

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.monitoring import metrics, segments
from gridloom.monitoring.offload import HEAVY_BYTES, off_loop
from gridloom.monitoring.query.latest import latest_points
from gridloom.monitoring.store import bodies, heads
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.database.listener import Listener
from gridloom.platform.events.framing import HEARTBEAT
from gridloom.platform.events.stream_slots import StreamSlot
from gridloom.platform.events.waking import Waker
from gridloom.platform.http import Request, to_json
from gridloom.platform.http.answer.errors import report_broken_stream
from gridloom.platform.http.tables import time_texts
from gridloom.platform.identity.authorization import authorize_asset

T = TypeVar("T")

HEARTBEAT_S = 15.0
WATCHED_FOR = timedelta(seconds=90)
RETRY_MS = 2000
SEGMENT_BATCH_SIZE = 64
READ_CACHE_TTL_S = 0.5
"""How long streams share what was read of an asset and a caller's rights to it: no longer than a grant that is taken
back may go unnoticed."""
_ID = re.compile(r"(\d{1,18})-(\d{4}-\d\d-\d\d)")


class TelemetryHub:
    """Wakes the streams of this process when a writer somewhere has notified."""

    def __init__(self) -> None:
        self._waiting: defaultdict[int, dict[asyncio.Event, UUID]] = defaultdict(dict)
        self._numbers = count(1)
        self._notices: dict[int, int] = {}
        self._reads: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}
        self._waker = Waker()

    def attach(self, listener: Listener) -> None:
        listener.subscribe(heads.CHANNEL, self._on_notice)

    def _on_notice(self, payload: str | None) -> None:
        """None: the connection is new, and anything may have happened."""
        for key in list(self._waiting) if payload is None else [int(payload)]:
            if key not in self._waiting:
                continue
            self._notices[key] = next(self._numbers)
            by_organisation: defaultdict[UUID, list[asyncio.Event]] = defaultdict(list)
            for event, organisation_id in self._waiting[key].items():
                by_organisation[organisation_id].append(event)
            for organisation_id, events in by_organisation.items():
                self._waker.wake(organisation_id, events)

    def notices_of(self, asset_key: int) -> int:
        """Goes up with each notice: what is read after one knows what was written before it."""
        return self._notices[asset_key]

    async def read_shared(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `read`; streams that ask for the same within half a second share one reading."""
        now = time.monotonic()
        known = self._reads.get(key)
        if known is None or now - known[0] > READ_CACHE_TTL_S:
            self._reads = {other: one for other, one in self._reads.items() if now - one[0] <= READ_CACHE_TTL_S}
            known = self._reads[key] = (now, asyncio.create_task(read(), name="read telemetry"))
        result: T = await asyncio.shield(known[1])
        return result

    @contextmanager
    def follow(self, asset_key: int, organisation_id: UUID) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting[asset_key][event] = organisation_id
        self._notices.setdefault(asset_key, next(self._numbers))
        metrics.STREAMS.inc()
        try:
            yield event
        finally:
            metrics.STREAMS.dec()
            del self._waiting[asset_key][event]
            if not self._waiting[asset_key]:
                del self._waiting[asset_key]
                del self._notices[asset_key]


@dataclass(frozen=True, slots=True, order=True)
class PointsCursor:
    """A reader's position in an asset's order of writing."""

    sequence: int
    day: date = date.max

    def __str__(self) -> str:
        return f"{self.sequence}-{self.day.isoformat()}"


def read_cursor(text: str) -> PointsCursor:
    found = _ID.fullmatch(text)
    with suppress(ValueError):
        if found is not None:
            return PointsCursor(int(found[1]), date.fromisoformat(found[2]))
    error = FieldError("header:Last-Event-ID", "is not the id of an event of this stream")
    raise BadRequest("Last-Event-ID is not the id of an event of this stream.", errors=[error])


async def stream_points(
    request: Request,
    hub: TelemetryHub,
    slot: StreamSlot,
    asset_id: UUID,
    asset_key: int,
    wanted: frozenset[str] | None,
    cursor: PointsCursor | None,
) -> AsyncIterator[bytes]:
    """Frames of what was stored after `cursor`, or from now on; the stream ends with the rights it rests on."""
    with slot, hub.follow(asset_key, request.caller.organisation_id) as changed:
        head = await heads.watch(request.pool, asset_key, WATCHED_FOR)
        names = _name_signals(await heads.signal_ids(request.pool, asset_key))
        if cursor is None or cursor.sequence > head.sequence:
            # Also a cursor of an earlier life of this asset's telemetry.
            cursor = PointsCursor(head.sequence)
            yield _make_frame(cursor, "latest", latest_points(head.latest, names, wanted))
        elif not await bodies.is_complete_after(request.pool, asset_key, cursor.sequence):
            # Some of what was missed is compacted by now; the event has the reader read that span again.
            yield _make_frame(cursor, "gap", to_json({"after": str(cursor)}))
        else:
            yield b"retry: %d\n\n" % RETRY_MS
        while True:
            changed.clear()
            try:
                found = await _read_allowed(request, hub, asset_id, asset_key, cursor)
                if any(one not in names for segment in found for one in segments.signal_ids(segment.body)):
                    names = _name_signals(await heads.signal_ids(request.pool, asset_key))
            except Problem:
                return  # the client learns the reason when it reconnects
            except DATABASE_ERRORS as error:
                # A client that reconnects resumes here, or gets 503 while the database is unreachable.
                report_broken_stream(request.operation.operation_id, error, request_id=request.request_id)
                return
            for segment in found:
                cursor = PointsCursor(segment.sequence, segment.day)
                body = await off_loop(len(segment.body) > HEAVY_BYTES // 16, _pack_columns, segment, names, wanted)
                if body is not None:
                    yield _make_frame(cursor, "datapoints", body)
            if len(found) == SEGMENT_BATCH_SIZE:
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), HEARTBEAT_S)
                continue
            yield HEARTBEAT
            with suppress(*DATABASE_ERRORS):
                await heads.watch(request.pool, asset_key, WATCHED_FOR)


async def _read_allowed(
    request: Request, hub: TelemetryHub, asset_id: UUID, asset_key: int, cursor: PointsCursor
) -> list[bodies.StoredSegment]:
    """Points stored after a cursor, if the caller may still read them."""
    notices = hub.notices_of(asset_key)
    caller = await request.reauthenticate()
    rights = ("rights", asset_id, caller.key)
    await hub.read_shared(rights, lambda: authorize_asset(request.pool, caller, asset_id, Permission.READ_MONITORING))
    return await hub.read_shared(
        ("segments", asset_key, cursor, notices),
        lambda: bodies.segments_after(request.pool, asset_key, cursor.sequence, cursor.day, SEGMENT_BATCH_SIZE),
    )


def _name_signals(ids: dict[str, int]) -> dict[int, str]:
    return {signal_id: name for name, signal_id in ids.items()}


def _pack_columns(segment: bodies.StoredSegment, names: dict[int, str], wanted: frozenset[str] | None) -> bytes | None:
    columns = {}
    for signal_id, series in segments.decode(segment.body).series():
        name = names[signal_id]
        if wanted is None or name in wanted:
            times = time_texts((series.times // 1000).view("datetime64[ms]"))
            columns[name] = {"time": times.tolist(), "value": series.values.tolist()}
    return orjson.dumps(columns) if columns else None


def _make_frame(cursor: PointsCursor, kind: str, body: bytes) -> bytes:
    return b"retry: %d\nid: %s\nevent: %s\ndata: %s\n\n" % (RETRY_MS, str(cursor).encode(), kind.encode(), body)
