"""From a request's body to stored points: read, checked, written, counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from gridloom.database.clock import platform_now
from gridloom.database.pool import Database, Pool
from gridloom.edge import Call
from gridloom.monitoring import metrics
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
from gridloom.monitoring.offload import HEAVY_BYTES, off_loop
from gridloom.monitoring.receiving.ingest import REFUSED_HERE, Stored, ingest
from gridloom.monitoring.receiving.parsing import ARROW, parse
from gridloom.monitoring.views import Refusal

_ASK_AGAIN_S = 5.0
LIGHT_BYTES = 64 * 1024
"""What is read here and now: a few milliseconds. Never Arrow, of which a few bytes may stand for a million rows."""


@dataclass(slots=True)
class Reception:
    """What receiving shares in a process: one long body is read at a time, and the platform's clock is known roughly.

    Whether a point lies a day ahead is no matter of seconds.
    """

    now_us: int = 0
    read_at: float = float("-inf")
    heavy: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def about_now(self, pool: Pool) -> int:
        age_s = time.monotonic() - self.read_at
        if age_s > _ASK_AGAIN_S:
            return await self.exactly_now(pool)
        return self.now_us + int(age_s * SECOND_US)

    async def exactly_now(self, pool: Pool) -> int:
        self.now_us = microseconds(await platform_now(pool))
        self.read_at = time.monotonic()
        return self.now_us


async def receive(call: Call, body: bytes, reception: Reception, *, many: bool) -> Received:
    """The points of a body, in a thread where it is long."""
    metrics.BODY_BYTES.labels(call.content_type).inc(len(body))

    async def read(now_us: int) -> Received:
        latest_us = min(now_us + TOLERATED_AHEAD_US, LATEST_US - 1)
        if len(body) <= LIGHT_BYTES and call.content_type != ARROW:
            return parse(body, call.content_type, many=many, latest_us=latest_us)
        if len(body) <= HEAVY_BYTES and call.content_type != ARROW:
            return await off_loop(True, parse, body, call.content_type, many=many, latest_us=latest_us)
        # Unpacked, a long body takes several times its size: one at a time.
        async with reception.heavy:
            return await off_loop(True, parse, body, call.content_type, many=many, latest_us=latest_us)

    received = await read(await reception.about_now(call.pool))
    if Reason.TIME_OUT_OF_RANGE in received.refusals.counts:
        # The sandbox's clock may just have moved.
        known_us = reception.now_us
        if await reception.exactly_now(call.pool) - known_us > 60 * SECOND_US:
            received = await read(reception.now_us)
    return received


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
