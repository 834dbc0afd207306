"""From the powers of a linear programme to a position that differs from the one before by whole lots."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.linear import INFINITE, Deadline, RowBuilder, SolverStatus
from gridloom.optimiser.solving.programme import BatteryProgramme, Floats, Ints
from gridloom.optimiser.trading.positions import can_run, tolerance_kwh

MIXED_NODES: Final = 100
"""The most nodes that the mixed programme may visit where rounding alone finds no way: work, and not time, so that a
busy machine finds the same position as an idle one. The first few find nearly all that there is to gain."""
_MIXED_S: Final = 60.0  # what even a busy machine does not need for so many
_IDLE: Final = 1e-6  # of a lot
_BOUND: Final = 1e-9


def snap_bounds(programme: BatteryProgramme, before_kw: Floats, lot_kw: float) -> BatteryProgramme:
    """The same with bounds of power that lie whole lots from the position before, which is within them."""
    up = np.floor((programme.max_kw - before_kw) / lot_kw + _BOUND)
    down = np.floor((before_kw - programme.min_kw) / lot_kw + _BOUND)
    return replace(programme, min_kw=before_kw - down * lot_kw, max_kw=before_kw + up * lot_kw)


def round_to_lots(programme: BatteryProgramme, before_kw: Floats, wanted_kw: Floats, lot_kw: float) -> Floats | None:
    """A position near the wanted one that keeps all bounds, whole lots from the one before; None where none is found.

    `programme` has snapped bounds. From period to period the lots follow the wanted energy as closely as they can, and
    where nothing is wanted nothing is traded as long as it is within a lot's energy.
    """
    walk = _LotWalk(programme, before_kw, wanted_kw, lot_kw)
    found = walk.run()
    return found if found is not None and can_run(programme, found) else None


@dataclass(slots=True)
class _LotWalk:
    programme: BatteryProgramme
    before_kw: Floats
    wanted_kw: Floats
    lot_kw: float

    def run(self) -> Floats | None:
        programme, lot_kw = self.programme, self.lot_kw
        count, slack_kwh = len(programme), tolerance_kwh(programme)
        charged, drawn = (
            programme.charge_efficiency * programme.step_h,
            programme.step_h / programme.discharge_efficiency,
        )
        target_kwh = programme.energy_kwh(self.wanted_kw).tolist()
        low_kwh = (programme.lowest_kwh - slack_kwh).tolist()
        high_kwh = (programme.highest_kwh + slack_kwh).tolist()
        wanted = ((self.wanted_kw - self.before_kw) / lot_kw).tolist()
        before_kw = self.before_kw.tolist()
        least = np.round((programme.min_kw - self.before_kw) / lot_kw).astype(int).tolist()
        most = np.round((programme.max_kw - self.before_kw) / lot_kw).astype(int).tolist()
        spare_kwh = _CycleSpare(programme, self.wanted_kw)
        lot_kwh = lot_kw * charged
        energy_kwh, power_kw = programme.initial_kwh, []
        for index in range(count):
            wish = wanted[index]
            floor = math.floor(wish + _IDLE)
            is_whole = abs(wish - round(wish)) < _IDLE and index < count - 1
            # Whole lots are taken as they are while the energy is within a lot of what is wanted.
            tries = (round(wish), floor - 1, floor, floor + 1, floor + 2) if is_whole else range(floor - 1, floor + 3)
            best, best_kwh = None, INFINITE
            for lots in tries:
                if not least[index] <= lots <= most[index]:
                    continue
                power = before_kw[index] + lots * lot_kw
                after_kwh = energy_kwh - power * (charged if power < 0 else drawn)
                if not low_kwh[index] <= after_kwh <= high_kwh[index] or not spare_kwh.allows(index, power):
                    continue
                apart_kwh = abs(after_kwh - target_kwh[index])
                if apart_kwh < best_kwh - _BOUND:
                    best, best_kwh = (power, after_kwh), apart_kwh
                if is_whole and apart_kwh <= lot_kwh:
                    break
            if best is None:
                return None
            power_kw.append(best[0])
            energy_kwh = best[1]
            spare_kwh.use(index, best[0])
        return np.array(power_kw)


class _CycleSpare:
    """The rest of each cycle limit beyond the discharge that is wanted: rounding may use it and no more."""

    def __init__(self, programme: BatteryProgramme, wanted_kw: Floats) -> None:
        step_h = programme.step_h
        wanted_kwh = np.maximum(wanted_kw, 0.0) * step_h
        self._step_h, self._wanted_kwh = step_h, wanted_kwh.tolist()
        self._limits = []
        for limit in programme.cycles:
            used_kwh = np.bincount(limit.groups, wanted_kwh, minlength=len(limit.left_kwh))
            self._limits.append(
                (limit.groups.tolist(), (limit.left_kwh - used_kwh + tolerance_kwh(programme)).tolist())
            )

    def allows(self, index: int, power_kw: float) -> bool:
        more_kwh = max(power_kw, 0.0) * self._step_h - self._wanted_kwh[index]
        return more_kwh <= 0 or all(more_kwh <= spare[groups[index]] for groups, spare in self._limits)

    def use(self, index: int, power_kw: float) -> None:
        more_kwh = max(power_kw, 0.0) * self._step_h - self._wanted_kwh[index]
        for groups, spare in self._limits:
            spare[groups[index]] -= more_kwh


def solve_in_lots(
    programme: BatteryProgramme, before_kw: Floats, lot_kw: float, hurdle_eur_mwh: float, directions_kw: Floats
) -> Floats | None:
    """The mixed programme: lots as whole numbers, each period in the direction of `directions_kw`; None where it fails.

    It is for the few cases in which rounding finds no way: narrow bounds that a lot just fits between.
    """
    model = _LotModel(programme, before_kw, lot_kw, hurdle_eur_mwh)
    model.fix_directions(0, np.flatnonzero((programme.min_kw < 0) & (programme.max_kw > 0)), directions_kw)
    found = model.run(Deadline(_MIXED_S), duals=False)
    if found.ended not in (SolverStatus.OPTIMAL, SolverStatus.LIMIT) or not len(found.columns):
        return None
    lots = np.round(found.columns[model.lot_columns])
    power_kw = before_kw + lots * lot_kw
    return power_kw if can_run(programme, power_kw) else None


class _LotModel(BatteryModel):
    """The battery's programme with whole lots: `discharge − charge = before + lot · number`, and a price of trading."""

    def __init__(self, programme: BatteryProgramme, before_kw: Floats, lot_kw: float, hurdle_eur_mwh: float) -> None:
        count = len(programme)
        self._before_kw, self._lot_kw, self._hurdle = before_kw, lot_kw, hurdle_eur_mwh
        self.lot_columns: Ints = 3 * count + np.arange(count)
        super().__init__([programme])
        self.model.set_integer(self.lot_columns, MIXED_NODES)

    def _add_own_columns(self, rows: RowBuilder, width: int) -> tuple[Floats, Floats, Floats]:
        [programme], [columns] = self.programmes, self.columns
        count, lot = len(programme), self._lot_kw / self.unit_kw
        before = self._before_kw / self.unit_kw
        lots, sizes = width + np.arange(count), width + count + np.arange(count)
        balance = rows.add(count, before, before)
        rows.put(balance, columns.discharge, 1.0)
        rows.put(balance, columns.charge, -1.0)
        rows.put(balance, lots, -lot)
        for sign in (1.0, -1.0):
            size = rows.add(count, 0.0, INFINITE)
            rows.put(size, sizes, 1.0)
            rows.put(size, lots, sign)
        least = np.round((programme.min_kw - self._before_kw) / self._lot_kw)
        most = np.round((programme.max_kw - self._before_kw) / self._lot_kw)
        cost = np.concatenate([np.zeros(count), np.full(count, -self._hurdle * lot * programme.step_h)])
        lower = np.concatenate([least, np.zeros(count)])
        upper = np.concatenate([most, np.full(count, INFINITE)])
        return cost, lower, upper
