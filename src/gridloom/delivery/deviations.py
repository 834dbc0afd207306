"""Telling when a battery does not do what it must, two quarter-hours running."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from gridloom.database.pool import Database
from gridloom.delivery import situation_store, store
from gridloom.delivery.performance import load_performance
from gridloom.events.outbox import record_event
from gridloom.jobs import JobRun, job
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.units import QUARTER_HOUR_H

CHECK: Final = "delivery.check"
"""The job, keyed by a delivery zone: look at what its batteries did in the quarter-hours that have passed."""
ARRIVAL: Final = timedelta(minutes=5)
"""How long telemetry may be on its way."""
READ: Final = Permission.READ_MONITORING


async def read_measured_zones(db: Database, now: datetime) -> list[str]:
    """Where there is anything to look at: telemetry that comes much later is no news."""
    since = period_start(period_number(now - ARRIVAL) - 1)
    return sorted(await situation_store.read_measured_keys(db, since))


@job(CHECK, clock="platform")
async def check_zone(run: JobRun) -> None:
    plan = await store.read_zone_plan(run.db, run.key)
    if plan is None:
        return
    end = period_number(run.due - ARRIVAL)
    measured = await situation_store.read_measured_keys(run.db, period_start(end - 1), run.key)
    keys = [key for key in plan.battery_keys.tolist() if key in measured.get(run.key, ())]
    for battery in await situation_store.read_batteries(run.db, keys):
        performance = await load_performance(run.db, battery.key, end - 3, end)
        earlier, first, second = performance.deviates.tolist()
        # Once for each stretch: the one that has begun before was told when its second quarter-hour had passed.
        if not (first and second) or earlier:
            continue
        await record_event(
            run.db,
            type="dispatch.deviation",
            organisation_id=battery.organisation_id,
            subject=f"physical-assets/{battery.id}",
            permission=READ,
            asset_key=battery.key,
            data={
                "start": period_start(end - 2),
                "end": period_start(end),
                "asked": round(QUARTER_HOUR_H * float(performance.dispatch.power_kw[1:].sum()), 6),
                "delivered": round(QUARTER_HOUR_H * float(performance.measured_kw[1:].sum()), 6),
            },
        )
