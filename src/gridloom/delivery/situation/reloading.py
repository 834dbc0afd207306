"""A zone of which only schedules have changed: those are read, all else is as it was when the plan was made."""

from __future__ import annotations

import numpy as np

from gridloom.capacity.book import market_days_around
from gridloom.database.pool import Database
from gridloom.delivery.model import Floats
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.delivery.planning.zone import Inputs, Zone, cut_limits
from gridloom.delivery.situation import store
from gridloom.delivery.situation.loading import Loaded, due_changes_kwh, list_reserves, load_powers_kw
from gridloom.delivery.situation.look_store import Stamps


def keeps_batteries(before: Stamps, now: Stamps) -> bool:
    """Whether nothing has changed but virtual assets."""
    return before.batteries == now.batteries


async def reload_zone(
    db: Database, plan: StandingPlan, inputs: Inputs, stamps: tuple[Stamps, Stamps], first: int, end: int
) -> Loaded | None:
    """The zone from `first` on, the same as if all of it were read anew; None where that has to be done.

    `stamps` are those of the plan and those that hold now.
    """
    before, now = stamps
    if not keeps_batteries(before, now) or not _covers_periods(plan, inputs, first, end):
        return None
    keys = _find_changed(before, now)
    if keys is None:
        return None
    days = market_days_around(first, end)
    if days != market_days_around(inputs.first, end):
        return None
    if not np.array_equal(await store.read_book_marks(db, plan.battery_keys.tolist(), *days), inputs.book_marks):
        return None
    if not await _keep_reserves(db, keys, inputs, first, end):
        return None
    assets = await store.read_assets(db, keys)
    power_kw = plan.power_kw[:, first - plan.first :].copy()
    places = np.searchsorted(plan.asset_keys, [asset.key for asset in assets])
    changed_kw = await load_powers_kw(db, assets, first, end)
    moved = (changed_kw != power_kw[places]).any(axis=0)
    power_kw[places] = changed_kw
    return Loaded(_make_zone(plan, inputs, power_kw, moved, first), inputs)


def _covers_periods(plan: StandingPlan, inputs: Inputs, first: int, end: int) -> bool:
    """Whether what was kept covers these periods, and every virtual asset lives in them."""
    return inputs.first == plan.first <= first and plan.end == end and bool((inputs.lives[:, 1] > first).all())


def _find_changed(before: Stamps, now: Stamps) -> list[int] | None:
    """The virtual assets with other schedules than before, and those that will be cut: how much may have changed. None
    where they are not the same assets."""
    old, new = before.asset_rows, now.asset_rows
    if not np.array_equal(old[0], new[0]):
        return None
    keys: list[int] = new[0, (old != new).any(axis=0) | (new[2] != 0)].tolist()
    return keys


async def _keep_reserves(db: Database, keys: list[int], inputs: Inputs, first: int, end: int) -> bool:
    """Whether these virtual assets hold the same balancing blocks as before."""
    names, amounts = list_reserves(await store.read_block_reserves(db, keys, first, end))
    kept = np.isin(inputs.reserve_of[:, 0], keys) & (inputs.reserve_of[:, 3] > first)
    return np.array_equal(names, inputs.reserve_of[kept]) and np.array_equal(amounts, inputs.reserves[kept])


def _make_zone(plan: StandingPlan, inputs: Inputs, power_kw: Floats, moved: np.ndarray, first: int) -> Zone:
    """`moved`: the periods in which any power is another."""
    offset = first - plan.first
    limits = cut_limits(inputs.limits, offset, inputs.limits.energy_kwh)
    due_kwh = plan.due_changes_kwh[:, offset:].copy()
    places = np.flatnonzero(moved)
    if len(places):
        low, high = int(places[0]), int(places[-1]) + 1
        here = cut_limits(limits, low, limits.energy_kwh, high)
        due_kwh[:, low:high] = due_changes_kwh(
            power_kw[:, low:high], inputs.efficiencies, plan.share_of, plan.shares, here
        )
    return Zone(
        first,
        plan.end,
        plan.asset_keys,
        plan.battery_keys,
        power_kw,
        plan.share_of,
        plan.shares,
        limits,
        due_kwh,
        inputs.capacity_kwh[:, offset:],
        plan.stand_by_of,
        plan.stand_by_kw[:, offset:],
    )
