"""Day-ahead prices: by season, type of day and hour, with days that resemble the day before."""

from __future__ import annotations

import math
from datetime import date, timedelta
from statistics import NormalDist

import numpy as np

from gridloom.kernel.market_time import period_count
from gridloom.sandbox.simulator.market.calendar import day_type, hours_of
from gridloom.sandbox.simulator.market.cents import in_cents
from gridloom.sandbox.simulator.market.coefficients import Coefficients, Floats, array, coefficients
from gridloom.sandbox.simulator.random_streams import daily_normals, stream

LOWEST_EUR_MWH, HIGHEST_EUR_MWH = -500.0, 4000.0
FIRST_QUARTER_HOURLY_DAY = date(2025, 10, 1)
"""Before, an hour had one price."""
MEMORY_DAYS = 60
"""Surprises further back have no effect: of a persistence of 0.85 less than a ten-thousandth is left."""


class DayAhead:
    """The prices of one seed."""

    def __init__(self, seed: int, table: Coefficients | None = None) -> None:
        self.seed = seed
        self.table = table = table or coefficients()
        self._quarters: dict[date, Floats] = {}
        self._hour_means, self._hour_scales = array(table.mean_eur_mwh), array(table.scale_eur_mwh)
        self._carry_weights = _weigh_surprises(table)
        self._mixing_matrix = array(table.mixing).T
        self._hour_quantiles = array(table.deviation_quantiles)
        self._normal_quantiles = array([NormalDist().inv_cdf(p) for p in table.probabilities])
        self._raw_quantiles = array(table.raw_quantiles_eur_mwh)
        self._price_quantiles = array(table.price_quantiles_eur_mwh)
        self._quarter_slope, self._quarter_offset = array(table.quarter_slope), array(table.quarter_offset_eur_mwh)

    # --- what is asked for -----------------------------------------------------------------------------------------

    def quarter_hours(self, day: date) -> Floats:
        """EUR/MWh to the cent for each quarter-hour of the market day; before October 2025 four equal ones an hour."""
        cached = self._quarters.get(day)
        if cached is None:
            cached = self._quarters[day] = self.many_days(day, 1)[0]
            if len(self._quarters) > 400:
                self._quarters.pop(next(iter(self._quarters)))
        return cached

    def many_days(self, first: date, days: int) -> list[Floats]:
        """The quarter-hours of so many days in a row."""
        hourly = self.hourly(first - timedelta(days=1), days + 2)
        found = []
        for n in range(days):
            day = first + timedelta(days=n)
            if day < FIRST_QUARTER_HOURLY_DAY:
                found.append(np.repeat(np.round(hourly[n + 1], 2), 4))
                continue
            found.append(self._into_quarters(day, hourly[n][-1], hourly[n + 1], hourly[n + 2][0]))
        return found

    def hourly(self, first: date, days: int) -> list[Floats]:
        """EUR/MWh of each hour, for so many days in a row: the means of the quarter-hours, but for cents."""
        deviations = self.deviations(first, days)
        return [self._make_hours(first + timedelta(days=n), deviations[n]) for n in range(days)]

    # --- how it comes about ----------------------------------------------------------------------------------------

    def deviations(self, first: date, days: int) -> Floats:
        """[day][hour of the wall clock]: standard deviations from the mean, mapped from the normal distribution."""
        surprises = daily_normals(
            self.seed,
            "day-ahead",
            first - timedelta(days=MEMORY_DAYS),
            days + MEMORY_DAYS,
            len(self._carry_weights[0]),
        )
        normal = np.zeros((days, 24))
        for back, weights in enumerate(self._carry_weights):
            normal += surprises[MEMORY_DAYS - back : MEMORY_DAYS - back + days] @ weights
        mapped = [np.interp(normal[:, hour], self._normal_quantiles, self._hour_quantiles[hour]) for hour in range(24)]
        return np.asarray(np.column_stack(mapped) @ self._mixing_matrix)

    def _make_hours(self, day: date, deviations: Floats) -> Floats:
        of_day = _map_values(self.raw_hours(day, deviations), self._raw_quantiles, self._price_quantiles)
        return np.asarray(np.clip(of_day, LOWEST_EUR_MWH, HIGHEST_EUR_MWH)[hours_of(day)])

    def raw_hours(self, day: date, deviations: Floats) -> Floats:
        """The 24 hours of the wall clock before they are brought to the market's distribution."""
        return np.asarray(self._find_mean(day) + self._find_scale(day) * deviations)

    def _find_mean(self, day: date) -> Floats:
        low, high, weight = _months_around(day)
        means = self._hour_means[:, day_type(day)]
        return np.asarray((1 - weight) * means[low] + weight * means[high])

    def _find_scale(self, day: date) -> Floats:
        low, high, weight = _months_around(day)
        return np.asarray((1 - weight) * self._hour_scales[low] + weight * self._hour_scales[high])

    def _into_quarters(self, day: date, before: float, hourly: Floats, after: float) -> Floats:
        """Around each hour a ramp along the slope of its neighbours, steeper than theirs: that is the saw-tooth."""
        around = np.concatenate([[before], hourly, [after]])
        slope = (around[2:] - around[:-2]) / 2
        clock = hours_of(day)
        noise = stream(self.seed, "quarter-hours", day.toordinal()).standard_normal((len(hourly), 4))
        noise -= noise.mean(axis=1, keepdims=True)
        stray = self._quarter_slope[clock] * slope[:, None] + self._quarter_offset[clock]
        quarters = hourly[:, None] + stray + self.table.quarter_noise_eur_mwh * noise
        assert quarters.size == period_count(day)
        return in_cents(quarters.ravel(), LOWEST_EUR_MWH, HIGHEST_EUR_MWH)


def _weigh_surprises(table: Coefficients) -> list[Floats]:
    """[days ago][k][hour]: the weight of each past surprise."""
    carry_over, weights = array(table.carry_over), [array(table.innovation)]
    for _ in range(MEMORY_DAYS):
        weights.append(carry_over @ weights[-1])
    return [one.T for one in weights]


def _map_values(values: Floats, known: Floats, wanted: Floats) -> Floats:
    """Straight lines from one table to the other; beyond its ends they go on in parallel."""
    beyond = np.minimum(values - known[0], 0) + np.maximum(values - known[-1], 0)
    return np.asarray(np.interp(values, known, wanted) + beyond)


def _months_around(day: date) -> tuple[int, int, float]:
    """The two months between whose middles the day lies, and the later one's weight."""
    position = day.month - 1 + (day.day - 1) / 30.5 - 0.5
    low = math.floor(position)
    return low % 12, (low + 1) % 12, position - low
