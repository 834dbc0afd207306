"""By how many kW a schedule may move in each quarter-hour alone, all else as stored; pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.optimiser.limits import LimitReason, LimitReasons
from gridloom.virtual_assets.energy.projection import Projection, ProjectionInput
from gridloom.virtual_assets.energy.trajectory import energy_changes_kwh, exported_kwh
from gridloom.virtual_assets.model import Efficiency

_STEP_KW: Final = 1e-6
"""Powers are rounded down to it: less than what a schedule tolerates."""
_PRECISION_KW: Final = 0.5
"""Of what is tried out: 1 kW more is refused."""

Accepts = Callable[[int, float], bool]
"""Whether a schedule that has this power in this period, and is as it was elsewhere, is accepted."""


@dataclass(frozen=True, slots=True)
class PeriodHeadroom:
    """kW upwards (more export) and downwards, and what keeps each from being more."""

    up_kw: float
    down_kw: float
    up_limit: LimitReason
    down_limit: LimitReason


CLOSED: Final = PeriodHeadroom(0.0, 0.0, LimitReason.GATE, LimitReason.GATE)


class HeadroomFinder:
    """The headroom of single periods of a projection.

    Where the store would cut stored points anyway, or energy goes out of reach, moving a period also moves that: then
    `accepts` decides.
    """

    def __init__(
        self, inputs: ProjectionInput, projection: Projection, reasons: LimitReasons, accepts: Accepts | None
    ) -> None:
        self._inputs, self._reasons, self._accepts = inputs, reasons, accepts
        self._stored_kw = inputs.power_kw.sum(axis=0)
        self._charge_kw, self._discharge_kw = inputs.charge_kw.sum(axis=0), inputs.discharge_kw.sum(axis=0)
        self._changes_kwh = energy_changes_kwh(self._stored_kw, inputs.efficiency)
        energy_kwh = projection.energy_kwh[1:] - projection.unreachable_kwh
        self._fall_kwh, self._fall_at = _find_suffix_minimum(energy_kwh - inputs.lowest_kwh)
        self._rise_kwh, self._rise_at = _find_suffix_minimum(inputs.highest_kwh - energy_kwh)
        self._cycles_kwh = np.full(len(inputs), np.inf)
        for rule in inputs.cycles:
            used_kwh = np.bincount(rule.groups, exported_kwh(self._stored_kw), minlength=int(rule.groups[-1]) + 1)
            used_kwh[int(rule.groups[0])] += rule.exported_before_kwh
            self._cycles_kwh = np.minimum(self._cycles_kwh, (rule.limit_kwh - used_kwh)[rule.groups])

    def find(self, index: int) -> PeriodHeadroom:
        up_kw, up_limit = self._find_up(index)
        down_kw, down_limit = self._find_down(index)
        if self._accepts is not None:
            up_kw, up_limit = self._try_out(index, up_kw, up_limit, float(self._discharge_kw[index]))
            down_kw, down_limit = self._try_out(index, -down_kw, down_limit, -float(self._charge_kw[index]))
            down_kw = -down_kw
        return PeriodHeadroom(_round_down(up_kw), _round_down(down_kw), up_limit, down_limit)

    def _find_up(self, index: int) -> tuple[float, LimitReason]:
        stored_kw = float(self._stored_kw[index])
        lowest_kwh = float(self._changes_kwh[index] - self._fall_kwh[index])
        choices = [
            (float(self._discharge_kw[index]) - stored_kw, self._reasons.discharge[index]),
            (_power_of(lowest_kwh, self._inputs.efficiency) - stored_kw, self._reasons.low[self._fall_at[index]]),
            (
                max(stored_kw, 0.0) + max(float(self._cycles_kwh[index]), 0.0) / QUARTER_HOUR_H - stored_kw,
                LimitReason.CYCLES,
            ),
        ]
        return min(choices, key=lambda choice: choice[0])

    def _find_down(self, index: int) -> tuple[float, LimitReason]:
        stored_kw = float(self._stored_kw[index])
        highest_kwh = float(self._changes_kwh[index] + self._rise_kwh[index])
        choices = [
            (stored_kw + float(self._charge_kw[index]), self._reasons.charge[index]),
            (stored_kw - _power_of(highest_kwh, self._inputs.efficiency), self._reasons.high[self._rise_at[index]]),
        ]
        return min(choices, key=lambda choice: choice[0])

    def _try_out(self, index: int, moved_kw: float, limit: LimitReason, bound_kw: float) -> tuple[float, LimitReason]:
        """The farthest move that is accepted: the one computed, or what lies between it and the power's bound."""
        assert self._accepts is not None
        stored_kw = float(self._stored_kw[index])
        least_kw, most_kw = 0.0, bound_kw - stored_kw
        if abs(most_kw) <= _STEP_KW or limit is LimitReason.CYCLES:
            return moved_kw, limit
        if self._accepts(index, bound_kw):
            reasons = self._reasons.discharge if bound_kw > stored_kw else self._reasons.charge
            return most_kw, reasons[index]
        # Nearly always what was computed is right: each trial projects the whole life.
        for tried_kw in (moved_kw + math.copysign(2 * _PRECISION_KW, most_kw), moved_kw):
            if abs(least_kw) < abs(tried_kw) < abs(most_kw) and tried_kw * most_kw > 0:
                if self._accepts(index, stored_kw + tried_kw):
                    least_kw = tried_kw
                    break
                most_kw = tried_kw
        while abs(most_kw - least_kw) > 2 * _PRECISION_KW:
            middle_kw = (least_kw + most_kw) / 2
            if self._accepts(index, stored_kw + middle_kw):
                least_kw = middle_kw
            else:
                most_kw = middle_kw
        return least_kw, limit if limit is not self._reasons.discharge[index] else LimitReason.ENERGY


def _find_suffix_minimum(room: Floats) -> tuple[Floats, list[int]]:
    """From each period on the least of the values, not below 0, and where it is."""
    least, places = np.empty(len(room)), [0] * len(room)
    best, place = np.inf, len(room) - 1
    for index in range(len(room) - 1, -1, -1):
        if room[index] < best:
            best, place = float(room[index]), index
        least[index], places[index] = max(best, 0.0), place
    return least, places


def _power_of(change_kwh: float, efficiency: Efficiency) -> float:
    """The power that changes the stored energy by so much in a quarter-hour."""
    if change_kwh > 0:
        return -change_kwh / efficiency.charge / QUARTER_HOUR_H
    return -change_kwh * efficiency.discharge / QUARTER_HOUR_H


def _round_down(power_kw: float) -> float:
    return max(0.0, math.floor(power_kw / _STEP_KW) * _STEP_KW)
