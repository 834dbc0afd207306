"""The quota of stored telemetry: beyond it an organisation's batteries store nothing but the last hour."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict
from gridloom.kernel.shares import Share
from gridloom.monitoring.model import HOUR_US, Reason, Received
from gridloom.monitoring.store import quota as quota_store
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import Database, Pool
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.platform.http.shares import ShareUse
from gridloom.platform.jobs import JobRun, job

NEAR_SHARE: Final = 0.8
COUNT_INTERVAL: Final = timedelta(hours=1)
CACHED_FOR_S: Final = 10.0
MAX_CACHED: Final = 10_000


class QuotaExceeded(Conflict, title="The quota of stored telemetry is used up"):
    """The organisation that owns the batteries stores as much telemetry as its `telemetryQuota` allows.

    Points of the last hour are still stored, older ones are not. The operator can raise the quota.
    """


class Quotas:
    """Bytes that each organisation has stored, as this worker has last read them."""

    def __init__(self) -> None:
        self._cache: dict[UUID, tuple[float, quota_store.StoredTelemetry]] = {}

    async def _find_stored(self, pool: Pool, organisation_id: UUID) -> quota_store.StoredTelemetry:
        now = time.monotonic()
        known = self._cache.get(organisation_id)
        if known is None or now - known[0] > CACHED_FOR_S:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            known = self._cache[organisation_id] = (now, await quota_store.read_stored(pool, organisation_id))
        return known[1]

    async def admit(self, pool: Pool, received: Received, owners: Mapping[UUID | None, UUID], now_us: int) -> None:
        """Leave out the points that a full quota does not take; 409 where none is left to store."""
        full: quota_store.StoredTelemetry | None = None
        refused = 0
        for asset_id, points in received.points.items():
            stored = await self._find_stored(pool, owners[asset_id])
            if stored.quota_bytes is None or stored.used_bytes < stored.quota_bytes:
                continue
            live = points.times >= now_us - HOUR_US
            if live.all():
                continue
            full = stored
            refused += int(np.count_nonzero(~live))
            received.points[asset_id] = points.select(live)
        if full is not None and not any(len(points) for points in received.points.values()):
            raise QuotaExceeded(
                f"{full.used_bytes} bytes are stored, of {full.quota_bytes} at most. Only the last hour is taken.",
                share=Share.STORED_TELEMETRY.value,
                limit=full.quota_bytes,
            )
        received.refusals.add(Reason.QUOTA_EXCEEDED, refused, [])


async def read_telemetry_use(db: Database, organisation_id: UUID) -> ShareUse:
    stored = await quota_store.read_stored(db, organisation_id)
    return ShareUse(used=stored.used_bytes, limit=stored.quota_bytes, as_of=stored.counted_at)


@job("monitoring.count-stored", every=COUNT_INTERVAL, bulk=True, limit=timedelta(minutes=10))
async def count_stored_telemetry(run: JobRun) -> None:
    """Count what each organisation has stored; members of one that has come near its quota are notified once."""
    now = await real_now(run.db)
    await quota_store.put_stored(run.db, await quota_store.measure_stored(run.db), now)
    near = await quota_store.mark_near(run.db, NEAR_SHARE, now)
    events = [
        NewEvent(
            type="quota.near",
            organisation_id=one.organisation_id,
            subject=f"organisations/{one.organisation_id}",
            permission=Permission.READ_MONITORING,
            asset_key=None,
            data={"share": Share.STORED_TELEMETRY.value, "used": one.used_bytes, "limit": one.quota_bytes},
        )
        for one in near
    ]
    if events:
        await record_events(run.db, events)
