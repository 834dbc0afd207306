"""Spot and balancing capacity together: how much of the power to sell as FCR and aFRR in each four-hour block.

A megawatt reserved for upward power leaves less to discharge with and must be in store for its reserve minutes;
one for downward power leaves less to charge with and needs room. FCR does both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.linear import INFINITE, Deadline, RowBuilder, SolverStatus
from gridloom.optimiser.solving.programme import BatteryProgramme, CancelledError, Floats, Ints, Solution
from gridloom.optimiser.solving.solve import solve


@dataclass(frozen=True, slots=True)
class ReserveSlot:
    """A product in one block: its periods, what a kW earns over them, and how long its full power must last.

    What it serves upward must be in store for `reserve_h` hours, downward there must be room. `lot_kw` is what its
    power is a multiple of.
    """

    first: int
    end: int
    earns_eur_kw: float
    is_upward: bool
    is_downward: bool
    reserve_h: float
    most_kw: float
    lot_kw: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class ReserveSolution:
    """The power of each slot in kW, the spot schedule beside it, and a bound of both together."""

    power_kw: Floats
    spot: Solution
    bound_eur: float


def solve_with_reserves(
    programme: BatteryProgramme, slots: Sequence[ReserveSlot], deadline: Deadline, *, exact: bool
) -> ReserveSolution:
    """Slots first, from the linear programme of all, in whole steps; then the best spot schedule beside them."""
    power_kw, bound_eur = _solve_slots(programme, slots, deadline)
    spot = solve(spot_programme_beside(programme, slots, power_kw), deadline, exact=exact)
    earned_eur = float(power_kw @ np.array([slot.earns_eur_kw for slot in slots]))
    return ReserveSolution(power_kw, spot, max(bound_eur, spot.value_eur + earned_eur))


@dataclass(frozen=True, slots=True, eq=False)
class ReserveRoom:
    """Energy at the end of each period, in store and of room, that is left to reserves: by what is scheduled or sold
    already, which they leave as it is."""

    stored_kwh: Floats
    free_kwh: Floats

    def with_position(self, programme: BatteryProgramme, power_kw: Floats) -> ReserveRoom:
        """The room that a position of the first periods leaves, too."""
        stored_kwh, free_kwh, count = self.stored_kwh.copy(), self.free_kwh.copy(), len(power_kw)
        energy_kwh = programme.energy_kwh(np.concatenate([power_kw, np.zeros(len(programme) - count)]))
        stored_kwh[:count] = np.minimum(stored_kwh, energy_kwh - programme.lowest_kwh)[:count]
        free_kwh[:count] = np.minimum(free_kwh, programme.highest_kwh - energy_kwh)[:count]
        return ReserveRoom(np.maximum(stored_kwh, 0.0), np.maximum(free_kwh, 0.0))


def leave_room(programme: BatteryProgramme, power_kw: Floats) -> ReserveRoom:
    """The room that a schedule of all periods leaves."""
    unlimited = np.full(len(programme), INFINITE)
    return ReserveRoom(unlimited, unlimited).with_position(programme, power_kw)


def choose_reserves(
    programme: BatteryProgramme, slots: Sequence[ReserveSlot], deadline: Deadline, room: ReserveRoom | None = None
) -> Floats:
    """The power of each slot alone, in whole steps: the wholesale market is planned later, when more is known."""
    return _solve_slots(programme, slots, deadline, room)[0]


def _solve_slots(
    programme: BatteryProgramme, slots: Sequence[ReserveSlot], deadline: Deadline, room: ReserveRoom | None = None
) -> tuple[Floats, float]:
    """The power of each slot, and a bound of what it earns together with the wholesale market."""
    model = _ReserveModel(programme, slots, room)
    found = model.run(deadline)
    if found.ended is SolverStatus.STOPPED:
        raise CancelledError
    if found.ended is SolverStatus.INFEASIBLE or not len(found.columns):
        raise diagnose([programme])
    power_kw = found.columns[model.slot_columns] * model.unit_kw
    steps = np.array([slot.lot_kw for slot in slots])
    return np.floor(power_kw / steps + 1e-6) * steps, model.value_eur(found.bound)


def spot_programme_beside(
    programme: BatteryProgramme, slots: Sequence[ReserveSlot], power_kw: Floats
) -> BatteryProgramme:
    """The programme of the spot market beside these reserves."""
    min_kw, max_kw = programme.min_kw.copy(), programme.max_kw.copy()
    lowest_kwh, highest_kwh = programme.lowest_kwh.copy(), programme.highest_kwh.copy()
    for slot, reserved_kw in zip(slots, power_kw.tolist(), strict=True):
        periods = slice(slot.first, slot.end)
        ends = slice(max(0, slot.first - 1), slot.end)
        if slot.is_upward:
            max_kw[periods] -= reserved_kw
            lowest_kwh[ends] += _held_h(programme, slot) * reserved_kw
        if slot.is_downward:
            min_kw[periods] += reserved_kw
            highest_kwh[ends] -= _room_h(slot) * reserved_kw
    return replace(programme, min_kw=min_kw, max_kw=max_kw, lowest_kwh=lowest_kwh, highest_kwh=highest_kwh)


def _held_h(programme: BatteryProgramme, slot: ReserveSlot) -> float:
    return slot.reserve_h / programme.discharge_efficiency


def _room_h(slot: ReserveSlot) -> float:
    """A kWh of room for each kWh at the grid, as if nothing were lost on the way."""
    return slot.reserve_h


class _ReserveModel(BatteryModel):
    """The battery's programme with one column more for each slot."""

    def __init__(self, programme: BatteryProgramme, slots: Sequence[ReserveSlot], left: ReserveRoom | None) -> None:
        self._slots, self._left = slots, left
        self.slot_columns: Ints = 3 * len(programme) + np.arange(len(slots))
        super().__init__([programme])

    def _add_own_columns(self, rows: RowBuilder, width: int) -> tuple[Floats, Floats, Floats]:
        [programme], [columns] = self.programmes, self.columns
        count = len(programme)
        up_power = rows.add(count, -INFINITE, np.maximum(programme.max_kw, 0.0) / self.unit_kw)
        down_power = rows.add(count, -INFINITE, np.maximum(-programme.min_kw, 0.0) / self.unit_kw)
        held = rows.add(count, programme.lowest_kwh / self.unit_kw, INFINITE)
        room = rows.add(count, -INFINITE, programme.highest_kwh / self.unit_kw)
        rows.put(up_power, columns.discharge, 1.0)
        rows.put(down_power, columns.charge, 1.0)
        rows.put(held, columns.energy, 1.0)
        rows.put(room, columns.energy, 1.0)
        for number, slot in enumerate(self._slots):
            periods = np.arange(slot.first, slot.end)
            ends = np.arange(max(0, slot.first - 1), slot.end)
            if slot.is_upward:
                rows.put(up_power[periods], np.full(len(periods), width + number), 1.0)
                rows.put(held[ends], np.full(len(ends), width + number), -_held_h(programme, slot))
            if slot.is_downward:
                rows.put(down_power[periods], np.full(len(periods), width + number), 1.0)
                rows.put(room[ends], np.full(len(ends), width + number), _room_h(slot))
        if self._left is not None:
            self._leave_room(rows, width, self._left)
        # A kW earns EUR; the objective counts in thousandths of EUR per kW of the unit.
        cost = np.array([1000 * slot.earns_eur_kw for slot in self._slots])
        most = np.array([slot.most_kw / self.unit_kw for slot in self._slots])
        return cost, np.zeros(len(most)), most

    def _leave_room(self, rows: RowBuilder, width: int, left: ReserveRoom) -> None:
        """The reserves together take no more than what is left to them in each period."""
        [programme] = self.programmes
        held = rows.add(len(programme), -INFINITE, left.stored_kwh / self.unit_kw)
        room = rows.add(len(programme), -INFINITE, left.free_kwh / self.unit_kw)
        for number, slot in enumerate(self._slots):
            ends = np.arange(max(0, slot.first - 1), slot.end)
            column = np.full(len(ends), width + number)
            if slot.is_upward:
                rows.put(held[ends], column, _held_h(programme, slot))
            if slot.is_downward:
                rows.put(room[ends], column, _room_h(slot))
