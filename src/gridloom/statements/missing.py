"""What a month lacks before it can be issued: prices, settlements of awards, final dispatch, measurements."""

from __future__ import annotations

from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Final
from uuid import UUID

import numpy as np
from msgspec import UNSET, Meta, UnsetType

from gridloom.database.pool import Database
from gridloom.delivery.performance.performance import load_measurements
from gridloom.delivery.performance.recording import read_recorded
from gridloom.delivery.performance.store import read_measured_days, read_unrecorded_days
from gridloom.delivery.zone_store import read_final_until
from gridloom.edge import ResponseBody
from gridloom.kernel.market_time import market_days_in, period_number, period_number_from
from gridloom.kernel.window import Window
from gridloom.market_calendar import market_day_periods
from gridloom.reference_prices.store import read_period_prices
from gridloom.statements import missing_store
from gridloom.statements.model import Month

MIN_MEASURED_SHARE: Final = 0.95
MAX_LISTED: Final = 1000


class GapKind(StrEnum):
    IMBALANCE_PRICE = "IMBALANCE_PRICE"
    DAY_AHEAD_PRICE = "DAY_AHEAD_PRICE"
    SETTLEMENT = "SETTLEMENT"
    DISPATCH = "DISPATCH"
    MEASUREMENT = "MEASUREMENT"


_PRICED: Final = ((GapKind.IMBALANCE_PRICE, "REBAP_DE"), (GapKind.DAY_AHEAD_PRICE, "DAY_AHEAD_DE_LU"))


class Gap(ResponseBody):
    """A fact of the month that is not there."""

    kind: GapKind
    day: Annotated[date, Meta(description="The market day whose prices or settlement lack")] | UnsetType = UNSET
    periods: (
        Annotated[int, Meta(description="Quarter-hours without a price, or without a final dispatch")] | UnsetType
    ) = UNSET
    physical_asset_id: Annotated[UUID, Meta(description="Measured too little")] | UnsetType = UNSET
    asset_id: Annotated[UUID, Meta(description="With an award that is not settled")] | UnsetType = UNSET
    product: str | UnsetType = UNSET
    delivery_zone: str | UnsetType = UNSET
    measured_share: Annotated[float, Meta(description="0 to 1; at least 0.95 is needed")] | UnsetType = UNSET


async def find_gaps(db: Database, month: Month) -> list[Gap]:
    """All of them, up to a thousand."""
    gaps = [
        *await _find_missing_prices(db, month),
        *await _find_unsettled(db, month),
        *await _find_undispatched(db, month),
        *await _find_unmeasured(db, month),
    ]
    return gaps[:MAX_LISTED]


async def _find_missing_prices(db: Database, month: Month) -> list[Gap]:
    gaps = []
    first, end = period_number(month.window.start), period_number(month.window.end)
    for kind, series in _PRICED:
        is_missing = np.isnan(await read_period_prices(db, series, first, end))
        for place in range(month.day_count):
            day = month.first_day + timedelta(days=place)
            day_first, day_end = market_day_periods(day)
            count = int(is_missing[day_first - first : day_end - first].sum())
            if count:
                gaps.append(Gap(kind=kind, day=day, periods=count))
    return gaps


async def _find_unsettled(db: Database, month: Month) -> list[Gap]:
    return [
        Gap(kind=GapKind.SETTLEMENT, day=award.delivery_day, asset_id=award.asset_id, product=award.product)
        for award in await missing_store.list_unsettled_awards(db, month)
    ]


async def _find_undispatched(db: Database, month: Month) -> list[Gap]:
    """Zones whose dispatch is not final for as long as virtual assets live in them."""
    final = await read_final_until(db)
    gaps = []
    for life in await missing_store.list_zone_lives(db, month):
        first, end = period_number(life.start), period_number_from(life.end)
        open_periods = end - max(first, min(end, final.get(life.delivery_zone, first)))
        if open_periods > 0:
            gaps.append(Gap(kind=GapKind.DISPATCH, delivery_zone=life.delivery_zone, periods=open_periods))
    return gaps


async def _find_unmeasured(db: Database, month: Month) -> list[Gap]:
    """Batteries that were measured for less than 95 % of the time in which they stood behind virtual assets."""
    lives = await missing_store.list_backed_lives(db, month)
    ids = await missing_store.read_ids(db, [life.asset_key for life in lives])
    gaps = []
    for life in lives:
        share = await read_measured_share(db, life)
        if share < MIN_MEASURED_SHARE:
            gaps.append(
                Gap(
                    kind=GapKind.MEASUREMENT,
                    physical_asset_id=ids[life.asset_key],
                    measured_share=round(share, 6),
                )
            )
    return gaps


async def read_measured_share(db: Database, life: missing_store.BackedLife) -> float:
    """From what is recorded; days that are not, or wait to be, from telemetry itself."""
    first, end = period_number(life.start), period_number_from(life.end)
    days = list(market_days_in(Window(life.start, life.end)))
    share = (await read_recorded(db, life.asset_key, first, end, days, None)).active_kw.share
    recorded = await read_measured_days(db, life.asset_key, days[0], days[-1])
    waiting = set(await read_unrecorded_days(db, life.asset_key, days[0], days[-1]))
    for day in days:
        if day in waiting or day not in recorded:
            low, high = (min(max(edge, first), end) for edge in market_day_periods(day))
            share[low - first : high - first] = (await load_measurements(db, life.asset_key, low, high)).active_kw.share
    return float(share.mean()) if len(share) else 1.0
