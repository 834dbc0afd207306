"""The available fraction of a virtual asset by what was announced in time: before 12:00 market time of the day before.

Its holder can trade around such unavailabilities and lower ratings, and bears them; all others are the owners'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np

from gridloom.capacity.availability import CapacityOutage, Rating
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_firm_capacity
from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, period_start
from gridloom.market_calendar import market_day_periods
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction, available_fraction
from gridloom.virtual_assets.backing.store import (
    RecordedOutage,
    RecordedRating,
    read_recorded_outages,
    read_recorded_ratings,
)
from gridloom.virtual_assets.model import Promise, VirtualAsset


def announced_before(day: date) -> datetime:
    """The latest instant to announce an unavailability of a market day."""
    return datetime.combine(day - timedelta(days=1), time(12), MARKET_ZONE)


async def load_announced(db: Database, asset: VirtualAsset, first: int, end: int) -> AvailableFraction:
    """In the periods [first, end), with announced unavailabilities and ratings alone."""
    if first >= end:
        return AvailableFraction.full(first, end)
    keys = [promise.physical_asset_key for promise in asset.promises]
    books = await load_firm_capacity(db, keys, first, end)
    outages = await read_recorded_outages(db, keys, period_start(first), period_start(end))
    ratings = await read_recorded_ratings(db, keys, period_start(end))
    return announced_fraction(asset.promises, books, outages, ratings, first, end)


def announced_fraction(
    promises: Sequence[Promise],
    books: Mapping[int, BatteryCapacity],
    outages: Sequence[RecordedOutage],
    ratings: Sequence[RecordedRating],
    first: int,
    end: int,
) -> AvailableFraction:
    """`books`, `outages` and `ratings` are those of the batteries, over these periods at least."""
    fractions = []
    for low, high, day in _split_days(first, end):
        until = announced_before(day)
        announced = {
            key: replace(
                book,
                ratings_and_outages=replace(book.ratings_and_outages, outages=_list_outages(outages, key, until)),
            )
            for key, book in books.items()
        }
        fraction = available_fraction(promises, announced, low, high)
        known = {key: _list_known_ratings(ratings, key, until) for key in books}
        if any(known.values()):
            before = {
                key: replace(book, ratings_and_outages=replace(book.ratings_and_outages, ratings=known[key]))
                if known[key]
                else book
                for key, book in announced.items()
            }
            fraction = _take_greater(fraction, available_fraction(promises, before, low, high))
        fractions.append(fraction)
    return AvailableFraction(
        first,
        np.concatenate([one.charge for one in fractions]),
        np.concatenate([one.discharge for one in fractions]),
        np.concatenate([one.energy for one in fractions]),
        is_full=all(one.is_full for one in fractions),
    )


def _take_greater(one: AvailableFraction, other: AvailableFraction) -> AvailableFraction:
    """In each period: a rating that is raised late is there all the same."""
    return AvailableFraction(
        one.first,
        np.maximum(one.charge, other.charge),
        np.maximum(one.discharge, other.discharge),
        np.maximum(one.energy, other.energy),
        is_full=one.is_full or other.is_full,
    )


def _split_days(first: int, end: int) -> list[tuple[int, int, date]]:
    """The periods [first, end) by market day."""
    found = []
    while first < end:
        day = market_day_of(period_start(first))
        stop = min(end, market_day_periods(day)[1])
        found.append((first, stop, day))
        first = stop
    return found


def _list_outages(outages: Sequence[RecordedOutage], key: int, until: datetime) -> list[CapacityOutage]:
    return [one.outage for one in outages if one.asset_key == key and one.recorded_at < until]


def _list_known_ratings(ratings: Sequence[RecordedRating], key: int, until: datetime) -> list[Rating]:
    """Of a battery that was rated anew too late, what it was rated before; empty where all was known in time. What it
    was made with counts as known."""
    own = [one for one in ratings if one.asset_key == key]
    known = {one.rating.valid_from: one.rating for one in own if one is own[0] or one.recorded_at < until}
    return [known[instant] for instant in sorted(known)] if any(one.recorded_at >= until for one in own[1:]) else []
