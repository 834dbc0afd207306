"""Events to the holders of virtual assets: availability that changed, and schedules that were cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np

from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.window import Window
from gridloom.logbook.model import Impact
from gridloom.logbook.store import write_system_entry
from gridloom.market_calendar import Ints, format_period
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available_of_each
from gridloom.virtual_assets.backing.shortfall import seal_closed_periods
from gridloom.virtual_assets.backing.store import read_assets_backed_by, read_keys
from gridloom.virtual_assets.model import Adjustment, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.apply import READ
from gridloom.virtual_assets.schedule.projection_input import seal_reach
from gridloom.virtual_assets.schedule.projection_loading import first_cuttable_period, load_projection

MAX_EVENT_ITEMS = 100


@dataclass(frozen=True, slots=True)
class AvailabilityBefore:
    """The virtual assets that a battery backs in a window, and their available fractions before a change."""

    window: Window
    available: Sequence[tuple[VirtualAsset, AvailableFraction]]


async def read_backed_availability(db: Database, battery_key: int, window: Window) -> AvailabilityBefore:
    """Call it under the battery's lock, before its availability changes in the window.

    It seals the shortfalls of closed periods, to which the change does not apply.
    """
    assets = await read_assets_backed_by(db, battery_key, window)
    if assets:
        now = await platform_now(db)
        await seal_closed_periods(db, assets, now)
        for asset in assets:
            await seal_reach(db, asset, first_open_period(now, asset.terms.gate_closure_s))
    return AvailabilityBefore(window, await load_available_of_each(db, assets, window) if assets else ())


async def read_available_of_backed(db: Database, battery_ids: Sequence[UUID], window: Window) -> AvailabilityBefore:
    """The same for several batteries together."""
    found: dict[int, tuple[VirtualAsset, AvailableFraction]] = {}
    for key in (await read_keys(db, battery_ids)).values():
        before = await read_backed_availability(db, key, window)
        found |= {asset.key: (asset, available) for asset, available in before.available}
    return AvailabilityBefore(window, [found[key] for key in sorted(found)])


async def emit_availability_changed(db: Database, before: AvailabilityBefore, now: datetime) -> None:
    """Call it after the change, in its transaction: emits an event for each virtual asset that is affected."""
    if not before.available:
        return
    assets = [asset for asset, _ in before.available]
    ahead = Window(max(before.window.start, now), before.window.end) if before.window.end > now else None
    if ahead is None:
        return
    after = {asset.key: available for asset, available in await load_available_of_each(db, assets, ahead)}
    for asset, had in before.available:
        has = after.get(asset.key)
        if has is None:
            continue
        changed = changed_periods(had.between(has.first, has.end), has)
        if len(changed):
            await _emit_to_holder(db, asset, has, changed, await expected_cuts(db, asset, now))


def changed_periods(before: AvailableFraction, after: AvailableFraction) -> Ints:
    """The indices of periods whose available fraction has changed."""
    return np.flatnonzero(
        (before.charge != after.charge) | (before.discharge != after.discharge) | (before.energy != after.energy)
    )


async def expected_cuts(db: Database, asset: VirtualAsset, now: datetime) -> list[Adjustment]:
    """The expected cuts of the asset's schedules, the earliest first."""
    first = first_cuttable_period(asset, now)
    return list((await load_projection(db, asset, now, first, asset.end)).cuts) if first < asset.end else []


async def _emit_to_holder(
    db: Database, asset: VirtualAsset, has: AvailableFraction, changed: Ints, cuts: Sequence[Adjustment]
) -> None:
    await record_event(
        db,
        type="virtual-asset.availability-changed",
        organisation_id=asset.organisation_id,
        subject=f"virtual-assets/{asset.id}",
        permission=Permission.READ_VIRTUAL_ASSETS,
        asset_key=asset.key,
        data={
            "virtualAssetID": asset.id,
            "start": format_period(has.first + int(changed[0])),
            "end": format_period(has.first + int(changed[-1]) + 1),
            "periods": availability_intervals(asset, has, changed)[:MAX_EVENT_ITEMS],
            "expectedCuts": [expected_cut_data(cut) for cut in cuts[:MAX_EVENT_ITEMS]],
        },
    )


def expected_cut_data(cut: Adjustment) -> dict[str, Any]:
    return {
        "timestamp": format_period(cut.period),
        "acceptedSchedule": cut.accepted_kw,
        "adjustedSchedule": cut.adjusted_kw,
        "reason": cut.reason.value,
    }


def availability_intervals(asset: VirtualAsset, has: AvailableFraction, changed: Ints) -> list[dict[str, Any]]:
    """Consecutive periods with the same available fraction, joined."""
    values = np.stack([has.charge, has.discharge, has.energy], axis=1)[changed]
    breaks = (np.diff(changed) > 1) | (np.diff(values, axis=0) != 0).any(axis=1)
    starts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
    ends = np.append(starts[1:], len(changed))
    terms = asset.terms
    return [
        {
            "start": format_period(has.first + int(changed[start])),
            "end": format_period(has.first + int(changed[end - 1]) + 1),
            "availableChargePower": round(terms.charge_kw * float(values[start, 0]), 6),
            "availableDischargePower": round(terms.discharge_kw * float(values[start, 1]), 6),
            "availableEnergyCapacity": round(terms.energy_capacity_kwh * float(values[start, 2]), 6),
        }
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


async def emit_adjusted(db: Database, asset: VirtualAsset, adjustments: Sequence[Adjustment]) -> None:
    """One event and one logbook entry per battery for consecutive cuts with the same reason."""
    for (reason, _), run in groupby(
        enumerate(adjustments), key=lambda each: (each[1].reason, each[1].period - each[0])
    ):
        cut = [adjustment for _, adjustment in run]
        first, end = cut[0].period, cut[-1].period + 1
        await record_event(
            db,
            type="schedule.adjusted",
            organisation_id=asset.organisation_id,
            subject=f"virtual-assets/{asset.id}",
            permission=READ,
            asset_key=asset.key,
            data={"start": format_period(first), "end": format_period(end), "reason": reason.value},
        )
        for promise in asset.promises:
            await write_system_entry(
                db,
                promise.physical_asset_key,
                type="ADJUSTMENT",
                title=f"Virtual schedule adjusted: {reason.value}",
                description=say(
                    "Gate closure cut {} quarter-hour{} of the virtual asset {}, of which this asset backs {}, "
                    "the first from {} to {}.",
                    len(cut),
                    "" if len(cut) == 1 else "s",
                    asset.id,
                    f"{promise.share:.0%}",
                    kw(cut[0].accepted_kw),
                    kw(cut[0].adjusted_kw),
                ),
                impact=Impact.NEGATIVE,
                start=period_start(first),
                end=period_start(end),
                tags=["adjustment", str(asset.id)],
            )
