"""Inputs that a month lacks before it can be issued: prices, settlements of awards, final dispatch, measurements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

import numpy as np
from msgspec import UNSET, UnsetType

from gridloom.delivery.performance.performance import load_measurements
from gridloom.delivery.zone_store import read_final_until
from gridloom.kernel.market_time import period_number, period_number_from
from gridloom.market_calendar import market_day_periods
from gridloom.platform.database.pool import Database
from gridloom.platform.http import ResponseBody
from gridloom.reference_prices.store import read_period_prices
from gridloom.statements import missing_store
from gridloom.statements.model import Month

MIN_MEASURED_SHARE: Final = 0.95
MAX_LISTED: Final = 1000


class MissingFactKind(StrEnum):
    IMBALANCE_PRICE = "IMBALANCE_PRICE"
    DAY_AHEAD_PRICE = "DAY_AHEAD_PRICE"
    SETTLEMENT = "SETTLEMENT"
    DISPATCH = "DISPATCH"
    MEASUREMENT = "MEASUREMENT"
    UNRESERVED = "UNRESERVED"


_PRICED: Final = ((MissingFactKind.IMBALANCE_PRICE, "REBAP_DE"), (MissingFactKind.DAY_AHEAD_PRICE, "DAY_AHEAD_DE_LU"))


class MissingFact(ResponseBody):
    """A fact of the month that is not there."""

    kind: MissingFactKind
    day: date | UnsetType = UNSET
    periods: int | UnsetType = UNSET
    physical_asset_id: UUID | UnsetType = UNSET
    asset_id: UUID | UnsetType = UNSET
    product: str | UnsetType = UNSET
    delivery_zone: str | UnsetType = UNSET
    measured_share: float | UnsetType = UNSET
    unreserved: float | UnsetType = UNSET
    unreserved_energy: float | UnsetType = UNSET


async def find_gaps(db: Database, month: Month) -> list[MissingFact]:
    """All of them, up to a thousand."""
    gaps = [
        *await _find_missing_prices(db, month),
        *await _find_unsettled(db, month),
        *await _find_undispatched(db, month),
        *await _find_unmeasured(db, month),
        *await _find_unreserved(db, month),
    ]
    return gaps[:MAX_LISTED]


async def _find_missing_prices(db: Database, month: Month) -> list[MissingFact]:
    gaps = []
    first, end = period_number(month.window.start), period_number(month.window.end)
    for kind, series in _PRICED:
        is_missing = np.isnan(await read_period_prices(db, series, first, end))
        for index in range(month.day_count):
            day = month.first_day + timedelta(days=index)
            day_first, day_end = market_day_periods(day)
            count = int(is_missing[day_first - first : day_end - first].sum())
            if count:
                gaps.append(MissingFact(kind=kind, day=day, periods=count))
    return gaps


async def _find_unsettled(db: Database, month: Month) -> list[MissingFact]:
    return [
        MissingFact(
            kind=MissingFactKind.SETTLEMENT, day=award.delivery_day, asset_id=award.asset_id, product=award.product
        )
        for award in await missing_store.list_unsettled_awards(db, month)
    ]


async def _find_unreserved(db: Database, month: Month) -> list[MissingFact]:
    """Awards of virtual assets beyond their blocks of that market, and activations without a block or an award: nothing
    was held for them."""
    found = [
        MissingFact(
            kind=MissingFactKind.UNRESERVED,
            day=award.delivery_day,
            asset_id=award.asset_id,
            product=award.product,
            unreserved=round(award.capacity_mw, 6),
        )
        for award in await missing_store.list_unreserved_awards(db, month)
    ]
    found += [
        MissingFact(
            kind=MissingFactKind.UNRESERVED,
            day=one.day,
            asset_id=one.asset_id,
            product=one.market,
            periods=one.periods,
            unreserved_energy=round(one.volume_mwh, 6),
        )
        for one in await missing_store.list_unreserved_activations(db, month)
    ]
    return found


async def _find_undispatched(db: Database, month: Month) -> list[MissingFact]:
    """Zones whose dispatch is not final for as long as virtual assets live in them."""
    final = await read_final_until(db)
    gaps = []
    for life in await missing_store.list_zone_lives(db, month):
        first, end = period_number(life.start), period_number_from(life.end)
        open_periods = end - max(first, min(end, final.get(life.delivery_zone, first)))
        if open_periods > 0:
            gaps.append(
                MissingFact(kind=MissingFactKind.DISPATCH, delivery_zone=life.delivery_zone, periods=open_periods)
            )
    return gaps


async def _find_unmeasured(db: Database, month: Month) -> list[MissingFact]:
    """Batteries that were measured for less than 95 % of the time in which they stood behind virtual assets."""
    lives = await missing_store.list_backed_lives(db, month)
    ids = await missing_store.read_ids(db, [life.asset_key for life in lives])
    gaps = []
    for key, own in groupby(lives, key=attrgetter("asset_key")):
        share = await _read_mean_share(db, list(own))
        if share < MIN_MEASURED_SHARE:
            gaps.append(
                MissingFact(
                    kind=MissingFactKind.MEASUREMENT, physical_asset_id=ids[key], measured_share=round(share, 6)
                )
            )
    return gaps


async def _read_mean_share(db: Database, lives: Sequence[missing_store.BackedLife]) -> float:
    """Of the time of these lives together."""
    total = sum((life.end - life.start for life in lives), timedelta())
    return sum([await read_measured_share(db, life) * ((life.end - life.start) / total) for life in lives])


async def read_measured_share(db: Database, life: missing_store.BackedLife) -> float:
    """Of the time of this life."""
    first, end = period_number(life.start), period_number_from(life.end)
    share = (await load_measurements(db, life.asset_key, first, end)).active_kw.share
    return float(share.mean()) if len(share) else 1.0
