"""The line AVAILABILITY: unavailable capacity is not paid for, from owners whose batteries fell short to the holder.

Per quarter-hour `missing × paid`, where paid is the auction's price ÷ the quarter-hours of its window + tolls accrued,
split by share × shortfall of the batteries.

The line SUBSTITUTION: what other batteries of the zone gave instead is paid to their owners out of that, and the holder
is paid the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.delivery.failures.store import FailureSeries
from gridloom.market_calendar import PERIOD_S
from gridloom.revenue.accruals import auction_sums, tolling_sums
from gridloom.revenue.model import AuctionResult, RatedPowerSteps, ReportBuckets, Toll
from gridloom.settlements.period_aggregates import FloatArray
from gridloom.virtual_assets.backing.shortfall import Shortfalls


@dataclass(frozen=True, slots=True)
class Paid:
    """The payments for a virtual asset: its auction and tolls on it."""

    auction: AuctionResult | None
    tolls: Sequence[Toll]
    rating: RatedPowerSteps | None

    @property
    def is_priced(self) -> bool:
        return self.auction is not None or bool(self.tolls)

    def by_period(self, key: int, first: int, end: int) -> FloatArray:
        """EUR for each of the periods `first` up to but not `end`."""
        starts_s = np.arange(first, end, dtype=np.float64) * PERIOD_S
        buckets = ReportBuckets(np.arange(first, end), starts_s, starts_s + PERIOD_S)
        total_eur = np.zeros(end - first)
        if self.rating is None:
            return total_eur
        ratings, weights = {key: self.rating}, {key: 1.0}
        if self.tolls:
            total_eur += tolling_sums(self.tolls, ratings, weights, buckets)["tolling_revenue_eur"]
        if self.auction is not None:
            total_eur += auction_sums([self.auction], ratings, weights, buckets)["vba_revenue_eur"]
        return total_eur


def find_substituted_eur(owed_eur: FloatArray, failures: FailureSeries) -> dict[int, FloatArray]:
    """By battery that stood in, its part of what a failed battery's owner owes: taken over ÷ shortfall, per period."""
    part = np.divide(1.0, failures.short_kw, out=np.zeros_like(owed_eur), where=failures.short_kw > 0)
    return {helper: owed_eur * np.minimum(power_kw * part, 1.0) for helper, power_kw in failures.taken_over_kw.items()}


def split_owed_eur(shortfalls: Shortfalls, paid_eur: FloatArray) -> dict[int, FloatArray]:
    """By battery, what its owner owes the holder for each of the periods; only batteries that fell short.

    paid_eur: by period of the shortfalls.
    """
    weights = sum(shortfalls.by_battery.values(), np.zeros(len(paid_eur)))
    owed_eur = shortfalls.missing * paid_eur
    return {
        key: owed_eur * np.divide(short, weights, out=np.zeros(len(paid_eur)), where=weights > 0)
        for key, short in shortfalls.by_battery.items()
    }
