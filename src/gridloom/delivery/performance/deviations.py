"""Deviations of batteries from their dispatch: emitted as events, and corrected in the next plan."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from gridloom.delivery import plan_store
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.performance import store
from gridloom.delivery.performance.performance import Performance, load_performance
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.virtual_assets.allocation import DISPATCH_JOB

CHECK_JOB: Final = "delivery.check"
"""The job, keyed by a delivery zone: look at what its batteries did in the quarter-hours that have passed."""
TELEMETRY_DELAY: Final = timedelta(minutes=5)
"""How long telemetry may be on its way."""
SOC_OFFSET_TOLERANCE: Final = 0.02
"""Of what a battery holds: where the measured state of charge is further off, the plan is made anew from it."""
READ: Final = Permission.READ_MONITORING


async def read_measured_zones(db: Database, now: datetime) -> list[str]:
    """Where there is anything to look at: telemetry that comes much later is no news."""
    since = period_start(period_number(now - TELEMETRY_DELAY) - 1)
    return sorted(await input_store.read_measured_keys(db, since))


def find_offset_kwh(performance: Performance) -> float | None:
    """By how much the battery holds more than planned at the start of the last quarter-hour, where that is too much."""
    planned, capacity_kwh = performance.dispatch.is_planned[-1], float(performance.dispatch.capacity_kwh[-1])
    measured_kwh = float(performance.measured_soc[-1]) / 100 * capacity_kwh
    offset_kwh = measured_kwh - float(performance.dispatch.energy_kwh[-1])
    # NaN where nothing was measured
    return round(offset_kwh, 3) if planned and abs(offset_kwh) > SOC_OFFSET_TOLERANCE * capacity_kwh else None


@job(CHECK_JOB, clock="platform")
async def check_zone(run: JobRun) -> None:
    planned = await plan_store.read_planned_batteries(run.db, run.key)
    if not planned:
        return
    end = period_number(run.due - TELEMETRY_DELAY)
    measured = await input_store.read_measured_keys(run.db, period_start(end - 1), run.key)
    keys = [key for key in planned if key in measured.get(run.key, ())]
    applied_from = await store.read_applied(run.db, keys)
    is_corrected = False
    for battery in await input_store.read_batteries(run.db, keys):
        performance = await load_performance(run.db, battery.key, end - 3, end)
        # What was measured before the plan was moved says nothing about the plan as it is.
        if applied_from.get(battery.key, 0) < end and (offset_kwh := find_offset_kwh(performance)) is not None:
            await store.put_soc_correction(run.db, battery.key, end - 1, offset_kwh)
            is_corrected = True
        earlier, first, second = performance.deviates.tolist()
        # Once for each interval: the one that has begun before was notified when its second quarter-hour had passed.
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
                "delivered": round(QUARTER_HOUR_H * float(performance.counted_kw[1:].sum()), 6),
            },
        )
    if is_corrected:
        await enqueue(run.db, DISPATCH_JOB, key=run.key, due=run.due, clock="platform", keep_earlier_due=True)
