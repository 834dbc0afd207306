"""From a request's body to stored points: parsed, checked, written, counted.

A body is parsed in one of three ways, by its size:

| Way | Bodies |
|---|---|
| on the event loop | up to 32 KiB (`INLINE_MAX_BYTES`), except Arrow; fast path up to 320 KiB (`FAST_PATH_MAX_BYTES`) |
| in a thread | up to 512 KiB (`SUBPROCESS_MIN_BYTES`), and Arrow of instants and numbers alone |
| in a process of its own | above |

The size of Arrow is what it unpacks to, 8 bytes a row at least: a few bytes may stand for a million rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from gridloom.database.clock import platform_now
from gridloom.database.pool import Database, Pool
from gridloom.edge import Request
from gridloom.edge.decode.decoder_process import INLINE_MAX_BYTES, SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.monitoring import metrics
from gridloom.monitoring.ingest import arrow_limits
from gridloom.monitoring.ingest.fast_path import parse_fast
from gridloom.monitoring.ingest.ingest import REFUSED_HERE, Stored, ingest
from gridloom.monitoring.ingest.parsing import ARROW, parse
from gridloom.monitoring.ingest.tables import is_typed
from gridloom.monitoring.model import (
    LATEST_US,
    REASONS,
    SECOND_US,
    TOLERATED_AHEAD_US,
    Reason,
    Received,
    Refusals,
    microseconds,
)
from gridloom.monitoring.offload import off_loop
from gridloom.monitoring.views import Refusal

_ASK_AGAIN_S = 5.0
_ROW_BYTES = 8


@dataclass(slots=True)
class CachedClock:
    """The platform's clock, known roughly: whether a point lies a day ahead is no matter of seconds."""

    now_us: int = 0
    read_at: float = float("-inf")

    async def about_now(self, pool: Pool) -> int:
        age_s = time.monotonic() - self.read_at
        if age_s > _ASK_AGAIN_S:
            return await self.exactly_now(pool)
        return self.now_us + int(age_s * SECOND_US)

    async def exactly_now(self, pool: Pool) -> int:
        self.now_us = microseconds(await platform_now(pool))
        self.read_at = time.monotonic()
        return self.now_us


async def receive(request: Request, body: bytes, reception: CachedClock, *, many: bool) -> Received:
    """The points of a body."""
    metrics.BODY_BYTES.labels(request.content_type).inc(len(body))
    media_type = request.content_type

    async def read(now_us: int) -> Received:
        latest_us = min(now_us + TOLERATED_AHEAD_US, LATEST_US - 1)
        if len(body) <= INLINE_MAX_BYTES and media_type != ARROW:
            return parse(body, media_type, many=many, latest_us=latest_us)
        found = parse_fast(body, media_type, many=many, latest_us=latest_us)
        if found is not None:
            return found
        if len(body) <= SUBPROCESS_MIN_BYTES or media_type == ARROW:
            found = await off_loop(True, _parse_unless_long, body, media_type, many=many, latest_us=latest_us)
            if found is not None:
                return found
        return await run_in_subprocess(request.holder, parse, body, media_type, many=many, latest_us=latest_us)

    received = await read(await reception.about_now(request.pool))
    if Reason.TIME_OUT_OF_RANGE in received.refusals.counts:
        # The sandbox's clock may just have moved.
        known_us = reception.now_us
        if await reception.exactly_now(request.pool) - known_us > 60 * SECOND_US:
            received = await read(reception.now_us)
    return received


def _parse_unless_long(body: bytes, media_type: str, *, many: bool, latest_us: int) -> Received | None:
    """None for Arrow that is long, or unfolds to as much, and has more to it than columns of moments and numbers."""
    if media_type == ARROW and _is_long(body) and not is_typed(body):
        return None
    return parse(body, media_type, many=many, latest_us=latest_us)


def _is_long(body: bytes) -> bool:
    if len(body) > SUBPROCESS_MIN_BYTES:
        return True
    extent = arrow_limits.check(body)
    return max(extent.unpacked_bytes, _ROW_BYTES * extent.rows) > SUBPROCESS_MIN_BYTES


async def write(
    db: Database, received: Received, keys: Mapping[UUID | None, int], now_us: int
) -> dict[UUID | None, Stored]:
    """Store what was received, each asset under its key."""
    stored = await ingest(db, {keys[asset_id]: points for asset_id, points in received.points.items()})
    outcomes = {asset_id: stored[keys[asset_id]] for asset_id in received.points}
    over = sum(outcome.refused for outcome in outcomes.values())
    received.refusals.add(REFUSED_HERE, over, [])
    metrics.POINTS.labels("written").inc(sum(outcome.written for outcome in outcomes.values()))
    metrics.POINTS.labels("overwritten").inc(sum(outcome.overwritten for outcome in outcomes.values()))
    metrics.POINTS.labels("refused").inc(received.refusals.total)
    for outcome in outcomes.values():
        metrics.LAG.observe(max(0, now_us - outcome.newest_us) / SECOND_US)
    return outcomes


def refusals_of(refusals: Refusals) -> list[Refusal]:
    return [
        Refusal(reason=reason, detail=REASONS[reason], count=count, pointers=refusals.places[reason])
        for reason, count in refusals.counts.items()
    ]
