"""Past days played again: each planned on what was known the day before, and paid at the prices that came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

import numpy as np

from gridloom.optimiser.backtests.planner import BatterySpec, Planner
from gridloom.optimiser.day_table import DayTable, from_96_quarters
from gridloom.optimiser.forecasts.formulas import forecast_days
from gridloom.optimiser.solving.programme import Floats

MIN_HISTORY_DAYS = 7
"""So many days every policy has to look back on."""


class Policy(StrEnum):
    FORECAST = "FORECAST"
    YESTERDAY = "YESTERDAY"
    MEAN_7_DAYS = "MEAN_7_DAYS"
    FORESIGHT = "FORESIGHT"


@dataclass(frozen=True, slots=True)
class ReplayedDay:
    day: date
    earned_eur: float
    charged_kwh: float
    discharged_kwh: float
    end_kwh: float


Expectation = Callable[[DayTable, int], tuple[Floats, Floats]]
"""From the table and a day's index in it, what is expected of that day and the next: 96 quarter-hours each, or none."""


def _expect_forecast(table: DayTable, index: int) -> tuple[Floats, Floats]:
    today, tomorrow = forecast_days(table.until(table.first + timedelta(days=index)), 2)
    return today, tomorrow


def _expect_yesterday(table: DayTable, index: int) -> tuple[Floats, Floats]:
    return table.quarters[index - 1], table.quarters[index - 1]


def _expect_mean(table: DayTable, index: int) -> tuple[Floats, Floats]:
    mean = table.quarters[index - MIN_HISTORY_DAYS : index].mean(axis=0)
    return mean, mean


def _expect_actual(table: DayTable, index: int) -> tuple[Floats, Floats]:
    tomorrow = table.quarters[index + 1] if index + 1 < len(table) else np.zeros(0)
    return table.quarters[index], tomorrow


EXPECTATIONS: dict[Policy, Expectation] = {
    Policy.FORECAST: _expect_forecast,
    Policy.YESTERDAY: _expect_yesterday,
    Policy.MEAN_7_DAYS: _expect_mean,
    Policy.FORESIGHT: _expect_actual,
}


def replay_days(
    table: DayTable, first: date, end: date, battery: BatterySpec, expect: Expectation, initial_kwh: float | None = None
) -> Iterator[ReplayedDay]:
    """The days from `first` up to but not `end`, one after the other, with the stored energy carried over.

    It starts half full where no energy is given.
    """
    planner, energy_kwh = Planner(battery), battery.energy_kwh / 2 if initial_kwh is None else initial_kwh
    for index in range(table.index_of(first), table.index_of(end)):
        day = table.first + timedelta(days=index)
        today, tomorrow = expect(table, index)
        prices, today = table.true_day(index), from_96_quarters(today, day)
        tomorrow = from_96_quarters(tomorrow, day + timedelta(days=1)) if len(tomorrow) else tomorrow
        step_h = 0.25
        if table.is_hourly[index : index + 2].all():
            # Within an hour of one price nothing is gained by quarters; the programme is a quarter of the size.
            prices, today, tomorrow, step_h = prices[::4], _average_hours(today), _average_hours(tomorrow), 1.0
        power_kw = planner.plan(today, tomorrow, energy_kwh, step_h)
        charged_kwh = float(-np.minimum(power_kw, 0.0).sum()) * step_h
        discharged_kwh = float(np.maximum(power_kw, 0.0).sum()) * step_h
        energy_kwh += charged_kwh * battery.charge_efficiency - discharged_kwh / battery.discharge_efficiency
        energy_kwh = min(max(energy_kwh, 0.0), battery.energy_kwh)
        earned_eur = float(prices @ power_kw) * step_h / 1000
        yield ReplayedDay(day, earned_eur, charged_kwh, discharged_kwh, energy_kwh)


def _average_hours(quarters: Floats) -> Floats:
    return np.asarray(quarters.reshape(-1, 4).mean(axis=1))
