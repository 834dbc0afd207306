"""Whether a battery can run a position, and how much of its reserves can be sold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from gridloom.capacity.availability import CHARGE, DISCHARGE, FCR
from gridloom.capacity.store import load_availability
from gridloom.kernel.balancing import ReserveProduct
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import format_instant, period_start
from gridloom.kernel.problem import FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, format_period
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.backing.availability import load_available
from gridloom.virtual_assets.energy.projection import ProjectionInput, project
from gridloom.virtual_assets.model import AdjustmentReason, Block, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.validation import first_energy_cut, first_energy_excess
from gridloom.virtual_assets.schedule.points import SchedulePoints, distribute_over_blocks, group_by_lane
from gridloom.virtual_assets.schedule.projection_input import hold_back, load_projection_input
from gridloom.virtual_assets.schedule.projection_loading import first_cuttable_period


class PositionNotRunnable(Problem, status=422, title="The battery cannot run the position"):
    """The position after a stage is one that the virtual asset can run, with its reserves, its promises and its cycles,
    beside what is scheduled before and after the day.

    `rule` says what it breaks (POWER, ENERGY, CYCLES), `firstPeriod` where first.
    """


class ReserveBeyondBatteries(Problem, status=422, title="The batteries cannot sell so much of the product"):
    """Reserves of a virtual asset are sold up to the sum over its batteries of share × what each may sell of the
    product: its available power in that direction, of FCR at most its `fcrLimitRatio` of rated power. `available` is
    what is left of that, in kW."""


_RULE_OF = {
    AdjustmentReason.AVAILABILITY: "POWER",
    AdjustmentReason.CYCLE_LIMIT: "CYCLES",
    AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES: "ENERGY",
}


async def check_position(
    db: Database, asset: VirtualAsset, now: datetime, first: int, own: tuple[int, int], position_kw: Floats
) -> None:
    """Refuse a position in the periods from `first` on that the asset could not run if it were its schedule.

    Its points in the periods [own) may not be cut; what is scheduled elsewhere may not be cut more than before.
    Periods whose gates have closed stay as they are.
    """
    start = first_cuttable_period(asset, now)
    open_from = max(first, start, first_open_period(now, asset.terms.gate_closure_s))
    end = first + len(position_kw)
    if open_from >= end:
        return
    available = await load_available(db, asset, start, asset.end)
    lanes, inputs = await load_projection_input(db, asset, start, asset.end, available=available)
    periods = np.arange(open_from, end)
    points = SchedulePoints(periods, position_kw[open_from - first :], np.arange(len(periods)))
    power_kw = inputs.power_kw.copy()
    power_kw[:, periods - start] = 0.0
    parts = distribute_over_blocks(await block_store.read_blocks(db, asset.key), points)
    for lane, change in group_by_lane(parts).items():
        power_kw[lanes.index(lane), change.periods - start] = change.power_kw
    is_own = np.zeros(len(inputs), dtype=np.bool_)
    is_own[max(open_from, own[0]) - start : max(open_from, own[1]) - start] = True
    lost = np.abs(power_kw[:, periods - start].sum(axis=0) - points.power_kw) > POWER_TOLERANCE_KW
    if (lost & is_own[periods - start]).any():
        raise _not_runnable("POWER", int(periods[np.argmax(lost & is_own[periods - start])]))
    changed = hold_back(replace(inputs, power_kw=power_kw), asset.holds, available)
    _check_projection(hold_back(inputs, asset.holds, available), changed, is_own, start)


def _check_projection(inputs: ProjectionInput, changed: ProjectionInput, is_own: np.ndarray, start: int) -> None:
    before, after = project(inputs), project(changed)
    for cut in after.cuts:
        if is_own[cut.position]:
            raise _not_runnable(_RULE_OF[cut.reason], start + cut.position)
    excess = first_energy_cut(changed, before, after, is_own) or first_energy_excess(changed, before, after)
    if excess is not None:
        raise _not_runnable("ENERGY", start + excess.position)


def _not_runnable(rule: str, period: int) -> PositionNotRunnable:
    said = {
        "POWER": "the power that is available",
        "ENERGY": "the energy that is in store, or the room for it,",
        "CYCLES": "the cycles that are left",
    }[rule]
    return PositionNotRunnable(
        f"In the period {format_period(period)} the position asks for more than {said} once it is run.",
        rule=rule,
        firstPeriod=format_period(period),
    )


async def check_reserve_limits(
    db: Database, asset: VirtualAsset, reserves: Sequence[Block], day_blocks: Sequence[Block]
) -> None:
    """Refuse reserves, in the order of the request, beyond what the batteries may still sell."""
    for index, one in enumerate(reserves):
        product = ReserveProduct(one.market.value)
        limit_kw = await read_reserve_limit_kw(
            db, asset, product, Window(period_start(one.first), period_start(one.end))
        )
        held = [
            other
            for other in (*day_blocks, *asset.holds)
            if other.market is one.market and other.overlaps(one.first, one.end)
        ]
        left_kw = limit_kw - sum(max(other.charge_kw, other.discharge_kw) for other in held)
        asked_kw = max(one.charge_kw, one.discharge_kw)
        if asked_kw > left_kw + POWER_TOLERANCE_KW:
            raise ReserveBeyondBatteries(
                say(
                    "From {} on the batteries may sell {} more of {}, and {} are offered.",
                    format_instant(period_start(one.first)),
                    kw(max(0.0, left_kw)),
                    product,
                    kw(asked_kw),
                ),
                [FieldError(f"/reserves/{index}/capacity", say("Expected at most {}.", kw(max(0.0, left_kw))))],
                available=max(0.0, left_kw),
            )


async def read_reserve_limit_kw(db: Database, asset: VirtualAsset, product: ReserveProduct, window: Window) -> float:
    """Σ share × what each backing battery may sell of a product throughout a window."""
    series = await load_availability(db, [promise.physical_asset_key for promise in asset.promises], window)
    limit_kw = 0.0
    for promise in asset.promises:
        known = series[promise.physical_asset_key]
        direction = product.direction
        columns = [CHARGE] * direction.imports + [DISCHARGE] * direction.exports
        battery_kw = min(known.least(column) for column in columns)
        if product is ReserveProduct.FCR:
            battery_kw = min(battery_kw, float(known.rated[:, FCR].min()))
        limit_kw += promise.share * battery_kw
    return limit_kw
