"""The position of the day-ahead auction: two days are looked at, the first is traded, in whole lots."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    CycleLimit,
    Floats,
    InfeasibilityRule,
    InfeasibleError,
)
from gridloom.optimiser.trading.kept_model import DayPlanner
from gridloom.optimiser.trading.lot_moves import LotMarket, improve_lots
from gridloom.optimiser.trading.lots import round_to_lots, snap_bounds, solve_in_lots
from gridloom.optimiser.trading.positions import can_run
from gridloom.optimiser.trading.replanning import choose_lots


@dataclass(frozen=True, slots=True, eq=False)
class DayAheadPlan:
    """The position of the first day, and what a MWh in store at its end is worth.

    `is_forced` where the battery cannot run the position before.
    """

    power_kw: Floats
    stored_eur_mwh: float
    is_forced: bool


def plan_day_ahead(programme: BatteryProgramme, before_kw: Floats, fee_eur_mwh: float, lot_kw: float) -> DayAheadPlan:
    """`programme` may reach beyond the day, which is as long as `before_kw`. Raises InfeasibleError."""
    count = len(before_kw)
    day = snap_bounds(cut_periods(programme, slice(0, count), programme.initial_kwh), before_kw, lot_kw)
    without = day.min_kw > day.max_kw + 1e-6
    if without.any():
        raise InfeasibleError(InfeasibilityRule.POWER, int(np.argmax(without)), 0.0)
    min_kw, max_kw = programme.min_kw.copy(), programme.max_kw.copy()
    min_kw[:count], max_kw[:count] = day.min_kw, day.max_kw
    run = DayPlanner().solve(replace(programme, min_kw=min_kw, max_kw=max_kw))
    wanted_kw = run.power_kw[:count]
    # Behind the day nothing is planned: its end may be worth what the day after makes of it.
    stored_eur_mwh = float(run.stored_eur_mwh[count - 1]) if count < len(programme) else 0.0
    market = LotMarket(lot_kw, fee_eur_mwh, stored_eur_mwh)
    if can_run(day, before_kw):
        return DayAheadPlan(choose_lots(day, before_kw, wanted_kw, market), stored_eur_mwh, False)
    found = round_to_lots(day, before_kw, wanted_kw, lot_kw)
    if found is None:
        found = solve_in_lots(day, before_kw, lot_kw, fee_eur_mwh, wanted_kw)
    if found is None:
        raise diagnose([day])
    return DayAheadPlan(improve_lots(day, before_kw, found, market), stored_eur_mwh, True)


def cut_periods(programme: BatteryProgramme, span: slice, initial_kwh: float) -> BatteryProgramme:
    """Some of its periods, with the energy at their start."""
    cycles = []
    for limit in programme.cycles:
        groups = limit.groups[span]
        cycles.append(CycleLimit(groups - groups[0], limit.left_kwh[groups[0] : groups[-1] + 1]))
    return replace(
        programme,
        price_eur_mwh=programme.price_eur_mwh[span],
        min_kw=programme.min_kw[span],
        max_kw=programme.max_kw[span],
        lowest_kwh=programme.lowest_kwh[span],
        highest_kwh=programme.highest_kwh[span],
        initial_kwh=initial_kwh,
        cycles=tuple(cycles),
    )


def bound_energy(programme: BatteryProgramme, index: int, low_kwh: float, high_kwh: float) -> BatteryProgramme:
    """The same with the energy at the end of a period within these bounds too."""
    lowest_kwh, highest_kwh = programme.lowest_kwh.copy(), programme.highest_kwh.copy()
    lowest_kwh[index], highest_kwh[index] = max(lowest_kwh[index], low_kwh), min(highest_kwh[index], high_kwh)
    return replace(programme, lowest_kwh=lowest_kwh, highest_kwh=highest_kwh)
