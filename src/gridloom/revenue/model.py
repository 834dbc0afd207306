"""The scope of a report: whose facts count, with which weight, over which rated power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.market_calendar import HOUR_S, Ints
from gridloom.revenue.formulas import FloatArray


@dataclass(frozen=True, slots=True)
class SecondsSpan:
    """A half-open span of time in whole or fractional seconds since 1970."""

    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class RatedPowerSteps:
    """The mean of rated charge and discharge power of one asset, as steps in time; the first holds from ever.

    life: outside it the power does not count; None for an asset without an end.
    """

    starts_s: FloatArray
    power_mw: FloatArray
    life: SecondsSpan | None = None

    def integral_mw_h(self, instants_s: FloatArray) -> FloatArray:
        """The integral of power from the first step to each instant, in MW·h."""
        since = np.searchsorted(self.starts_s, instants_s, side="right") - 1
        since = np.maximum(since, 0)
        steps = np.diff(self.starts_s) * self.power_mw[:-1]
        before = np.concatenate(([0.0], np.cumsum(steps)))
        return (before[since] + (instants_s - self.starts_s[since]) * self.power_mw[since]) / HOUR_S

    def mean_mw(self, starts_s: FloatArray, ends_s: FloatArray) -> FloatArray:
        """The time-weighted mean over each bucket."""
        if len(self.power_mw) == 1:
            return np.full(len(starts_s), self.power_mw[0])
        hours = (ends_s - starts_s) / HOUR_S
        return (self.integral_mw_h(ends_s) - self.integral_mw_h(starts_s)) / hours

    def in_service_fraction(self, span: SecondsSpan) -> SecondsSpan:
        """The part of a span within the asset's life; an empty one starts where it ends."""
        if self.life is None:
            return span
        start_s = max(span.start_s, self.life.start_s)
        return SecondsSpan(start_s, max(start_s, min(span.end_s, self.life.end_s)))

    def lived_mw(self, starts_s: FloatArray, ends_s: FloatArray) -> FloatArray:
        """The time-weighted mean over each bucket, nothing outside the asset's life."""
        power_mw = self.mean_mw(starts_s, ends_s)
        if self.life is None:
            return power_mw
        lived_s = np.minimum(ends_s, self.life.end_s) - np.maximum(starts_s, self.life.start_s)
        lived: FloatArray = np.maximum(lived_s, 0.0) / (ends_s - starts_s)
        return power_mw * lived


@dataclass(frozen=True, slots=True)
class Contribution:
    """An asset whose facts count in a report.

    weight: how much of them, the sum of its shares in what is reported.
    holders: in how many of the reported assets they appear. Hours and prices are not divided, so they count so often.
    """

    asset_key: int
    weight: float = 1.0
    holders: int = 1


@dataclass(frozen=True, slots=True)
class Subject:
    """The assets whose facts count, and those whose rated power divides the revenue."""

    name: str
    contributions: tuple[Contribution, ...]
    rated_keys: tuple[int, ...]

    @property
    def keys(self) -> tuple[int, ...]:
        return tuple(part.asset_key for part in self.contributions)


@dataclass(frozen=True, slots=True)
class Toll:
    """A tolling contract."""

    asset_key: int
    span: SecondsSpan
    annual_price_eur_mw: float


@dataclass(frozen=True, slots=True)
class AuctionResult:
    """The price that a virtual asset was won for, spread evenly over its delivery window."""

    asset_key: int
    span: SecondsSpan
    price_eur: float
    hurdle_price_eur: float | None


@dataclass(frozen=True, slots=True)
class ReportBuckets:
    """Consecutive or scattered buckets: their names and the parts of them that lie within the asked window."""

    labels_s: Ints
    starts_s: FloatArray
    ends_s: FloatArray

    def __len__(self) -> int:
        return len(self.labels_s)
