"""Recording failures: when periods become final, and again when an outage of them is corrected afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import numpy as np

from gridloom.capacity.store import load_firm_capacity
from gridloom.delivery import zone_store
from gridloom.delivery.dispatch.reading import DispatchSeries, load_dispatch
from gridloom.delivery.failures import store
from gridloom.delivery.failures.model import Failures, ReservePool, ZoneDelivery
from gridloom.delivery.failures.rules import find_failures
from gridloom.delivery.failures.store import BatteryFailure
from gridloom.delivery.inputs.loading import LoadedZone, load_zone
from gridloom.delivery.inputs.store import Reserve, read_block_reserves
from gridloom.delivery.model import PartKind
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import ZoneInput
from gridloom.kernel.market_time import period_number, period_start
from gridloom.market_calendar import Floats
from gridloom.physical_assets.availability.changes import ASSESS_FAILURES_JOB
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.virtual_assets.backing.availability import remaining_fraction
from gridloom.virtual_assets.backing.store import read_recorded_outages
from gridloom.virtual_assets.block_store import read_blocks_of
from gridloom.virtual_assets.history.store import read_unannounced_cuts, spread_cuts
from gridloom.virtual_assets.schedule.points import rated_kw
from gridloom.virtual_assets.schedule.store import read_activated_kwh
from gridloom.virtual_assets.store import read_assets_by_keys

MAX_PERIODS: Final = 96
"""Assessed by one job; the rest by the next."""
_DIGITS: Final = 6


@job(ASSESS_FAILURES_JOB, clock="platform")
async def assess_corrected_periods(run: JobRun) -> None:
    """Keyed by `zone/first period/end`: final periods of which an outage was recorded, moved or deleted afterwards. An
    outage may begin years before any virtual asset of the zone."""
    zone, low, high = run.key.rsplit("/", 2)
    final = (await zone_store.read_final_until(run.db)).get(zone)
    if final is None:
        return
    first, end = max(int(low), await store.read_first_settled_period(run.db)), min(int(high), final)
    alive = await store.find_first_life(run.db, zone, first, end) if first < end else None
    if alive is None:
        return
    now = await platform_now(run.db)
    if end > alive + MAX_PERIODS:
        key = f"{zone}/{alive + MAX_PERIODS}/{end}"
        await enqueue(run.db, ASSESS_FAILURES_JOB, key=key, due=now, clock="platform")
        end = alive + MAX_PERIODS
    await record_failures(run.db, zone, alive, end, now)


async def record_failures_if_any(
    db: Database, zone: str, asset_keys: Sequence[int], battery_keys: Sequence[int], first: int, end: int, now: datetime
) -> None:
    """Of the final periods [first, end), where any battery lacks capacity or anything was not delivered."""
    cuts = await read_unannounced_cuts(db, asset_keys, first, end)
    if cuts or await find_first_short_period(db, battery_keys, first, end) is not None:
        await record_failures(db, zone, first, end, now)


async def find_first_short_period(db: Database, battery_keys: Sequence[int], first: int, end: int) -> int | None:
    """The first of the periods [first, end) in which a battery has an outage, or is rated below what is promised of
    it."""
    outages = await read_recorded_outages(db, battery_keys, period_start(first), period_start(end))
    periods = [max(first, period_number(one.outage.start)) for one in outages]
    rerated = await store.read_rerated_keys(db, battery_keys, period_start(end))
    for capacity in (await load_firm_capacity(db, rerated, first, end) if rerated else {}).values():
        remaining = remaining_fraction(capacity, first, end)
        if remaining is not None:
            periods.append(first + int(np.argmax((remaining < 1).any(axis=0))))
    return min(periods, default=None)


async def record_failures(db: Database, zone: str, first: int, end: int, now: datetime) -> None:
    loaded = await load_zone(db, zone, first, end)
    keys = loaded.zone.battery_keys.tolist()
    found = find_failures(await _load_delivery(db, loaded, first, end)) if keys else Failures.nothing(0, end - first)
    known = await store.read_zone_batteries(db, zone)
    await store.replace_failures(db, known, first, end, _list_failures(found, keys, first), now)


async def _load_delivery(db: Database, loaded: LoadedZone, first: int, end: int) -> ZoneDelivery:
    zone = loaded.zone
    asset_keys, battery_keys = zone.asset_keys.tolist(), zone.battery_keys.tolist()
    cuts = await read_unannounced_cuts(db, asset_keys, first, end)
    undelivered_kw = np.array(
        [spread_cuts(cuts.get(key, ()), first, end).unannounced_kw for key in asset_keys]
    ).reshape(len(asset_keys), end - first)
    dispatched = [await load_dispatch(db, key, first, end) for key in battery_keys]
    counted_kw = zone.power_kw + undelivered_kw
    return ZoneDelivery(
        first,
        counted_kw,
        undelivered_kw,
        _find_stores_kwh(loaded, zone.power_kw + zone.undelivered_kw, await _load_activated_kwh(db, zone)),
        zone.share_of,
        zone.shares,
        zone.limits,
        np.array([one.sum_kw(PartKind.VIRTUAL) for one in dispatched]),
        await _load_left_kw(db, zone, counted_kw, undelivered_kw),
        _list_pools(loaded, await read_block_reserves(db, asset_keys, first, end), dispatched),
    )


async def _load_left_kw(db: Database, zone: ZoneInput, counted_kw: Floats, undelivered_kw: Floats) -> Floats:
    """By asset and battery, in the order of `share_of`: the rated power of an asset's wholesale blocks, times the part
    of its promises that the battery keeps. What counts as delivered, where nothing was cut."""
    left_kw = np.abs(counted_kw)[zone.share_of[:, 0]]
    cut = np.flatnonzero(undelivered_kw.any(axis=1))
    if not len(cut):
        return left_kw
    capacities = await load_firm_capacity(db, zone.battery_keys.tolist(), zone.first, zone.end)
    remaining = {key: remaining_fraction(one, zone.first, zone.end) for key, one in capacities.items()}
    blocks = await read_blocks_of(db, zone.asset_keys[cut].tolist())
    for row in cut.tolist():
        rated = rated_kw(blocks[int(zone.asset_keys[row])], np.arange(zone.first, zone.end))
        for pair in np.flatnonzero(zone.share_of[:, 0] == row).tolist():
            kept = remaining[int(zone.battery_keys[zone.share_of[pair, 1]])]
            charge_kw, discharge_kw = rated if kept is None else (rated[0] * kept[0], rated[1] * kept[1])
            left_kw[pair] = np.where(counted_kw[row] < 0, charge_kw, discharge_kw)
    return left_kw


async def _load_activated_kwh(db: Database, zone: ZoneInput) -> Floats:
    """By virtual asset and period, the stored energy that settled activations add."""
    changes_kwh = np.zeros_like(zone.power_kw)
    assets = await read_assets_by_keys(db, zone.asset_keys.tolist())
    for row, key in enumerate(zone.asset_keys.tolist()):
        activated_kwh = await read_activated_kwh(db, assets[key], zone.first, zone.end)
        if activated_kwh is not None:
            changes_kwh[row] = activated_kwh
    return changes_kwh


def _find_stores_kwh(loaded: LoadedZone, power_kw: Floats, activated_kwh: Floats) -> Floats:
    """The energy of each virtual asset at the start of each period, while it lives."""
    inputs, zone = loaded.inputs, loaded.zone
    changes_kwh = activated_kwh + energy_changes_kwh(power_kw, inputs.efficiencies[:, :1], inputs.efficiencies[:, 1:])
    before_kwh = np.cumsum(changes_kwh, axis=1) - changes_kwh
    periods = np.arange(zone.first, zone.end)
    is_alive = (periods >= inputs.lifetimes[:, :1]) & (periods < inputs.lifetimes[:, 1:])
    stores_kwh = np.clip(inputs.energies_kwh[:, :1] + before_kwh, 0.0, inputs.energies_kwh[:, 1:2])
    return np.asarray(np.where(is_alive, stores_kwh, 0.0))


def _list_pools(
    loaded: LoadedZone, blocks: Sequence[Reserve], dispatched: Sequence[DispatchSeries]
) -> list[ReservePool]:
    """The reserves of each virtual asset and kind."""
    zone = loaded.zone
    shape = len(zone.battery_keys), zone.end - zone.first
    sold_kw: dict[tuple[int, PartKind], Floats] = {}
    for block in blocks:
        power_kw = sold_kw.setdefault((block.asset_key, PartKind(block.market)), np.zeros(shape[1]))
        power_kw[max(0, block.first - zone.first) : max(0, block.end - zone.first)] += block.power_kw
    pools = []
    for (asset_key, kind), power_kw in sold_kw.items():
        [row] = np.flatnonzero(zone.asset_keys == asset_key).tolist()
        share_kw = np.zeros(shape)
        for (asset, battery), share in zip(zone.share_of.tolist(), zone.shares.tolist(), strict=True):
            if asset == row:
                share_kw[battery] = share * power_kw
        held_kw = np.array([one.parts_kw.get((kind, asset_key), np.zeros(shape[1])) for one in dispatched])
        pools.append(ReservePool(share_kw, held_kw))
    return pools


def _list_failures(found: Failures, battery_keys: Sequence[int], first: int) -> list[BatteryFailure]:
    """A row where there is anything to settle: energy that is the owner's, or that others gave."""
    helped: dict[int, list[int]] = {}
    for failed, helper in found.taken_over_kw:
        helped.setdefault(failed, []).append(helper)
    rows = []
    missed_kw, short_kw = np.round(found.missed_kw, _DIGITS), np.round(found.short_kw, _DIGITS)
    for failed, index in np.argwhere((missed_kw != 0) | (short_kw > 0)).tolist():
        powers = [
            (battery_keys[helper], round(float(found.taken_over_kw[failed, helper][index]), _DIGITS))
            for helper in sorted(helped.get(failed, ()))
        ]
        helpers = tuple((key, power_kw) for key, power_kw in powers if power_kw > 0)
        if missed_kw[failed, index] or helpers:
            amounts = float(missed_kw[failed, index]), float(short_kw[failed, index])
            rows.append(BatteryFailure(battery_keys[failed], first + index, *amounts, helpers))
    return rows
