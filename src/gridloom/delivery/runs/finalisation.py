"""Making closed periods final: expected cuts are made, net-offs become facts, unserved power becomes adjustments."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
import structlog

from gridloom.delivery.dispatch.store import read_asset_ids
from gridloom.delivery.failures.recording import find_first_short_period, record_failures_if_any
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import KIND_OF_CODE
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.planning.netting import net, net_off_units, subtract_unserved
from gridloom.delivery.runs import store
from gridloom.delivery.runs.store import UnheldReserve
from gridloom.kernel.market_time import market_day_of, period_start
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, Ints
from gridloom.platform.database.errors import DATABASE_ERRORS, DatabaseFailure, classify_error
from gridloom.platform.database.pool import Connection, Database
from gridloom.settlements.model import NET_OFFS, NetOff, Origin
from gridloom.settlements.recording import Recorder, record_settlements
from gridloom.virtual_assets.backing.announced import announced_before
from gridloom.virtual_assets.backing.store import read_recorded_outages
from gridloom.virtual_assets.gate_closure.revalidation import adjust_unserved_periods, revalidate
from gridloom.virtual_assets.model import AdjustmentReason

log = structlog.get_logger()

PLATFORM_ID: Final = UUID(int=0)
"""Records what the platform itself has computed."""
_UNITS_PER_MWH: Final = 100_000_000
LOCK_TIMEOUT_S: Final = 5.0
"""For one locked virtual asset: far longer than a change of this platform's own takes."""
REVALIDATION_TIMEOUT_S: Final = 20.0
"""For all of them."""


async def revalidate_closed_periods(db: Connection, zone: str, closed_until: int, now: datetime) -> bool:
    """Cut what does not fit and has closed; whether anything was.

    A virtual asset that stays locked is left to the next run, which finds it still not revalidated. This run plans with
    the expected cut all the same.
    """
    keys = await input_store.read_assets_to_cut(db, zone, closed_until)
    if keys:
        await input_store.limit_lock_wait(db, LOCK_TIMEOUT_S)
    has_cut, until_s = False, time.monotonic() + REVALIDATION_TIMEOUT_S
    for key in keys:
        try:
            async with db.transaction():
                await revalidate(db, key, now)
        except DATABASE_ERRORS as fault:
            if classify_error(fault) is not DatabaseFailure.TIMEOUT:
                raise
            log.warning("delivery.asset_locked", asset_key=key)
            if time.monotonic() > until_s:
                break
        else:
            has_cut = True
    return has_cut


async def finalise_periods(db: Database, zone: str, plan: ZonePlan, first: int, end: int, now: datetime) -> bool:
    """The periods [first, end), whose gates have closed; whether any schedule was adjusted."""
    first, end = max(first, plan.first), min(end, plan.end)
    if first >= end:
        return False
    low, high = first - plan.first, end - plan.first
    power_kw, unserved_kw = plan.power_kw[:, low:high], plan.unserved_kw[low:high]
    delivered_kw = subtract_unserved(power_kw, net(power_kw), unserved_kw)
    if unserved_kw.any():
        await _adjust_schedules(db, plan, delivered_kw, low, high)
    units = net_off_units(net(delivered_kw).netted_kw)
    if units.any():
        await _record_net_offs(db, plan.asset_keys.tolist(), units, first)
    if plan.unheld_reserves()[1][:, low:high].any():
        await store.add_shortfalls(db, await _list_shortfalls(db, plan, low, high), now)
    await record_failures_if_any(db, zone, plan.asset_keys.tolist(), plan.battery_keys.tolist(), first, end, now)
    return bool(unserved_kw.any())


async def _list_shortfalls(db: Database, plan: ZonePlan, low: int, high: int) -> list[UnheldReserve]:
    """A shortfall is announced where all that fails of its battery then was recorded in time."""
    start, end = period_start(plan.first + low), period_start(plan.first + high)
    keys, unheld_kw = plan.unheld_reserves()
    outages = await read_recorded_outages(db, sorted(set(keys[:, 2].tolist())), start, end)
    found = []
    for row, index in np.argwhere(unheld_kw[:, low:high]).tolist():
        asset, code, battery = keys[row].tolist()
        instant = period_start(plan.first + low + index)
        until = announced_before(market_day_of(instant))
        failing = [one for one in outages if one.asset_key == battery and one.outage.start <= instant < one.outage.end]
        is_announced = bool(failing) and all(one.recorded_at < until for one in failing)
        power_kw = float(unheld_kw[row, low + index])
        found.append(
            UnheldReserve(asset, plan.first + low + index, KIND_OF_CODE[code].value, battery, power_kw, is_announced)
        )
    return found


async def find_next_fact_period(db: Database, plan: ZonePlan, first: int) -> int | None:
    """The first period from there on that records anything when it becomes final: facts, or what a battery lacked."""
    found = _find_planned_fact_period(plan, first)
    if first >= plan.end:
        return found
    short = await find_first_short_period(db, plan.battery_keys.tolist(), first, plan.end)
    return min((period for period in (found, short) if period is not None), default=None)


def _find_planned_fact_period(plan: ZonePlan, first: int) -> int | None:
    low = max(0, first - plan.first)
    exported_kw, imported_kw, _, unserved_kw = plan.totals_kw[:, low:]
    records = ((exported_kw > 0) & (imported_kw > 0)) | (unserved_kw != 0)
    unheld_kw = plan.unheld_reserves()[1]
    if len(unheld_kw):
        records |= unheld_kw[:, low:].any(axis=0)
    indices = np.flatnonzero(records)
    return plan.first + low + int(indices[0]) if len(indices) else None


async def _adjust_schedules(db: Database, plan: ZonePlan, delivered_kw: Floats, low: int, high: int) -> None:
    """Bring schedules down to what is delivered; by cycles where those were the limit, else by availability."""
    by_cycles = plan.is_cycle_bound[low:high] != 0
    for row, key in enumerate(plan.asset_keys.tolist()):
        is_cut = np.abs(plan.power_kw[row, low:high] - delivered_kw[row]) > POWER_TOLERANCE_KW
        for reason, where in (
            (AdjustmentReason.CYCLE_LIMIT, is_cut & by_cycles),
            (AdjustmentReason.AVAILABILITY, is_cut & ~by_cycles),
        ):
            indices = np.flatnonzero(where)
            if len(indices):
                await adjust_unserved_periods(db, key, indices + plan.first + low, delivered_kw[row, indices], reason)


async def _record_net_offs(db: Database, keys: Sequence[int], units: Ints, first: int) -> None:
    """Only what is not zero; a posted row prevails."""
    ids = await read_asset_ids(db, keys)
    rows = [
        NetOff(
            asset_id=str(ids[keys[row]]),
            time=period_start(first + index),
            volume=int(units[row, index]) / _UNITS_PER_MWH,
        )
        for row, index in np.argwhere(units).tolist()
        if keys[row] in ids
    ]
    if not rows:
        return
    await record_settlements(db, NET_OFFS, rows, Recorder(by=PLATFORM_ID, origin=Origin.COMPUTED))
