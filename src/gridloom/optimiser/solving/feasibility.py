"""Why no schedule fits: the rule and the first period that leave no way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel, SharedLimit
from gridloom.optimiser.solving.linear import Deadline, SolverStatus
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    CycleLimit,
    EnergyTies,
    InfeasibilityRule,
    InfeasibleError,
)

_SEARCH_S = 2.0


def diagnose(programmes: Sequence[BatteryProgramme], shared: SharedLimit | None = None) -> InfeasibleError:
    """The first battery's first rule that leaves no way by itself; else what they share."""
    for programme in programmes:
        found = unreachable(programme) or _beyond_ties(programme) or _beyond_cycles(programme)
        if found is not None:
            return found
    if shared is not None:
        return InfeasibleError(InfeasibilityRule.SHARED_LIMIT, 0, 0.0)
    return InfeasibleError(InfeasibilityRule.ENERGY_BELOW, 0, 0.0)


def unreachable(programme: BatteryProgramme, slack_kwh: float = 1e-9) -> InfeasibleError | None:
    """The first period at whose end no energy within bounds can be reached, whatever the power before."""
    crossed = np.flatnonzero(programme.min_kw > programme.max_kw + slack_kwh)
    if len(crossed):
        return InfeasibleError(InfeasibilityRule.POWER, int(crossed[0]), 0.0)
    step_h, eta_c, eta_d = programme.step_h, programme.charge_efficiency, programme.discharge_efficiency
    rise_kwh = -programme.min_kw * np.where(programme.min_kw < 0, eta_c, 1 / eta_d) * step_h
    fall_kwh = -programme.max_kw * np.where(programme.max_kw < 0, eta_c, 1 / eta_d) * step_h
    least = most = programme.initial_kwh
    last = len(programme) - 1
    for index in range(len(programme)):
        least, most = least + float(fall_kwh[index]), most + float(rise_kwh[index])
        lowest, highest = float(programme.lowest_kwh[index]), float(programme.highest_kwh[index])
        if least > highest + slack_kwh or most < lowest - slack_kwh:
            too_full = least > highest
            rule = InfeasibilityRule.ENERGY_ABOVE if too_full else InfeasibilityRule.ENERGY_BELOW
            is_end = index == last and index > 0
            return InfeasibleError(
                InfeasibilityRule.END_STATE_OF_CHARGE if is_end else rule,
                index,
                least - highest if too_full else lowest - most,
            )
        least, most = max(least, lowest), min(most, highest)
    return None


def _beyond_ties(programme: BatteryProgramme) -> InfeasibleError | None:
    """The first period in which what is in reach leaves no way, cycles aside; None where there is one."""
    ties = programme.ties
    if ties is None or _is_feasible(programme, ties):
        return None
    fitting, failing = 0, len(ties)
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if _is_feasible(programme, ties.take_first(middle)):
            fitting = middle
        else:
            failing = middle
    unbounded = ties.lowest_kwh[:failing].copy()
    unbounded[-1] = -np.inf
    is_short = _is_feasible(programme, replace(ties.take_first(failing), lowest_kwh=unbounded))
    rule = InfeasibilityRule.ENERGY_BELOW if is_short else InfeasibilityRule.ENERGY_ABOVE
    return InfeasibleError(rule, int(ties.periods[ties.rows == failing - 1].max()), 0.0)


def _is_feasible(programme: BatteryProgramme, ties: EnergyTies) -> bool:
    trial = replace(programme, ties=ties, cycles=(), price_eur_mwh=np.zeros(len(programme)))
    return BatteryModel([trial]).run(Deadline(_SEARCH_S)).ended is not SolverStatus.INFEASIBLE


def _beyond_cycles(programme: BatteryProgramme) -> InfeasibleError | None:
    """The first group of periods whose cycles do not suffice, when they are stretched as little as possible."""
    if not programme.cycles:
        return None
    for number, limit in enumerate(programme.cycles):
        for group in range(len(limit.left_kwh)):
            stretched = limit.left_kwh.copy()
            stretched[group + 1 :] = np.inf
            others = [replace(other, left_kwh=np.full(len(other.left_kwh), np.inf)) for other in programme.cycles]
            others[number] = CycleLimit(limit.groups, stretched)
            trial = replace(programme, cycles=tuple(others), price_eur_mwh=np.zeros(len(programme)))
            if BatteryModel([trial]).run(Deadline(_SEARCH_S)).ended is SolverStatus.INFEASIBLE:
                return InfeasibleError(InfeasibilityRule.CYCLE_LIMIT, int(np.argmax(limit.groups == group)), 0.0)
    return InfeasibleError(InfeasibilityRule.CYCLE_LIMIT, 0, 0.0)
