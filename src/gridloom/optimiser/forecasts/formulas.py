"""Day-ahead prices of the days to come, from the prices of past days alone.

The mean of three views: two ridge regressions of all 24 hours on the prices of one, two, three and seven days before
(in the manner of LEAR, fitted to 364 and 728 days), and a mean of recent days of the same type whose weights fade.
What is planned on it matters, not its error; see docs/optimiser.md for what it earns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np

from gridloom.optimiser.forecasts.day_table import DayTable, unfold
from gridloom.optimiser.forecasts.holidays import day_kinds
from gridloom.optimiser.solving.programme import Bools, Floats, Ints

LONG_WINDOW, SHORT_WINDOW = 728, 364
LEAST_DAYS_FITTED: Final = 56
"""With fewer days a regression on a hundred prices says nothing that the mean does not."""
MOST_DAYS_AHEAD: Final = 14
_LAGS: Final = (1, 2, 3, 7)
_RIDGE: Final = 30.0
_DAYS_OF_A_TYPE_FOR: Final = 120
_HALF_LIFE_DAYS: Final = 1.5  # of days of the type
_SHAPE_DAYS: Final = 60
_SHAPE_PRIOR: Final = 2.0
_SHAPE_RIDGE: Final = 3000.0
_CENTRES: Final = np.array([-0.375, -0.125, 0.125, 0.375])  # of the quarters in their hour
_ERROR_DAYS: Final = 91
HISTORY_DAYS: Final = LONG_WINDOW + max(_LAGS)
QUANTILES: Final = (0.1, 0.9)


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """EUR/MWh for each quarter-hour of a market day, 92, 96 or 100 of them."""

    day: date
    known_until: date
    """The first day whose prices it does not know."""
    p10: Floats
    p50: Floats
    p90: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Regressions as they were fitted to the days before `until`."""

    until: date
    middle: float
    spread: float
    weights: tuple[Floats, ...]


class WeeklyForecaster:
    """Forecasts for one day after the other that are fitted anew once a week: a fraction of the work."""

    def __init__(self) -> None:
        self._fit: Fit | None = None
        self._shape: _QuarterShape | None = None

    def forecast(self, history: DayTable, days: int) -> list[Floats]:
        if self._fit is None or self._shape is None or not 0 <= (history.end - self._fit.until).days < 7:
            self._fit, self._shape = _View(history).fit, _QuarterShape(history)
        view = _View(history.last(_DAYS_OF_A_TYPE_FOR), self._fit)
        return [self._shape.quarters(hours) for hours in view.combined(days)]


def forecast_days(history: DayTable, days: int) -> list[Floats]:
    """The expected prices of the days after the history, 96 quarter-hours each."""
    view = _View(history)
    shape = _QuarterShape(history)
    return [shape.quarters(hours) for hours in view.combined(days)]


def forecast_day(history: DayTable, day: date) -> Forecast:
    """The day's prices as they were to be expected when the history ended, with the spread of past errors.

    `history` may reach beyond the day: only what was before it is looked at.
    """
    known = history.until(day).last(HISTORY_DAYS)
    ahead = (day - known.end).days + 1
    if not len(known) or ahead > MOST_DAYS_AHEAD:
        raise ValueError(f"No prices from {known.end} on, {ahead - 1} days before the day forecast.")
    view = _View(known)
    hours = view.combined(ahead)[-1]
    shape = _QuarterShape(known)
    middle = shape.quarters(hours)
    low, high = view.errors(QUANTILES)
    widened = np.sqrt(ahead)
    quarter_low, quarter_high = shape.errors(QUANTILES)
    p10 = middle + widened * np.minimum(np.repeat(low, 4) - quarter_low, 0.0)
    p90 = middle + widened * np.maximum(np.repeat(high, 4) + quarter_high, 0.0)
    return Forecast(day, known.end, unfold(p10, day), unfold(middle, day), unfold(p90, day))


class _View:
    """What one history says of the days after it: the regressions fitted, the means by type of day."""

    def __init__(self, history: DayTable, fit: Fit | None = None) -> None:
        history = history.last(HISTORY_DAYS)
        self._hours = history.hours
        self._count = len(history)
        self._types, self._weekdays = day_kinds(history.first, self._count + MOST_DAYS_AHEAD)
        self._fitted: list[tuple[Floats, Floats]] = []
        self.fit = fit or self._fit_to(history.end)
        if self.fit.weights:
            self._scaled = np.arcsinh((self._hours - self.fit.middle) / self.fit.spread)

    def _fit_to(self, until: date) -> Fit:
        if self._count - max(_LAGS) < LEAST_DAYS_FITTED:
            return Fit(until, 0.0, 1.0, ())
        middle = float(np.median(self._hours))
        spread = max(1.4826 * float(np.median(np.abs(self._hours - middle))), 1e-6)
        scaled = np.arcsinh((self._hours - middle) / spread)
        rows = np.arange(max(_LAGS), self._count)
        design, target = self._build_design(scaled, rows), scaled[rows]
        recent = max(0, len(rows) - SHORT_WINDOW)
        older, newer = design[:recent], design[recent:]
        square, mixed = newer.T @ newer, newer.T @ target[recent:]
        sums = [(square, mixed, newer)]
        if recent:
            sums.append((square + older.T @ older, mixed + older.T @ target[:recent], design))
        weights: list[Floats] = []
        for square_sum, mixed_sum, rows_fitted in sums:
            square_sum[np.diag_indices_from(square_sum)] += _RIDGE
            weights.append(np.asarray(np.linalg.solve(square_sum, mixed_sum), dtype=np.float64))
            self._fitted.append((square_sum, rows_fitted))
        return Fit(until, middle, spread, tuple(weights))

    def _build_design(self, scaled: Floats, rows: Ints) -> Floats:
        lagged = [scaled[rows - lag] for lag in _LAGS]
        weekday = np.zeros((len(rows), 8))
        weekday[np.arange(len(rows)), self._weekdays[rows]] = 1.0
        weekday[:, 7] = 1.0
        return np.concatenate([*lagged, weekday], axis=1)

    def combined(self, days: int) -> list[Floats]:
        """24 hours for each of the days after the history."""
        regressed = [self._continue_days(weights, days) for weights in self.fit.weights]
        answered = []
        for ahead in range(days):
            views = [hours[ahead] for hours in regressed] or []
            if len(views) == 1:
                views = views * 2  # one window so far: it stands for both
            answered.append(np.mean([*views, self._mean_of_type(self._count + ahead, self._count)], axis=0))
        return answered

    def _continue_days(self, weights: Floats, days: int) -> list[Floats]:
        """Day after day, each taking the one before as if it had come true."""
        scaled = np.concatenate([self._scaled[-max(_LAGS) :], np.zeros((days, 24))])
        shown = []
        for ahead in range(days):
            place = max(_LAGS) + ahead
            lagged = [scaled[place - lag] for lag in _LAGS]
            weekday = np.zeros(8)
            weekday[[self._weekdays[self._count + ahead], 7]] = 1.0
            scaled[place] = np.concatenate([*lagged, weekday]) @ weights
            shown.append(np.sinh(np.clip(scaled[place], -12, 12)) * self.fit.spread + self.fit.middle)
        return shown

    def _mean_of_type(self, place: int, until: int) -> Floats:
        """The mean of the last days of the place's type before `until`; of all days where the type is missing."""
        first = max(0, until - _DAYS_OF_A_TYPE_FOR)
        same = first + np.flatnonzero(self._types[first:until] == self._types[place])
        if not len(same):
            same = np.arange(first, until)
        weights = 0.5 ** (np.arange(len(same))[::-1] / _HALF_LIFE_DAYS)
        return np.asarray(weights @ self._hours[same] / weights.sum())

    def errors(self, quantiles: tuple[float, float]) -> tuple[Floats, Floats]:
        """By hour, quantiles of what recent days deviated by from a view that had not seen them.

        A regression's own residual, divided by one less its leverage, is the error that it would have made without
        that day; each hour takes its neighbours' errors in, and both sides have the middle's own error taken out.
        """
        first = max(_LAGS) if self._fitted else 1
        days = np.arange(max(first, self._count - _ERROR_DAYS), self._count)
        if not len(days):
            spread = 0.3 * np.abs(self._hours).mean(axis=0)
            return -spread, spread
        views = [np.array([self._mean_of_type(day, day) for day in days.tolist()])]
        if self._fitted:
            left_out = [
                self._left_out(weights, fitted, len(days))
                for weights, fitted in zip(self.fit.weights, self._fitted, strict=True)
            ]
            views += left_out * (2 if len(left_out) == 1 else 1)
        error = self._hours[days] - np.mean(views, axis=0)
        around = np.concatenate([np.roll(error, 1, axis=1), error, np.roll(error, -1, axis=1)])
        low, high = np.quantile(around, quantiles, axis=0)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def _left_out(self, weights: Floats, fitted: tuple[Floats, Floats], days: int) -> Floats:
        square, design = fitted
        rows = design[-days:]
        leverage = np.einsum("ij,ij->i", rows, np.linalg.solve(square, rows.T).T)
        target = self._scaled[-days:]
        error = (target - rows @ weights) / (1 - np.minimum(leverage, 0.9))[:, None]
        return np.asarray(np.sinh(np.clip(target - error, -12, 12)) * self.fit.spread + self.fit.middle)


class _QuarterShape:
    """How the quarters of an hour lie about its mean: by the slope to the hours beside it, as in recent days.

    Where all prices were hourly the quarters are equal.
    """

    def __init__(self, history: DayTable) -> None:
        recent = history.last(_SHAPE_DAYS)
        self._quartered: Bools = ~recent.is_hourly
        self._hours = recent.hours[self._quartered]
        self._apart = recent.quarters[self._quartered].reshape(-1, 24, 4) - self._hours[:, :, None]
        slopes = _find_slopes(self._hours)
        prior = np.tile(_SHAPE_PRIOR * _CENTRES / 2, (2, 1))
        square = np.einsum("dhi,dhj->hij", slopes, slopes) + _SHAPE_RIDGE * np.eye(2)
        mixed = np.einsum("dhi,dhq->hiq", slopes, self._apart) + _SHAPE_RIDGE * prior
        self._weights = np.linalg.solve(square, mixed)

    def quarters(self, hours: Floats) -> Floats:
        if not self._quartered.any():
            return np.repeat(hours, 4)
        return np.asarray(hours[:, None] + self._predict_hours(hours[None])[0]).ravel()

    def _predict_hours(self, hours: Floats) -> Floats:
        shape = np.einsum("dhi,hiq->dhq", _find_slopes(hours), self._weights)
        return np.asarray(shape - shape.mean(axis=2, keepdims=True))

    def errors(self, quantiles: tuple[float, float]) -> tuple[Floats, Floats]:
        """What the quarters add to the spread of their hour: less than their own, since the two are independent."""
        if not self._quartered.any():
            return np.zeros(96), np.zeros(96)
        apart = (self._apart - self._predict_hours(self._hours)).reshape(len(self._hours), 96)
        low, high = np.quantile(apart, quantiles, axis=0)
        return np.maximum(-low, 0.0) / 3, np.maximum(high, 0.0) / 3


def _find_slopes(hours: Floats) -> Floats:
    """The steps from the hour before and to the hour after, per day and hour."""
    padded = np.concatenate([hours[:, :1], hours, hours[:, -1:]], axis=1)
    return np.asarray(np.stack([padded[:, 1:-1] - padded[:, :-2], padded[:, 2:] - padded[:, 1:-1]], axis=2))
