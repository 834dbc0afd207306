"""The nearest schedule that works: least power moved, one direction in each period.

With free directions, charging and discharging at once would burn energy and count as no change. So each period keeps
the direction it was asked for, and an idle one gets a direction by its price: a plain linear programme.
"""

from __future__ import annotations

import numpy as np

from gridloom.optimiser.solving.battery_model import tie_energies
from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.linear import INFINITE, Deadline, LinearModel, RowBuilder, SolverStatus
from gridloom.optimiser.solving.polishing import polish
from gridloom.optimiser.solving.programme import BatteryProgramme, Bools, CancelledError, Floats, InfeasibleError
from gridloom.optimiser.solving.solve import solve

_TIE = 1e-4
"""The weight of the whole spread of prices against a kW that is moved: it only decides between equal changes."""


def repair_nearest(programme: BatteryProgramme, asked_kw: Floats, deadline: Deadline) -> Floats:
    """Raises InfeasibleError where no schedule works at all."""
    asked_kw = np.clip(asked_kw, programme.min_kw, programme.max_kw)
    price, median = programme.price_eur_mwh, float(np.median(programme.price_eur_mwh))
    by_price = price >= median
    own = np.where(asked_kw != 0, asked_kw > 0, by_price)
    for exports in (own, by_price):
        found = _move_least(programme, asked_kw, exports, deadline)
        if found is not None:
            return polish(programme, found)
    try:
        return solve(programme, deadline).power_kw
    except InfeasibleError:
        raise diagnose([programme]) from None


def _move_least(programme: BatteryProgramme, asked_kw: Floats, exports: Bools, deadline: Deadline) -> Floats | None:
    """Per period what is taken off the asked power and what is put on, within its one direction."""
    exports = (exports & (programme.max_kw > 0)) | (programme.min_kw >= 0)
    most_kw = np.where(exports, np.maximum(programme.max_kw, 0.0), np.maximum(-programme.min_kw, 0.0))
    least_kw = np.where(exports, np.maximum(programme.min_kw, 0.0), np.maximum(-programme.max_kw, 0.0))
    size_kw = np.clip(np.where(exports, asked_kw, -asked_kw), least_kw, most_kw)
    unit_kw, count = float(most_kw.max(initial=0.0)) or 1.0, len(programme)
    less, more = np.arange(count), np.arange(count, 2 * count)
    energy = more + count
    stored = programme.step_h * np.where(exports, -1 / programme.discharge_efficiency, programme.charge_efficiency)
    rows = RowBuilder()
    moved = stored * size_kw / unit_kw
    moved[0] += programme.initial_kwh / unit_kw
    balance = rows.add(count, moved, moved)
    rows.put(balance, energy, 1.0)
    rows.put(balance[1:], energy[:-1], -1.0)
    rows.put(balance, more, -stored)
    rows.put(balance, less, stored)
    _limit_cycles(programme, rows, exports, size_kw / unit_kw, unit_kw)
    tie_energies(programme, rows, energy, unit_kw)
    spread = float(np.ptp(programme.price_eur_mwh)) or 1.0
    worth = _TIE * np.where(exports, 1.0, -1.0) * programme.price_eur_mwh / spread
    cost = np.concatenate([-1.0 - worth, -1.0 + worth, np.zeros(count)])
    lower = np.concatenate([np.zeros(2 * count), programme.lowest_kwh / unit_kw])
    upper = np.concatenate([(size_kw - least_kw), (most_kw - size_kw), programme.highest_kwh]) / unit_kw
    found = LinearModel(cost, lower, upper, rows).run(deadline)
    if found.ended is SolverStatus.STOPPED:
        raise CancelledError
    if found.ended is not SolverStatus.OPTIMAL:
        return None
    sized_kw = size_kw + (found.columns[more] - found.columns[less]) * unit_kw
    return np.asarray(np.where(exports, sized_kw, -sized_kw))


def _limit_cycles(programme: BatteryProgramme, rows: RowBuilder, exports: Bools, size: Floats, unit_kw: float) -> None:
    count, indices = len(programme), np.flatnonzero(exports)
    for limit in programme.cycles:
        already = np.bincount(limit.groups[indices], size[indices], minlength=len(limit.left_kwh)) * programme.step_h
        numbers = rows.add(len(limit.left_kwh), -INFINITE, limit.left_kwh / unit_kw - already)
        rows.put(numbers[limit.groups[indices]], count + indices, programme.step_h)
        rows.put(numbers[limit.groups[indices]], indices, -programme.step_h)
