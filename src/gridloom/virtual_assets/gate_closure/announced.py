"""What was announced in time: unavailabilities recorded before 12:00 market time of the day before delivery.

Cuts that follow from them are the holder's to trade around; every other cut is the owners' imbalance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np

from gridloom.capacity.availability import CapacityOutage
from gridloom.capacity.store import load_firm_capacity
from gridloom.database.pool import Database
from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, period_start
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.virtual_assets.backing.availability import AvailableFraction, available_fraction
from gridloom.virtual_assets.backing.store import RecordedOutage, read_recorded_outages
from gridloom.virtual_assets.energy.projection_input import load_projection_input
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason, VirtualAsset


def announced_before(day: date) -> datetime:
    """Until when an unavailability of a market day is announced in time."""
    return datetime.combine(day - timedelta(days=1), time(12), MARKET_ZONE)


async def with_announced(
    db: Database, asset: VirtualAsset, adjustments: Sequence[Adjustment], *, own_cycles: bool
) -> list[Adjustment]:
    """The adjustments with what is left of each by announced unavailabilities alone.

    `own_cycles`: a cut by CYCLE_LIMIT is by the virtual asset's own limit, which its holder knows beforehand.
    """
    if not adjustments:
        return []
    first, end = adjustments[0].period, adjustments[-1].period + 1
    charge_kw, discharge_kw = await _load_announced_limits_kw(db, asset, first, end)
    found = []
    for one in adjustments:
        index = one.period - first
        left_kw = min(max(one.accepted_kw, -charge_kw[index]), discharge_kw[index])
        if (own_cycles and one.reason is AdjustmentReason.CYCLE_LIMIT) or abs(left_kw) < abs(one.adjusted_kw):
            left_kw = one.adjusted_kw
        found.append(replace(one, announced_kw=left_kw))
    return found


async def _load_announced_limits_kw(db: Database, asset: VirtualAsset, first: int, end: int) -> tuple[Floats, Floats]:
    """What the asset's wholesale blocks could import and export if only what was announced in time were missing."""
    available = await _load_announced(db, asset, first, end)
    _, standing = await load_projection_input(db, asset, first, end, available=available)
    return standing.charge_kw.sum(axis=0), standing.discharge_kw.sum(axis=0)


async def _load_announced(db: Database, asset: VirtualAsset, first: int, end: int) -> AvailableFraction:
    keys = [promise.physical_asset_key for promise in asset.promises]
    books = await load_firm_capacity(db, keys, first, end)
    outages = await read_recorded_outages(db, keys, period_start(first), period_start(end))
    parts = []
    for low, high, day in _split_days(first, end):
        until = announced_before(day)
        announced = {
            key: replace(
                book,
                ratings_and_outages=replace(book.ratings_and_outages, outages=_list_outages(outages, key, until)),
            )
            for key, book in books.items()
        }
        parts.append(available_fraction(asset.promises, announced, low, high))
    return AvailableFraction(
        first,
        np.concatenate([part.charge for part in parts]),
        np.concatenate([part.discharge for part in parts]),
        np.concatenate([part.energy for part in parts]),
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
