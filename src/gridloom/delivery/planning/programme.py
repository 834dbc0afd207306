"""The linear programme that spreads a zone's net where shares alone do not suffice, on HiGHS.

Per battery and quarter-hour a power in the direction of the net (in both directions where that leaves a limit broken),
the stored energy, and per quarter-hour what stays unserved. `E' = E + ¼(η_c·c − d/η_d)`; least unserved energy, then
least energy outside bounds, then least wear with the batteries ending near what their shares say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import highspy
import numpy as np

from gridloom.delivery.model import NOISE_KW, Batteries, Floats, Ints
from gridloom.delivery.planning.spreading import OFF_DUE_WEIGHT, changes_kwh, wear_factors
from gridloom.kernel.units import QUARTER_HOUR_H

UNSERVED_WEIGHT: Final = 1000.0
OUTSIDE_WEIGHT: Final = 50.0
AGAINST_WEIGHT: Final = 5.0
"""For each kWh against the net: far above what better efficiency can save, far below what a limit is worth."""


class SolverGaveUp(Exception):  # not a problem of the caller's: there are shares to fall back to
    """The programme was not solved in its time."""


def solve(
    net_kw: Floats, batteries: Batteries, due_kwh: Floats, *, both_directions: bool, limit_s: float
) -> tuple[Floats, float]:
    """The batteries' powers, signed, and the solver's time in seconds; the same input gives the same output."""
    count, periods = batteries.shape
    ways = (1.0, -1.0) if both_directions else (0.0,)
    highs = _build_programme(net_kw, batteries, due_kwh, ways).model(limit_s)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise SolverGaveUp(str(highs.getModelStatus()))
    values = np.array(highs.getSolution().col_value)
    cells = count * periods
    power_kw = np.zeros((count, periods))
    for place, way in enumerate(ways):
        moved_kw = values[place * cells : (place + 1) * cells].reshape(count, periods)
        power_kw += _choose_directions(net_kw, way) * moved_kw
    power_kw[np.abs(power_kw) < NOISE_KW] = 0.0
    return np.round(power_kw, 6) + 0.0, float(highs.getRunTime())


class _Programme:
    """Columns and their entries, gathered block by block."""

    def __init__(self, row_lower: Floats, row_upper: Floats) -> None:
        self._row_lower, self._row_upper = row_lower, row_upper
        self._columns: list[tuple[Floats, Floats, Floats]] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._count = 0

    def add(self, cost: Floats, lower: Floats, upper: Floats, entries: Sequence[tuple[Ints, Floats]]) -> None:
        """Columns, and their entries as pairs of a row and a value for each column; row −1 is no entry."""
        numbers = np.arange(self._count, self._count + len(cost))
        for rows, values in entries:
            there = rows >= 0
            self._entries.append((rows[there], numbers[there], values[there]))
        self._columns.append((cost, lower, upper))
        self._count += len(cost)

    def model(self, limit_s: float) -> highspy.Highs:
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.lexsort((rows, columns))
        programme = highspy.HighsLp()
        programme.num_col_, programme.num_row_ = self._count, len(self._row_lower)
        programme.col_cost_, programme.col_lower_, programme.col_upper_ = (
            np.concatenate(parts) for parts in zip(*self._columns, strict=True)
        )
        programme.row_lower_, programme.row_upper_ = self._row_lower, self._row_upper
        programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        programme.a_matrix_.start_ = np.searchsorted(columns[order], np.arange(self._count + 1)).astype(np.int32)
        programme.a_matrix_.index_ = rows[order].astype(np.int32)
        programme.a_matrix_.value_ = values[order]
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0), ("time_limit", limit_s)):
            highs.setOptionValue(option, value)
        highs.passModel(programme)
        return highs


def _build_programme(net_kw: Floats, batteries: Batteries, due_kwh: Floats, ways: Sequence[float]) -> _Programme:
    """Rows: the net of each period, the energy of each cell, what is due at the end, bounds that may be missed."""
    count, periods = batteries.shape
    own_kwh = changes_kwh(batteries.own_kw, batteries.charge_efficiency, batteries.discharge_efficiency)
    idle_kwh = batteries.energy_kwh[:, None] + np.cumsum(own_kwh, axis=1)
    start_kwh = own_kwh.copy()
    start_kwh[:, 0] += batteries.energy_kwh
    outside = np.flatnonzero((idle_kwh < batteries.low_kwh) | (idle_kwh > batteries.high_kwh))
    fixed = np.concatenate([net_kw, start_kwh.ravel(), due_kwh])
    programme = _Programme(
        np.concatenate([fixed, batteries.low_kwh.ravel()[outside]]),
        np.concatenate([fixed, batteries.high_kwh.ravel()[outside]]),
    )
    for way in ways:
        _add_powers(programme, net_kw, batteries, way)
    _add_energies(programme, batteries, idle_kwh, outside)
    programme.add(
        np.full(periods, UNSERVED_WEIGHT * QUARTER_HOUR_H),
        np.zeros(periods),
        np.abs(net_kw),
        [(np.arange(periods), np.where(net_kw < 0, -1.0, 1.0))],
    )
    for sign in (1.0, -1.0):
        rows, zeros = periods + count * periods + np.arange(count), np.zeros(count)
        programme.add(zeros + OFF_DUE_WEIGHT, zeros, zeros + highspy.kHighsInf, [(rows, zeros + sign)])
        rows, zeros = periods + count * periods + count + np.arange(len(outside)), np.zeros(len(outside))
        programme.add(zeros + OUTSIDE_WEIGHT, zeros, zeros + highspy.kHighsInf, [(rows, zeros + sign)])
    return programme


def _choose_directions(net_kw: Floats, way: float) -> Floats:
    """+1 for discharging, −1 for charging: the given way, or for 0 that of the net, and none where there is no net."""
    return np.sign(net_kw) if way == 0.0 else np.full(len(net_kw), way)


def _add_powers(programme: _Programme, net_kw: Floats, batteries: Batteries, way: float) -> None:
    """The magnitude of each battery's power in each period."""
    count, periods = batteries.shape
    direction = np.broadcast_to(_choose_directions(net_kw, way), (count, periods))
    limit_kw = np.where(direction > 0, batteries.discharge_kw, batteries.charge_kw) * (direction != 0)
    limit_kw *= batteries.serves
    weights = wear_factors(batteries, direction) + AGAINST_WEIGHT * (direction != np.sign(net_kw))
    change_kwh = changes_kwh(direction, batteries.charge_efficiency, batteries.discharge_efficiency)
    cells = np.arange(count * periods)
    programme.add(
        (QUARTER_HOUR_H * weights).ravel(),
        np.zeros(count * periods),
        limit_kw.ravel(),
        [(cells % periods, direction.ravel()), (periods + cells, -change_kwh.ravel())],
    )


def _add_energies(programme: _Programme, batteries: Batteries, idle_kwh: Floats, outside: Ints) -> None:
    """The stored energy at the end of each period; never further out of bounds than an idle battery would be."""
    count, periods = batteries.shape
    cells = np.arange(count * periods)
    is_last = cells % periods == periods - 1
    bound_rows = np.full(count * periods, -1)
    bound_rows[outside] = periods + count * periods + count + np.arange(len(outside))
    ones = np.ones(count * periods)
    programme.add(
        np.zeros(count * periods),
        np.minimum(batteries.low_kwh, idle_kwh).ravel(),
        np.maximum(batteries.high_kwh, idle_kwh).ravel(),
        [
            (periods + cells, ones),
            (np.where(is_last, -1, periods + cells + 1), -ones),
            (np.where(is_last, periods + count * periods + cells // periods, -1), ones),
            (bound_rows, ones),
        ],
    )
