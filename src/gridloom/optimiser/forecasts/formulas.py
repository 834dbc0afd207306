"""Day-ahead prices of the days to come, from the prices of past days alone.

The mean of three views: two ridge regressions of all 24 hours on the prices of one, two, three and seven days before,
the weekday and the season (in the manner of LEAR, fitted to 364 and 728 days), and a mean of recent days of the same
type whose weights fade.
What is planned on it matters, not its error; see docs/optimiser.md for what it earns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np

from gridloom.optimiser.day_table import QUARTERS, DayTable, from_96_quarters
from gridloom.optimiser.forecasts.holidays import day_kinds
from gridloom.optimiser.solving.programme import Bools, Floats, Ints

LONG_WINDOW, SHORT_WINDOW = 728, 364
MIN_DAYS_FITTED: Final = 56
"""With fewer days a regression on a hundred prices says nothing that the mean does not."""
MAX_DAYS_AHEAD: Final = 14
_LAGS: Final = (1, 2, 3, 7)
_RIDGE: Final = 30.0
_YEAR_DAYS: Final = 365.2425
_SEASON_SCALE: Final = 3.0  # as large as prices become in winter: the ridge should not flatten the year
_DAYS_FITTED_FOR: Final = 7
_DAYS_OF_A_TYPE_FOR: Final = 120
_HALF_LIFE_DAYS: Final = 1.5  # of days of the type
_FADING: Final = 0.5 ** (np.arange(_DAYS_OF_A_TYPE_FOR) / _HALF_LIFE_DAYS)
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
    """Forecasts for one day after the other that are fitted anew once a week: a fraction of the work.

    All days of a week are forecast together, each from the days before it alone.
    """

    def __init__(self, table: DayTable) -> None:
        self._table = table
        self._hours = table.hours
        self._types, self._calendar = _describe_days(table.first, len(table) + MAX_DAYS_AHEAD)
        self._first = -_DAYS_FITTED_FOR
        self._week: Floats = np.zeros((0, 2, QUARTERS))

    def forecast(self, index: int) -> Floats:
        """The forecast from the days before this index of the table for its day and the next, 96 quarter-hours each."""
        if not 0 <= index - self._first < len(self._week):
            self._first, self._week = index, self._forecast_week(index)
        return np.asarray(self._week[index - self._first])

    def _forecast_week(self, index: int) -> Floats:
        history = self._table.until(self._table.first + timedelta(days=index))
        start = max(0, index - HISTORY_DAYS)
        fit = _ForecastModel(history, hours=self._hours[start:index]).fit
        end = min(index + _DAYS_FITTED_FOR, max(len(self._table), index + 1))
        past = _PriceHistory(self._hours[:end], self._types, self._calendar)
        hours = past.continue_days(np.arange(index, end), 2, fit)
        return _QuarterShape(history).quarters(hours)


def forecast_days(history: DayTable, days: int) -> list[Floats]:
    """The expected prices of the days after the history, 96 quarter-hours each."""
    view = _ForecastModel(history)
    shape = _QuarterShape(history)
    return list(shape.quarters(view.combined(days)))


def forecast_day(history: DayTable, day: date) -> Forecast:
    """The day's prices as they were to be expected when the history ended, with the spread of past errors.

    `history` may reach beyond the day: only what was before it is looked at.
    """
    known = history.until(day).last(HISTORY_DAYS)
    ahead = (day - known.end).days + 1
    if not len(known) or ahead > MAX_DAYS_AHEAD:
        raise ValueError(f"No prices from {known.end} on, {ahead - 1} days before the day forecast.")
    view = _ForecastModel(known)
    hours = view.combined(ahead)[-1]
    shape = _QuarterShape(known)
    middle = shape.quarters(hours)
    low, high = view.errors(QUANTILES)
    widened = np.sqrt(ahead)
    quarter_low, quarter_high = shape.errors(QUANTILES)
    p10 = middle + widened * np.minimum(np.repeat(low, 4) - quarter_low, 0.0)
    p90 = middle + widened * np.maximum(np.repeat(high, 4) + quarter_high, 0.0)
    return Forecast(
        day, known.end, from_96_quarters(p10, day), from_96_quarters(middle, day), from_96_quarters(p90, day)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _PriceHistory:
    """Hours of past days, and what the calendar says of these days and of those that follow."""

    hours: Floats
    types: Ints
    calendar: Floats

    def continue_days(self, origins: Ints, days: int, fit: Fit) -> Floats:
        """For each origin the 24 hours of so many days from it on, made of the days before it and of no others."""
        indices = origins[:, None] + np.arange(days)
        views = self.mean_of_type(indices, np.repeat(origins[:, None], days, axis=1))
        if not fit.weights:
            return views
        regressed = self._regress_days(origins, days, fit)
        # Where there is but one window so far, it serves for both.
        return np.asarray((2 * regressed.mean(axis=0) + views) / 3)

    def _regress_days(self, origins: Ints, days: int, fit: Fit) -> Floats:
        """By window, origin and day: each day takes those before it as if they had come true."""
        weights, back = np.stack(fit.weights), max(_LAGS)
        scaled = np.zeros((len(weights), len(origins), back + days, 24))
        known = self.hours[origins[:, None] + np.arange(-back, 0)]
        scaled[:, :, :back] = np.arcsinh((known - fit.middle) / fit.spread)
        for ahead in range(days):
            lagged = [scaled[:, :, back + ahead - lag] for lag in _LAGS]
            calendar = np.broadcast_to(self.calendar[origins + ahead], (len(weights), len(origins), _CALENDAR_WIDTH))
            scaled[:, :, back + ahead] = np.concatenate([*lagged, calendar], axis=2) @ weights
        return np.asarray(np.sinh(np.clip(scaled[:, :, back:], -12, 12)) * fit.spread + fit.middle)

    def mean_of_type(self, indices: Ints, until: Ints) -> Floats:
        """For each index the mean of the last days of its type before `until`; of all days where there are none."""
        first = max(0, int(until.min()) - _DAYS_OF_A_TYPE_FOR)
        days = np.arange(first, int(until.max()))
        until = until[..., None]
        recent = (days < until) & (days >= until - _DAYS_OF_A_TYPE_FOR)
        same = recent & (self.types[days] == self.types[indices][..., None])
        same = np.where(same.any(axis=-1, keepdims=True), same, recent)
        after = np.cumsum(same[..., ::-1], axis=-1)[..., ::-1] - 1
        weights = same * _FADING[after]
        return np.asarray(weights @ self.hours[days] / weights.sum(axis=-1, keepdims=True))


class _ForecastModel:
    """The model fitted to one history: the regressions fitted, the means by type of day."""

    def __init__(self, history: DayTable, *, hours: Floats | None = None) -> None:
        history = history.last(HISTORY_DAYS)
        self._hours = history.hours if hours is None else hours
        self._count = len(history)
        self._past = _PriceHistory(self._hours, *_describe_days(history.first, self._count + MAX_DAYS_AHEAD))
        self._fitted: list[tuple[Floats, Floats]] = []
        self.fit = self._fit_to(history.end)

    def _fit_to(self, until: date) -> Fit:
        if self._count - max(_LAGS) < MIN_DAYS_FITTED:
            return Fit(until, 0.0, 1.0, ())
        middle = _find_median(self._hours)
        spread = max(1.4826 * _find_median(np.abs(self._hours - middle)), 1e-6)
        self._scaled = np.arcsinh((self._hours - middle) / spread)
        design, target = self._build_design(), self._scaled[max(_LAGS) :]
        recent = max(0, len(design) - SHORT_WINDOW)
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

    def _build_design(self) -> Floats:
        """For each day with all its lags: their prices, and what the calendar says."""
        back = max(_LAGS)
        lagged = [self._scaled[back - lag : self._count - lag] for lag in _LAGS]
        return np.concatenate([*lagged, self._past.calendar[back : self._count]], axis=1)

    def combined(self, days: int) -> Floats:
        """24 hours for each of the days after the history."""
        return np.asarray(self._past.continue_days(np.array([self._count]), days, self.fit)[0])

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
        views = [self._past.mean_of_type(days, days)]
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


_CALENDAR_WIDTH: Final = 10


def _describe_days(first: date, count: int) -> tuple[Ints, Floats]:
    """Of so many days their types, and for regressions the weekday, the turn of the year and one, day by day."""
    types, weekdays = day_kinds(first, count)
    turn = (first.toordinal() + np.arange(count)) * (2 * np.pi / _YEAR_DAYS)
    season = _SEASON_SCALE * np.stack([np.sin(turn), np.cos(turn)], axis=1)
    return types, np.concatenate([weekdays[:, None] == np.arange(7), season, np.ones((count, 1))], axis=1)


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
        """96 quarters for the 24 hours of each day (in the last axis)."""
        if not self._quartered.any():
            return np.repeat(hours, 4, axis=-1)
        by_day = hours.reshape(-1, 24)
        return np.asarray(by_day[:, :, None] + self._predict_hours(by_day)).reshape(*hours.shape[:-1], QUARTERS)

    def _predict_hours(self, hours: Floats) -> Floats:
        shape = np.einsum("dhi,hiq->dhq", _find_slopes(hours), self._weights)
        return np.asarray(shape - shape.mean(axis=2, keepdims=True))

    def errors(self, quantiles: tuple[float, float]) -> tuple[Floats, Floats]:
        """The quarters' addition to the spread of their hour: less than their own, since the two are independent."""
        if not self._quartered.any():
            return np.zeros(96), np.zeros(96)
        apart = (self._apart - self._predict_hours(self._hours)).reshape(len(self._hours), 96)
        low, high = np.quantile(apart, quantiles, axis=0)
        return np.maximum(-low, 0.0) / 3, np.maximum(high, 0.0) / 3


def _find_slopes(hours: Floats) -> Floats:
    """The steps from the hour before and to the hour after, per day and hour."""
    padded = np.concatenate([hours[:, :1], hours, hours[:, -1:]], axis=1)
    steps = np.diff(padded, axis=1)
    return np.stack([steps[:, :-1], steps[:, 1:]], axis=2)


def _find_median(values: Floats) -> float:
    """numpy's own takes four times as long on a thousand days: it looks for missing values too."""
    flat, middle = values.ravel(), values.size // 2
    parted = np.partition(flat, (middle - 1, middle))
    return float(parted[middle]) if values.size % 2 else float(parted[middle - 1 : middle + 1].mean())
