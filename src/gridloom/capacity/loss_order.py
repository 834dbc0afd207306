"""Who loses when less is there than was taken: first what is free, then the own schedule, then bids without a result,
then promises, open auctions and accepted capacity alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.capacity.availability import RatingsAndOutages
from gridloom.capacity.book import CapacityBook
from gridloom.capacity.model import TOLERANCE, Floats, Holding
from gridloom.kernel.market_time import period_start


@dataclass(frozen=True, slots=True, eq=False)
class Shortfall:
    """In each step and column of a book, how much of its holders' capacity is not there."""

    own: Floats
    waiting: Floats
    firm: Floats


def shortfall(book: CapacityBook) -> Shortfall:
    missing = book.missing
    own = np.minimum(missing, book.own)
    waiting = np.minimum(missing - own, book.waiting)
    return Shortfall(own, waiting, missing - own - waiting)


def firm_coverage(book: CapacityBook) -> Floats:
    """Which part of its firm holdings a battery keeps, 0 to 1: they shrink alike to `available ÷ firm`."""
    kept = np.ones_like(book.available)
    firm = book.firm
    np.divide(book.available, firm, out=kept, where=firm > book.available + TOLERANCE)
    return kept


def precheck_covered(ratings_and_outages: RatingsAndOutages, holdings: Sequence[Holding], first: int) -> bool:
    """Precheck whether a battery has all that these hold of it from the period `first` on; conservative.

    It has where one rating holds throughout, nothing is out, and all holdings together fit at once.
    """
    if ratings_and_outages.outages or len(ratings_and_outages.ratings) != 1:
        return False
    [rating] = ratings_and_outages.ratings
    if rating.valid_from > period_start(first):
        return False
    charge_kw = discharge_kw = energy_kwh = 0.0
    for one in holdings:
        losses = one.losses
        if losses is None:
            charge_kw += one.charge_kw
            energy_kwh += one.energy_kwh / rating.usable_share
        else:
            charge_kw += one.charge_kw * max(1.0, losses.charge / rating.charge_efficiency)
            weight = max(1.0, losses.discharge / rating.discharge_efficiency)
            energy_kwh += one.energy_kwh * weight / rating.usable_share
        discharge_kw += one.discharge_kw
    return (
        charge_kw <= rating.charge_power_kw
        and discharge_kw <= rating.discharge_power_kw
        and energy_kwh <= rating.energy_kwh
    )


def pending_coverage(book: CapacityBook) -> Floats:
    """Which part of the bids without a result is covered, once the firm holdings have theirs."""
    kept = np.ones_like(book.available)
    left = np.maximum(book.available - book.firm, 0.0)
    waiting = book.waiting
    np.divide(left, waiting, out=kept, where=waiting > left + TOLERANCE)
    return kept


def own_schedule_limit(book: CapacityBook) -> Floats:
    """The limit of the own schedule."""
    return np.maximum(book.available - book.firm - book.waiting, 0.0)
