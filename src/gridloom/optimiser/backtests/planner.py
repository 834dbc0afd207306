"""Planning one market day after the other: two days are looked at, the first is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.linear import Deadline, Ended, Found
from gridloom.optimiser.solving.polishing import polish
from gridloom.optimiser.solving.programme import CycleLimit, Floats, Programme

_SOLVING_S: Final = 5.0
_BOTH: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Battery:
    charge_kw: float
    discharge_kw: float
    energy_kwh: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None


class Planner:
    """Plans for one battery; the programme of each shape of days is kept, and solved from its last basis."""

    def __init__(self, battery: Battery) -> None:
        self.battery = battery
        self._models: dict[tuple[int, int, float, tuple[float, float] | None], BatteryModel] = {}

    def plan(
        self,
        today: Floats,
        tomorrow: Floats,
        initial_kwh: float,
        step_h: float,
        end_kwh: tuple[float, float] | None = None,
    ) -> Floats:
        """The power of today's periods that is best for the prices of both days.

        The last of them ends as it likes or, with `end_kwh`, between these two energies, which must be within reach.
        """
        key = len(today), len(tomorrow), step_h, end_kwh
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = BatteryModel([self._build_programme(*key)])
        prices = np.concatenate([today, tomorrow])
        model.set_prices(0, prices)
        model.set_initial(0, initial_kwh)
        found = model.run(Deadline(_SOLVING_S))
        assert found.ended is Ended.OPTIMAL, found.ended
        power_kw, burns = _net_kw(model, found)
        if burns:
            power_kw = self._without_burning(model.programmes[0], prices, initial_kwh)
        return _today_of(model.programmes[0], power_kw, initial_kwh, len(today))

    def _build_programme(
        self, today: int, tomorrow: int, step_h: float, end_kwh: tuple[float, float] | None = None
    ) -> Programme:
        battery, count = self.battery, today + tomorrow
        lowest_kwh, highest_kwh = np.zeros(count), np.full(count, battery.energy_kwh)
        if end_kwh is not None:
            lowest_kwh[-1], highest_kwh[-1] = end_kwh
        limits: tuple[CycleLimit, ...] = ()
        if battery.daily_cycle_limit is not None:
            groups = np.repeat(np.arange(2), [today, tomorrow])
            left_kwh = np.full(2 if tomorrow else 1, battery.daily_cycle_limit * battery.energy_kwh)
            limits = (CycleLimit(groups, left_kwh),)
        return Programme(
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

    def _without_burning(self, programme: Programme, prices: Floats, initial_kwh: float) -> Floats:
        """Directions as the tighter relaxation suggests them; good enough for a plan on a forecast."""
        marked = prices <= 0
        model = BatteryModel([programme], cut=[marked])
        model.set_prices(0, prices)
        model.set_initial(0, initial_kwh)
        power_kw, burns = _net_kw(model, model.run(Deadline(_SOLVING_S)))
        if burns:
            model.fix_directions(0, np.flatnonzero(marked), power_kw)
            power_kw, _ = _net_kw(model, model.run(Deadline(_SOLVING_S)))
        return power_kw


def _net_kw(model: BatteryModel, found: Found) -> tuple[Floats, bool]:
    charge_kw, discharge_kw = model.powers_kw(0, found)
    burns = bool((np.minimum(charge_kw, discharge_kw) > _BOTH * model.unit_kw).any())
    return discharge_kw - charge_kw, burns


def _today_of(programme: Programme, power_kw: Floats, initial_kwh: float, count: int) -> Floats:
    part = Programme(
        programme.price_eur_mwh[:count],
        programme.low_kw[:count],
        programme.high_kw[:count],
        programme.lowest_kwh[:count],
        programme.highest_kwh[:count],
        initial_kwh,
        programme.charge_efficiency,
        programme.discharge_efficiency,
        (),
        programme.step_h,
    )
    return polish(part, power_kw[:count])
