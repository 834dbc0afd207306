"""The available fraction of a virtual asset by what was announced in time: before 12:00 market time of the day before.

Its holder can trade around such unavailabilities, and bears them; all others are the owners'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np

from gridloom.capacity.availability import CapacityOutage
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_firm_capacity
from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, period_start
from gridloom.market_calendar import market_day_periods
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction, available_fraction
from gridloom.virtual_assets.backing.store import RecordedOutage, read_recorded_outages
from gridloom.virtual_assets.model import Promise, VirtualAsset


def announced_before(day: date) -> datetime:
    """The latest instant to announce an unavailability of a market day."""
    return datetime.combine(day - timedelta(days=1), time(12), MARKET_ZONE)


async def load_announced(db: Database, asset: VirtualAsset, first: int, end: int) -> AvailableFraction:
    """In the periods [first, end), with announced unavailabilities alone."""
    if first >= end:
        return AvailableFraction.full(first, end)
    keys = [promise.physical_asset_key for promise in asset.promises]
    books = await load_firm_capacity(db, keys, first, end)
    outages = await read_recorded_outages(db, keys, period_start(first), period_start(end))
    return announced_fraction(asset.promises, books, outages, first, end)


def announced_fraction(
    promises: Sequence[Promise],
    books: Mapping[int, BatteryCapacity],
    outages: Sequence[RecordedOutage],
    first: int,
    end: int,
) -> AvailableFraction:
    """`books` and `outages` are those of the batteries, over these periods at least."""
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
        fractions.append(available_fraction(promises, announced, low, high))
    return AvailableFraction(
        first,
        np.concatenate([one.charge for one in fractions]),
        np.concatenate([one.discharge for one in fractions]),
        np.concatenate([one.energy for one in fractions]),
        is_full=all(one.is_full for one in fractions),
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
