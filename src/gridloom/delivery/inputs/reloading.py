"""A zone of which only schedules have changed: those are read, all else is as it was when the plan was made."""

from __future__ import annotations

import numpy as np

from gridloom.capacity.book import market_days_around
from gridloom.delivery.inputs import store
from gridloom.delivery.inputs.loading import AssetPowers, LoadedZone, asset_changes_kwh, list_reserves, load_powers
from gridloom.delivery.inputs.zone_status_store import InputVersions
from gridloom.delivery.model import slice_limits, sum_rows
from gridloom.delivery.planning.model import StoredInputs, ZoneInput, ZonePlan
from gridloom.market_calendar import Ints
from gridloom.platform.database.pool import Database


def batteries_unchanged(before: InputVersions, now: InputVersions) -> bool:
    """Whether nothing has changed but virtual assets."""
    return before.batteries == now.batteries


async def reload_changed_schedules(
    db: Database,
    plan: ZonePlan,
    inputs: StoredInputs,
    versions: tuple[InputVersions, InputVersions],
    first: int,
    end: int,
) -> LoadedZone | None:
    """The zone from `first` on, the same as if all of it were read anew; None where that has to be done.

    `versions` are those of the plan and those that hold now.
    """
    before, now = versions
    if not batteries_unchanged(before, now) or not _covers_periods(plan, inputs, first, end):
        return None
    changed = _find_changed(before, now)
    if changed is None:
        return None
    keys = changed
    days = market_days_around(first, end)
    if days != market_days_around(inputs.first, end):
        return None
    if not np.array_equal(
        await store.read_holdings_digest(db, plan.battery_keys.tolist(), *days), inputs.holdings_digest
    ):
        return None
    if not await _reserves_unchanged(db, keys, inputs, first, end):
        return None
    power_kw = plan.power_kw[:, first - plan.first :].copy()
    rows = np.searchsorted(plan.asset_keys, keys)
    undelivered_kw = plan.undelivered_kw[:, first - plan.first :].copy()
    read = await load_powers(db, keys, first, end)
    power_kw[rows], undelivered_kw[rows] = read.power_kw, read.undelivered_kw
    return LoadedZone(_make_zone(plan, inputs, AssetPowers(power_kw, undelivered_kw), rows, first), inputs)


def _covers_periods(plan: ZonePlan, inputs: StoredInputs, first: int, end: int) -> bool:
    """Whether what was kept covers these periods, and every virtual asset lives in them."""
    return inputs.first == plan.first <= first and plan.end == end and bool((inputs.lifetimes[:, 1] > first).all())


def _find_changed(before: InputVersions, now: InputVersions) -> list[int] | None:
    """The virtual assets with other schedules than before or that will be cut, since how much may have changed. None
    where they are not the same assets."""
    old, new = before.asset_rows, now.asset_rows
    if not np.array_equal(old[0], new[0]):
        return None
    is_cut = new[2] != 0
    changed: list[int] = new[0, (old != new).any(axis=0) | is_cut].tolist()
    return changed


async def _reserves_unchanged(db: Database, keys: list[int], inputs: StoredInputs, first: int, end: int) -> bool:
    """Whether these virtual assets hold the same balancing blocks as before."""
    names, amounts = list_reserves(await store.read_block_reserves(db, keys, first, end))
    kept = np.isin(inputs.block_keys[:, 0], keys) & (inputs.block_keys[:, 3] > first)
    return np.array_equal(names, inputs.block_keys[kept]) and np.array_equal(amounts, inputs.blocks[kept])


def _make_zone(plan: ZonePlan, inputs: StoredInputs, powers: AssetPowers, rows: Ints, first: int) -> ZoneInput:
    """`rows`: the virtual assets whose power may differ from the plan's."""
    offset = first - plan.first
    limits = slice_limits(inputs.limits, offset, inputs.limits.energy_kwh)
    changes_kwh = plan.share_energy_changes_kwh
    if len(rows):
        old_kw = plan.counted_kw[rows]
        new_kw = np.concatenate([old_kw[:, :offset], (powers.power_kw + powers.undelivered_kw)[rows]], axis=1)
        by_kwh = asset_changes_kwh(new_kw, inputs, rows) - asset_changes_kwh(old_kw, inputs, rows)
        index_of = {int(row): index for index, row in enumerate(rows)}
        pairs = np.isin(plan.share_of[:, 0], rows)
        indices = np.array([index_of[asset] for asset in plan.share_of[pairs, 0].tolist()], dtype=np.int64)
        changes_kwh = changes_kwh + sum_rows(
            plan.shares[pairs, None] * by_kwh[indices], plan.share_of[pairs, 1], len(plan.battery_keys)
        )
    return ZoneInput(
        first=first,
        end=plan.end,
        asset_keys=plan.asset_keys,
        battery_keys=plan.battery_keys,
        power_kw=powers.power_kw,
        undelivered_kw=powers.undelivered_kw,
        share_of=plan.share_of,
        shares=plan.shares,
        limits=limits,
        share_energy_changes_kwh=changes_kwh[:, offset:],
        capacity_kwh=inputs.capacity_kwh[:, offset:],
        reserve_keys=plan.reserve_keys,
        reserve_kw=plan.asked_reserve_kw[:, offset:],
        shortfall_keys=plan.shortfall_keys,
        shortfall_kw=plan.shortfall_kw[:, offset:],
    )
