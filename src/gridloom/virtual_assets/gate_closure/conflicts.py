"""Conflicts of blocks' schedules with the availability of the batteries that back them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridloom.capacity.availability import AvailabilitySeries
from gridloom.kernel.market_time import format_instant, period_start
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, Ints, utc_days_of
from gridloom.physical_assets.conflicts import CapacityConflict, ConflictKind
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.backing.availability import AvailableFraction, load_available_of_each
from gridloom.virtual_assets.backing.store import read_assets_backed_by
from gridloom.virtual_assets.model import AdjustmentReason, Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.projection_loading import AssetProjection, load_projection
from gridloom.virtual_assets.schedule.store import lane_power_kw, read_day_range


async def block_conflicts(
    db: Database, asset_key: int, window: Window, series: AvailabilitySeries
) -> list[CapacityConflict]:
    """Of every virtual asset that the battery backs: the powers that gate closure would cut."""
    assets = await read_assets_backed_by(db, asset_key, window)
    return [
        conflict
        for asset, available in await load_available_of_each(db, assets, window)
        if min(available.charge.min(), available.discharge.min(), available.energy.min()) < 1.0
        for conflict in await _conflicts_of(db, asset, available)
    ]


async def _conflicts_of(db: Database, asset: VirtualAsset, available: AvailableFraction) -> list[CapacityConflict]:
    first, end = available.first, available.end
    powers = await read_day_range(db, asset.key, utc_days_of(first, end))
    lanes_kw = {
        block: lane_power_kw(powers, block.lane, first, end)
        for block in await block_store.read_blocks(db, asset.key)
        if block.market is Market.WHOLESALE and block.overlaps(first, end)
    }
    found = [
        conflict for block, power_kw in lanes_kw.items() for conflict in _find_beyond(asset, block, power_kw, available)
    ]
    if lanes_kw and (found or available.energy.min() < 1.0):
        projection = await load_projection(db, asset, await platform_now(db), first, end)
        found += _energy_conflicts(asset, lanes_kw, projection, available)
    return found


def _energy_conflicts(
    asset: VirtualAsset, lanes_kw: Mapping[Block, Floats], projection: AssetProjection, available: AvailableFraction
) -> list[CapacityConflict]:
    """Expected cuts by the bounds of stored energy, which all blocks share."""
    first = available.first
    cuts = {
        cut.period - first: cut for cut in projection.cuts if cut.reason is AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES
    }
    conflicts = []
    for interval in _find_intervals(np.array(sorted(cuts), dtype=np.int64)):
        worst = max(interval.tolist(), key=lambda index: abs(cuts[index].accepted_kw - cuts[index].adjusted_kw))
        cut = cuts[worst]
        block = _largest_contributor(lanes_kw, worst, cut.accepted_kw)
        stored_kwh = float(projection.trajectory.energy_kwh[worst] - projection.unreachable_kwh[worst])
        there_kwh = float(available.energy[worst]) * asset.terms.energy_capacity_kwh
        conflicts.append(
            CapacityConflict(
                kind=ConflictKind.VIRTUAL_ASSET_BLOCK,
                id=block.id,
                virtual_asset_id=asset.id,
                start=period_start(first + int(interval[0])),
                end=period_start(first + int(interval[-1]) + 1),
                power=cut.accepted_kw,
                available=abs(cut.adjusted_kw),
                detail=(
                    f"The asset's schedules ask for {cut.accepted_kw:g} kW at "
                    f"{format_instant(period_start(cut.period))}, where its store "
                    f"will hold {stored_kwh:g} of {there_kwh:g} kWh."
                ),
            )
        )
    return conflicts


def _largest_contributor(lanes_kw: Mapping[Block, Floats], index: int, direction: float) -> Block:
    """The block with the highest power in this direction."""
    return max(lanes_kw, key=lambda block: lanes_kw[block][index] * np.sign(direction))


def _find_intervals(indices: Ints) -> list[Ints]:
    """Consecutive indices, joined."""
    return [interval for interval in np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1) if len(interval)]


def _find_beyond(
    asset: VirtualAsset, block: Block, power_kw: Floats, available: AvailableFraction
) -> list[CapacityConflict]:
    """`power_kw` is the block's lane over the periods of `available`."""
    inside = slice(max(0, block.first - available.first), block.end - available.first)
    limit_kw = np.where(power_kw > 0, block.discharge_kw * available.discharge, block.charge_kw * available.charge)[
        inside
    ]
    excess_kw = np.abs(power_kw[inside]) - limit_kw
    wrong = np.flatnonzero(excess_kw > POWER_TOLERANCE_KW)
    offset = available.first + inside.start
    return [
        _make_conflict(asset, block, interval, power_kw[inside], limit_kw, excess_kw, offset)
        for interval in _find_intervals(wrong)
    ]


def _make_conflict(
    asset: VirtualAsset,
    block: Block,
    interval: Ints,
    power_kw: Floats,
    limit_kw: Floats,
    excess_kw: Floats,
    offset: int,
) -> CapacityConflict:
    worst = int(interval[np.argmax(excess_kw[interval])])
    return CapacityConflict(
        kind=ConflictKind.VIRTUAL_ASSET_BLOCK,
        id=block.id,
        virtual_asset_id=asset.id,
        start=period_start(offset + int(interval[0])),
        end=period_start(offset + int(interval[-1]) + 1),
        power=float(power_kw[worst]),
        available=float(limit_kw[worst]),
        detail=(
            f"The block's schedule asks for {power_kw[worst]:g} kW at {format_instant(period_start(offset + worst))}, "
            f"where {limit_kw[worst]:g} kW are available."
        ),
    )
