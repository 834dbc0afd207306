"""Euros into cents so that nothing is lost: whatever is cut into buckets or shares adds up to the whole again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridloom.market_calendar import Ints
from gridloom.revenue.statement.model import Cents
from gridloom.settlements.period_aggregates import FloatArray

_NOISE = 1e-6  # of a cent: what a product of doubles may lack


def cents_of(amount_eur: FloatArray) -> Cents:
    """The nearest cent."""
    return np.rint(np.round(100 * amount_eur, 6)).astype(np.int64)


def cents_by_period(amount_eur: FloatArray, day_offsets: Ints) -> Cents:
    """Cents of each period, such that every part of a market day from its start on is rounded once.

    day_offsets: where each day's periods start, and where the last one's end. A window of whole days is as exact as its
    days, whatever the buckets it is cut into.
    """
    running_eur = np.concatenate(([0.0], np.cumsum(amount_eur)))
    before_eur = np.repeat(running_eur[day_offsets[:-1]], np.diff(day_offsets))
    since_midnight = cents_of(running_eur[1:] - before_eur)
    period_cents = np.diff(since_midnight, prepend=0)
    first_of_day = day_offsets[:-1][np.diff(day_offsets) > 0]
    period_cents[first_of_day] = since_midnight[first_of_day]
    return period_cents


def split(total: Cents, shares: Sequence[float]) -> list[Cents]:
    """The parts of amounts by shares that sum to 1; what rounding leaves goes to the largest, the first of equals."""
    largest = int(np.argmax(shares))
    parts = [np.trunc(total * share + np.sign(total) * _NOISE).astype(np.int64) for share in shares]
    parts[largest] = total - sum((part for index, part in enumerate(parts) if index != largest), np.zeros_like(total))
    return parts
