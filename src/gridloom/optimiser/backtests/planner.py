"""Planning one market day after the other: two days are looked at, the first is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.linear import Deadline, SolverStatus
from gridloom.optimiser.solving.programme import BatteryProgramme, CycleLimit, Floats

_SOLVING_S: Final = 60.0
"""Of one day, which takes milliseconds: a machine may be very busy, and a back-test has no use for half a plan."""
_BOTH: Final = 1e-6


@dataclass(frozen=True, slots=True)
class BatterySpec:
    charge_kw: float
    discharge_kw: float
    energy_kwh: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None
    annual_cycle_limit: float | None = None


@dataclass(slots=True)
class _ModelByDayLength:
    """The programme of days of one shape; a second one, with the cut, from the first burning on."""

    model: BatteryModel
    with_cut: BatteryModel | None = None


class Planner:
    """Plans for one battery; the programme of each shape of days is kept, and solved from its last basis."""

    def __init__(self, battery: BatterySpec) -> None:
        self.battery = battery
        self._shapes: dict[tuple[int, int, float, tuple[float, float] | None], _ModelByDayLength] = {}

    def plan(
        self,
        today: Floats,
        tomorrow: Floats,
        initial_kwh: float,
        step_h: float,
        end_kwh: tuple[float, float] | None = None,
    ) -> Floats:
        """The power of today's periods that is best for the prices of both days, as exact as the solver has it.

        The last of them ends as it likes or, with `end_kwh`, between these two energies, which must be within reach.
        """
        return self.plan_both(today, tomorrow, initial_kwh, step_h, end_kwh)[: len(today)]

    def plan_both(
        self,
        today: Floats,
        tomorrow: Floats,
        initial_kwh: float,
        step_h: float,
        end_kwh: tuple[float, float] | None = None,
    ) -> Floats:
        """The same of the periods of both days; each of them has a day's cycles."""
        key = len(today), len(tomorrow), step_h, end_kwh
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _ModelByDayLength(BatteryModel([self._build_programme(*key)]))
        prices = np.concatenate([today, tomorrow])
        power_kw, burns = _solve_model(shape.model, prices, initial_kwh)
        if burns:
            power_kw = _plan_with_directions(shape, prices, initial_kwh)
        return power_kw

    def _build_programme(
        self, today: int, tomorrow: int, step_h: float, end_kwh: tuple[float, float] | None = None
    ) -> BatteryProgramme:
        battery, count = self.battery, today + tomorrow
        lowest_kwh, highest_kwh = np.zeros(count), np.full(count, battery.energy_kwh)
        if end_kwh is not None:
            lowest_kwh[-1], highest_kwh[-1] = end_kwh
        limits: tuple[CycleLimit, ...] = ()
        if battery.daily_cycle_limit is not None:
            groups = np.repeat(np.arange(2), [today, tomorrow])
            left_kwh = np.full(2 if tomorrow else 1, battery.daily_cycle_limit * battery.energy_kwh)
            limits = (CycleLimit(groups, left_kwh),)
        return BatteryProgramme(
            np.zeros(count),
            np.full(count, -battery.charge_kw),
            np.full(count, battery.discharge_kw),
            lowest_kwh,
            highest_kwh,
            0.0,
            battery.charge_efficiency,
            battery.discharge_efficiency,
            limits,
            step_h,
        )


def _plan_with_directions(shape: _ModelByDayLength, prices: Floats, initial_kwh: float) -> Floats:
    """Directions as the tighter relaxation suggests them; good enough for a plan on a forecast."""
    model = shape.with_cut
    if model is None:
        everywhere = np.ones(len(prices), dtype=bool)
        model = shape.with_cut = BatteryModel(shape.model.programmes, cut=[everywhere])
    marked = prices <= 0
    model.free_directions(0)
    model.enable_cutting_plane(0, marked)
    power_kw, burns = _solve_model(model, prices, initial_kwh)
    if burns:
        model.fix_directions(0, np.flatnonzero(marked), power_kw)
        power_kw, _ = _solve_model(model, prices, initial_kwh)
    return power_kw


def _solve_model(model: BatteryModel, prices: Floats, initial_kwh: float) -> tuple[Floats, bool]:
    """The power of all periods, and whether some of it is charged and discharged at once."""
    model.set_prices(0, prices)
    model.set_initial(0, initial_kwh)
    found = model.run(Deadline(_SOLVING_S), duals=False)
    assert found.ended is SolverStatus.OPTIMAL, found.ended
    charge_kw, discharge_kw = model.powers_kw(0, found)
    burns = bool((np.minimum(charge_kw, discharge_kw) > _BOTH * model.unit_kw).any())
    return discharge_kw - charge_kw, burns
