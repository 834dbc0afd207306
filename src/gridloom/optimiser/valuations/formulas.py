"""The value of a virtual battery over a delivery window that is still to come, and how sure that is.

Past days have values: what the battery would have earned on each. A window to come is worth a centre, made of recent
days, and what past windows of its length were worth against their own centre.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np

from gridloom.optimiser.backtests.planner import BatterySpec, Planner
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, MIN_HISTORY_DAYS, Expectation, Policy, replay_days
from gridloom.optimiser.day_table import DayTable, from_96_quarters, quarters_of
from gridloom.optimiser.forecasts.formulas import WeeklyForecaster
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import CancelledError, Floats

T = TypeVar("T")

MIN_DAYS: Final = 14
"""Fewer past days than this say nothing about the next ones."""
DAYS_VALUED: Final = {"FORESIGHT": 440, "POLICY": 300}
"""How far back; a forecast for each day makes the policy's days the dearer ones."""
WINDOWS_COMPARED: Final = 365
_HALF_LIFE_DAYS: Final = 7.0
_WARM_UP_DAYS: Final = 7
_MIN_WINDOWS: Final = 8
_CALIBRATED_FROM: Final = 90
_MAX_ORIGINS: Final = 80
_MAX_LEAD_DAYS: Final = 60
_BOUNDARY_DAYS: Final = 28


class Basis(StrEnum):
    FORESIGHT = "FORESIGHT"
    POLICY = "POLICY"


@dataclass(frozen=True, slots=True)
class AuctionedBattery:
    """A virtual battery from `start_quarter` of `first`, a market day, to `end_quarter` of `last`.

    Quarters are counted from the day's midnight, and `end_quarter` is exclusive. It starts and ends at given states of
    charge (ratios).
    """

    battery: BatterySpec
    first: date
    last: date
    start_quarter: int
    end_quarter: int
    initial_soc: float = 0.5
    target_soc: float = 0.5
    tolerance: float = 0.01

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def quarters(self) -> int:
        whole = sum(quarters_of(self.first + timedelta(days=number)) for number in range(self.days - 1))
        return whole + self.end_quarter - self.start_quarter

    @property
    def ends_at_midnight(self) -> bool:
        """Whether it lasts to the end of its last day, however long that is."""
        return self.end_quarter >= quarters_of(self.last)

    @property
    def shape(self) -> tuple[object, ...]:
        """The key of its past day values: everything but the calendar, where it is longer than a day."""
        if self.days > 1:
            return (self.battery, self.initial_soc, self.target_soc, self.tolerance)
        hours = (self.start_quarter, None if self.ends_at_midnight else self.end_quarter)
        return (self.battery, self.initial_soc, self.target_soc, self.tolerance, *hours)

    def end_kwh(self, hours: float, days: int = 1) -> tuple[float, float]:
        """Between which energies it ends after so many hours of so many days: about its target, or as near as it gets
        in that time."""
        battery, energy = self.battery, self.battery.energy_kwh
        initial, slack = self.initial_soc * energy, self.tolerance * energy
        given = battery.discharge_kw * hours
        if battery.daily_cycle_limit is not None:
            given = min(given, days * battery.daily_cycle_limit * energy)
        most = min(energy, initial + battery.charge_kw * battery.charge_efficiency * hours)
        least = max(0.0, initial - given / battery.discharge_efficiency)
        low, high = self.target_soc * energy - slack, self.target_soc * energy + slack
        noise = 1e-9 * energy
        return max(0.0, min(low, most - noise)), min(energy, max(high, least + noise))


@dataclass(frozen=True, slots=True, eq=False)
class DayValues:
    """EUR of each past day up to the day before `until`, and what starting and ending as agreed costs a window."""

    until: date
    values: Floats
    start_end_cost_eur: float


@dataclass(frozen=True, slots=True)
class PastWindow:
    """A window from `first` on, valued with what was known before it, and what it came to be worth."""

    first: date
    p10_eur: float
    p50_eur: float
    p90_eur: float
    value_eur: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of past windows valued as if they lay ahead: each of them, and which part came between P10 and P90."""

    past: tuple[PastWindow, ...] = ()

    @property
    def windows(self) -> int:
        return len(self.past)

    @property
    def coverage(self) -> float | None:
        return self._share_where(lambda one: one.p10_eur <= one.value_eur <= one.p90_eur)

    @property
    def below(self) -> float | None:
        return self._share_where(lambda one: one.value_eur < one.p10_eur)

    @property
    def above(self) -> float | None:
        return self._share_where(lambda one: one.value_eur > one.p90_eur)

    def _share_where(self, holds: Callable[[PastWindow], bool]) -> float | None:
        return sum(map(holds, self.past)) / len(self.past) if self.past else None


@dataclass(frozen=True, slots=True)
class Valuation:
    p10_eur: float
    p50_eur: float
    p90_eur: float
    mean_eur: float
    per_mw_year_eur: float
    calibration: Calibration
    as_of: date
    """The first day whose prices it does not know."""


def value_past_days(
    table: DayTable, offer: AuctionedBattery, basis: Basis, deadline: Deadline | None = None
) -> DayValues:
    """The battery's earnings on each of the last days of the table."""
    days = min(DAYS_VALUED[basis], len(table) - MIN_HISTORY_DAYS)
    first = table.end - timedelta(days=days)
    if offer.days == 1:
        closed = _closed_days(table, first, offer, basis)
        return DayValues(table.end, np.array(list(_until_stopped(closed, deadline))), 0.0)
    expect = EXPECTATIONS[Policy.FORESIGHT] if basis is Basis.FORESIGHT else _expect_weekly(table)
    played = replay_days(table, first, table.end, offer.battery, expect)
    values = np.array([day.earned_eur for day in _until_stopped(played, deadline)])
    return DayValues(table.end, values, _boundary_days(table, offer) * max(0.0, float(values[-_BOUNDARY_DAYS:].mean())))


def _until_stopped(items: Iterator[T], deadline: Deadline | None) -> Iterator[T]:
    for item in items:
        if deadline is not None and deadline.stopped:
            raise CancelledError
        yield item


def _expect_weekly(table: DayTable) -> Expectation:
    forecaster = WeeklyForecaster(table)

    def expect(_: DayTable, index: int) -> tuple[Floats, Floats]:
        today, tomorrow = forecaster.forecast(index)
        return today, tomorrow

    return expect


def _closed_days(table: DayTable, first: date, offer: AuctionedBattery, basis: Basis) -> Iterator[float]:
    """For a window within one day: the same hours of each past day, from its start to its end as agreed."""
    planner, forecaster = Planner(offer.battery), WeeklyForecaster(table)
    for index in range(table.index_of(first), len(table)):
        day = table.first + timedelta(days=index)
        prices = table.true_day(index)
        expected = prices
        if basis is Basis.POLICY:
            expected = from_96_quarters(forecaster.forecast(index)[0], day)
        yield closed_value(planner, offer, prices, expected)


def closed_value(planner: Planner, offer: AuctionedBattery, prices: Floats, expected: Floats) -> float:
    end = len(prices) if offer.ends_at_midnight else min(offer.end_quarter, len(prices))
    hours = slice(min(offer.start_quarter, end - 1), end)
    return _plan_closed(planner, offer, prices[hours], expected[hours])


def _plan_closed(planner: Planner, offer: AuctionedBattery, prices: Floats, expected: Floats) -> float:
    step_h = 0.25
    if offer.start_quarter % 4 == 0 and _is_hourly(prices):
        prices, expected, step_h = prices[::4], expected.reshape(-1, 4).mean(axis=1), 1.0
    initial_kwh = offer.initial_soc * offer.battery.energy_kwh
    power_kw = planner.plan(expected, np.zeros(0), initial_kwh, step_h, offer.end_kwh(len(prices) * step_h))
    return float(prices @ power_kw) * step_h / 1000


def _plan_two_days(planner: Planner, offer: AuctionedBattery, first: Floats, second: Floats) -> float:
    """Earnings of two whole days that start and end as agreed, each with its own cycles."""
    step_h = 0.25
    if _is_hourly(first) and _is_hourly(second):
        first, second, step_h = first[::4], second[::4], 1.0
    prices = np.concatenate([first, second])
    initial_kwh = offer.initial_soc * offer.battery.energy_kwh
    end_kwh = offer.end_kwh(len(prices) * step_h, days=2)
    return float(prices @ planner.plan_both(first, second, initial_kwh, step_h, end_kwh)) * step_h / 1000


def _is_hourly(prices: Floats) -> bool:
    """Whether these are whole hours of one price each."""
    return len(prices) % 4 == 0 and bool((prices.reshape(-1, 4) == prices[::4, None]).all())


def _boundary_days(table: DayTable, offer: AuctionedBattery) -> float:
    """How many days' worth a window loses by starting and ending as agreed, against an endless run with foresight."""
    planner = Planner(offer.battery)
    days = min(_BOUNDARY_DAYS, len(table)) // 2 * 2
    first = table.end - timedelta(days=days)
    played = replay_days(table, first, table.end, offer.battery, EXPECTATIONS[Policy.FORESIGHT])
    endless_eur = sum(day.earned_eur for day in played)
    closed_eur = 0.0
    for index in range(len(table) - days, len(table), 2):
        closed_eur += _plan_two_days(planner, offer, table.true_day(index), table.true_day(index + 1))
    if endless_eur <= 0:
        return 0.0
    return 2 * max(0.0, endless_eur - closed_eur) / endless_eur


def value_window(past: DayValues, offer: AuctionedBattery) -> Valuation:
    """The window's value from past day values alone."""
    lead = min(max((offer.first - past.until).days, 0), _MAX_LEAD_DAYS)
    days = min(offer.days, max(1, (len(past.values) - _WARM_UP_DAYS) // 3))
    means = _RecentMeans.of(past.values)
    apart = _find_deviations(past.values, means, days, lead)
    whole_days = offer.days if offer.days == 1 else offer.quarters / 96
    may_keep_still = abs(offer.initial_soc - offer.target_soc) <= offer.tolerance

    def in_euros(origin: int, deviation: float) -> float:
        day_eur = float(means.centres[origin]) + float(means.scales[origin]) * deviation
        window_eur = day_eur * whole_days - past.start_end_cost_eur
        return max(0.0, window_eur) if may_keep_still else window_eur

    p10, p50, p90, expected = (in_euros(-1, by) for by in _find_spread(apart[-WINDOWS_COMPARED:], days))
    power_mw = (offer.battery.charge_kw + offer.battery.discharge_kw) / 2000
    years = offer.quarters / (4 * 24 * 365)
    first_window = past.until - timedelta(days=len(apart) + days - 1)
    calibration = _calibrate_windows(apart, days, lead, first_window, in_euros)
    return Valuation(p10, p50, p90, expected, expected / power_mw / years, calibration, past.until)


@dataclass(frozen=True, slots=True, eq=False)
class _RecentMeans:
    """After each day: what a day was lately worth, and how much that is in size, never quite nothing."""

    centres: Floats
    scales: Floats

    @classmethod
    def of(cls, values: Floats) -> _RecentMeans:
        floor = 1e-9 + 1e-3 * float(np.abs(values).mean())
        return cls(_fading_means(values), np.maximum(_fading_means(np.abs(values)), floor))


def _fading_means(values: Floats) -> Floats:
    """After each day, the mean of the days so far, whose weights fade."""
    keep = 0.5 ** (1 / _HALF_LIFE_DAYS)
    means, total, weight = [], 0.0, 0.0
    for value in values.tolist():
        total, weight = keep * total + value, keep * weight + 1.0
        means.append(total / weight)
    return np.array(means)


def _find_deviations(values: Floats, means: _RecentMeans, days: int, lead: int) -> Floats:
    """For each past origin whose window is over: its window's mean day, less the centre at the origin, over the scale.

    Where all days earn something, scale and centre are the same, and this is the ratio of the two less one.
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    origins = np.arange(_WARM_UP_DAYS - 1, len(values) - lead - days)
    if not len(origins):  # a long lead and a short past: windows that follow at once say at least something
        origins, lead = np.arange(_WARM_UP_DAYS - 1, len(values) - days), 0
    window_means = (sums[origins + 1 + lead + days] - sums[origins + 1 + lead]) / days
    return np.asarray((window_means - means.centres[origins]) / means.scales[origins])


def _find_spread(apart: Floats, days: int) -> tuple[float, float, float, float]:
    """Quantiles and mean; the outer ones further out the fewer independent windows there were."""
    if len(apart) < 1:
        return -0.5, 0.0, 0.5, 0.0
    independent = max(1.0, len(apart) / days)
    level = max(0.0, (0.1 * (independent + 1) - 0.5) / independent)
    low, middle, high = np.quantile(apart, [level, 0.5, 1 - level])
    if len(apart) < _MIN_WINDOWS:
        low, high = min(float(low), -0.5), max(float(high), 0.5)
    return float(low), float(middle), float(high), float(apart.mean())


def _calibrate_windows(
    apart: Floats, days: int, lead: int, first_window: date, in_euros: Callable[[int, float], float]
) -> Calibration:
    """Past windows valued with what was known at their origin, held against what they turned out to be worth.

    The first of all windows began on `first_window`; its origin is the last of the settling days.
    """
    first = max(_CALIBRATED_FROM, 3 * days) + days + lead
    origins = np.arange(first, len(apart))
    stride = max(1, -(-len(origins) // _MAX_ORIGINS))
    chosen: Sequence[int] = origins[::stride].tolist()
    past = []
    for index in chosen:
        known = apart[max(0, index - days - lead - WINDOWS_COMPARED + 1) : index - days - lead + 1]
        low, middle, high, _ = _find_spread(known, days)
        euros = (in_euros(index + _WARM_UP_DAYS - 1, by) for by in (low, middle, high, float(apart[index])))
        past.append(PastWindow(first_window + timedelta(days=index), *euros))
    return Calibration(tuple(past))
