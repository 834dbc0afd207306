"""Batteries as a linear programme: per period charge, discharge and stored energy, and the rows that tie them.

Everything inside is per unit: power over the largest power there is, energy over an hour of it. Solvers compare by
absolute tolerances, and a watt is as good as a gigawatt then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.optimiser.solving.linear import INFINITE, Deadline, LinearModel, RowBuilder, SolverResult
from gridloom.optimiser.solving.programme import BatteryProgramme, Bools, Floats, Ints, ShadowPrices


@dataclass(frozen=True, slots=True, eq=False)
class SharedLimit:
    """The joint import and export limits of several batteries in each period."""

    import_kw: Floats
    export_kw: Floats


@dataclass(frozen=True, slots=True, eq=False)
class VariableIndex:
    """Where a battery's quantities stand among the columns, and its rows among the rows."""

    charge: Ints
    discharge: Ints
    energy: Ints
    balance: Ints
    cycles: tuple[Ints, ...]


def tie_energies(programme: BatteryProgramme, rows: RowBuilder, energy: Ints, unit_kw: float) -> None:
    """`energy`: the columns of the energies at the ends of periods."""
    ties = programme.ties
    if ties is None or not len(ties):
        return
    numbers = rows.add(len(ties), ties.lowest_kwh / unit_kw, ties.highest_kwh / unit_kw)
    rows.put(numbers[ties.rows], energy[ties.periods], ties.weights)


class BatteryModel:
    """The programme of some batteries; prices, bounds and directions may change between runs.

    `exclusive` marks, for each battery, the periods in which a binary keeps it from doing both at once; `cut` those in
    which `c/C + d/D ≤ 1` does so in part, until `enable_cutting_plane` says otherwise.
    """

    def __init__(
        self,
        programmes: Sequence[BatteryProgramme],
        *,
        exclusive: Sequence[Bools] = (),
        cut: Sequence[Bools] = (),
        shared: SharedLimit | None = None,
    ) -> None:
        self.programmes = programmes
        self.unit_kw = max(
            (float(max(np.abs(p.min_kw).max(), np.abs(p.max_kw).max())) for p in programmes if len(p)), default=1.0
        )
        self.unit_kw = self.unit_kw or 1.0
        rows, width, self.columns = RowBuilder(), 0, []
        lower, upper, cost = [], [], []
        for programme in programmes:
            columns, bounds = self._add_columns(programme, rows, width)
            self.columns.append(columns)
            lower.append(bounds[0])
            upper.append(bounds[1])
            cost.append(self._find_cost(programme, programme.price_eur_mwh))
            width += 3 * len(programme)
        if shared is not None:
            self._share_rows(shared, rows)
        self._cuts = [
            self._cut_ends(programme, columns, np.flatnonzero(marked), rows)
            for columns, programme, marked in zip(self.columns, programmes, cut, strict=False)
        ]
        extra_cost, extra_lower, extra_upper = self._add_own_columns(rows, width)
        width += len(extra_cost)
        binaries = []
        for columns, programme, marked in zip(self.columns, programmes, exclusive, strict=False):
            indices = np.flatnonzero(marked)
            binaries.append(np.arange(width, width + len(indices)))
            width += len(indices)
            self._exclude_both_ways(programme, columns, indices, binaries[-1], rows)
        whole = np.concatenate(binaries) if binaries else np.zeros(0, dtype=np.int64)
        self.model = LinearModel(
            np.concatenate([*cost, extra_cost, np.zeros(len(whole))]),
            np.concatenate([*lower, extra_lower, np.zeros(len(whole))]),
            np.concatenate([*upper, extra_upper, np.ones(len(whole))]),
            rows,
        )
        if len(whole):
            self.model.set_integer(whole)

    def _add_columns(
        self, programme: BatteryProgramme, rows: RowBuilder, width: int
    ) -> tuple[VariableIndex, tuple[Floats, Floats]]:
        count, unit = len(programme), self.unit_kw
        charge = np.arange(width, width + count)
        discharge, energy = charge + count, charge + 2 * count
        start = np.zeros(count)
        start[0] = programme.initial_kwh / unit
        balance = rows.add(count, start, start)
        rows.put(balance, energy, 1.0)
        rows.put(balance[1:], energy[:-1], -1.0)
        rows.put(balance, charge, -programme.step_h * programme.charge_efficiency)
        rows.put(balance, discharge, programme.step_h / programme.discharge_efficiency)
        cycles = []
        for limit in programme.cycles:
            numbers = rows.add(len(limit.left_kwh), -INFINITE, limit.left_kwh / unit)
            rows.put(numbers[limit.groups], discharge, programme.step_h)
            cycles.append(numbers)
        tie_energies(programme, rows, energy, unit)
        return VariableIndex(charge, discharge, energy, balance, tuple(cycles)), self._find_bounds(programme)

    def _add_own_columns(self, rows: RowBuilder, width: int) -> tuple[Floats, Floats, Floats]:
        """Further columns from `width` on, for models that have more to decide: their cost, lower and upper bounds."""
        return np.zeros(0), np.zeros(0), np.zeros(0)

    def _find_bounds(self, programme: BatteryProgramme) -> tuple[Floats, Floats]:
        unit, low, high = self.unit_kw, programme.min_kw, programme.max_kw
        lower = np.concatenate([np.maximum(-high, 0.0), np.maximum(low, 0.0), programme.lowest_kwh]) / unit
        upper = np.concatenate([np.maximum(-low, 0.0), np.maximum(high, 0.0), programme.highest_kwh]) / unit
        return lower, upper

    def _find_cost(self, programme: BatteryProgramme, price_eur_mwh: Floats) -> Floats:
        earned = price_eur_mwh * programme.step_h
        return np.concatenate([-earned, earned - programme.wear_eur_mwh * programme.step_h, np.zeros(len(earned))])

    def _share_rows(self, shared: SharedLimit, rows: RowBuilder) -> None:
        numbers = rows.add(len(shared.import_kw), -shared.import_kw / self.unit_kw, shared.export_kw / self.unit_kw)
        for columns in self.columns:
            rows.put(numbers, columns.discharge, 1.0)
            rows.put(numbers, columns.charge, -1.0)

    def _cut_ends(self, programme: BatteryProgramme, columns: VariableIndex, indices: Ints, rows: RowBuilder) -> Ints:
        numbers = rows.add(len(indices), -INFINITE, 1.0)
        rows.put(numbers, columns.charge[indices], self.unit_kw / programme.charge_kw[indices])
        rows.put(numbers, columns.discharge[indices], self.unit_kw / programme.discharge_kw[indices])
        return numbers

    def _exclude_both_ways(
        self, programme: BatteryProgramme, columns: VariableIndex, indices: Ints, binaries: Ints, rows: RowBuilder
    ) -> None:
        charge, discharge = programme.charge_kw[indices] / self.unit_kw, programme.discharge_kw[indices] / self.unit_kw
        charging = rows.add(len(indices), -INFINITE, 0.0)
        rows.put(charging, columns.charge[indices], 1.0)
        rows.put(charging, binaries, -charge)
        discharging = rows.add(len(indices), -INFINITE, discharge)
        rows.put(discharging, columns.discharge[indices], 1.0)
        rows.put(discharging, binaries, discharge)

    def run(self, deadline: Deadline, *, duals: bool = True) -> SolverResult:
        return self.model.run(deadline, duals=duals)

    def set_prices(self, battery: int, price_eur_mwh: Floats) -> None:
        charge = self.columns[battery].charge
        # The columns of discharge follow those of charge.
        both = np.arange(charge[0], charge[0] + 2 * len(charge), dtype=np.int32)
        self.model.set_costs(both, self._find_cost(self.programmes[battery], price_eur_mwh)[: len(both)])

    def set_initial(self, battery: int, initial_kwh: float) -> None:
        """Start from another energy."""
        start = np.array([initial_kwh / self.unit_kw])
        self.model.set_row_bounds(self.columns[battery].balance[:1], start, start)

    def set_energy_bounds(self, battery: int, periods: slice, lowest_kwh: Floats, highest_kwh: Floats) -> None:
        """Bound the energy at the ends of these periods anew."""
        columns = self.columns[battery].energy[periods]
        self.model.set_bounds(columns, lowest_kwh / self.unit_kw, highest_kwh / self.unit_kw)

    def fix_directions(self, battery: int, indices: Ints, power_kw: Floats) -> None:
        """In these periods only charge or only discharge, as this power does; idle ones keep still."""
        programme, columns = self.programmes[battery], self.columns[battery]
        lower, upper = (part.reshape(3, -1) for part in self._find_bounds(programme))
        charging = power_kw[indices] < 0
        self.model.set_bounds(
            columns.charge[indices], lower[0, indices], np.where(charging, upper[0, indices], lower[0, indices])
        )
        self.model.set_bounds(
            columns.discharge[indices], lower[1, indices], np.where(charging, lower[1, indices], upper[1, indices])
        )

    def free_directions(self, battery: int) -> None:
        """In all periods charge and discharge as the programme has it."""
        programme, columns = self.programmes[battery], self.columns[battery]
        lower, upper = self._find_bounds(programme)
        both = np.concatenate([columns.charge, columns.discharge])
        self.model.set_bounds(both, lower[: len(both)], upper[: len(both)])

    def enable_cutting_plane(self, battery: int, marked: Bools) -> None:
        """Of the periods that were given a cut, only these have it."""
        numbers = self._cuts[battery]
        self.model.set_row_bounds(numbers, np.full(len(numbers), -INFINITE), np.where(marked, 1.0, INFINITE))

    def powers_kw(self, battery: int, found: SolverResult) -> tuple[Floats, Floats]:
        """Charge and discharge of a battery."""
        columns = self.columns[battery]
        return found.columns[columns.charge] * self.unit_kw, found.columns[columns.discharge] * self.unit_kw

    def value_eur(self, objective: float) -> float:
        return objective * self.unit_kw / 1000

    def shadow_prices(self, battery: int, found: SolverResult) -> ShadowPrices:
        """From the duals: EUR/MWh of a per-unit quantity become EUR per kW or kWh."""
        columns, programme = self.columns[battery], self.programmes[battery]
        upper = np.maximum(found.column_duals, 0.0)
        free = programme.min_kw < programme.max_kw
        energy = found.column_duals[columns.energy] / 1000
        end = float(energy[-1])
        return ShadowPrices(
            float(upper[columns.charge][free].sum()) / 1000,
            float(upper[columns.discharge][free].sum()) / 1000,
            float(np.maximum(energy[:-1], 0.0).sum()),
            found.row_duals[columns.balance],
            tuple(found.row_duals[numbers] / 1000 for numbers in columns.cycles),
            end,
        )
