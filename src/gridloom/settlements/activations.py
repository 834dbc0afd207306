"""Settled aFRR energy of an asset, propagated to cycle counts and stored energy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.units import KW_PER_MW
from gridloom.market_calendar import (
    PERIOD_S,
    PERIODS_PER_DAY,
    Floats,
    calendar_edges_s,
    day_number,
    day_start,
    first_period_of_utc_day,
    market_date,
    period_counts,
    utc_day_of,
)
from gridloom.platform.database.pool import Database
from gridloom.settlements import store
from gridloom.settlements.measures import POSITION, FactSource, positions_of
from gridloom.settlements.model import Touched
from gridloom.settlements.period_aggregates import decode_sheets
from gridloom.virtual_assets.schedule.change.apply import enqueue_revalidation
from gridloom.virtual_assets.schedule.projection_input import ActivatedEnergy, ActivationsAsOf
from gridloom.virtual_assets.schedule.store import set_first_activated, write_activations

_UPWARD = POSITION["afrr_pos_volume_mwh"] - positions_of(FactSource.AFRR_ENERGY).start


async def read_activated(db: Database, asset_key: int, first: int, end: int) -> ActivatedEnergy:
    """Upward activations, which the asset exports, from the sums and sheets that settlements keep."""
    period_kwh = np.zeros(max(0, end - first))
    calendar_first, calendar_end = (edge // PERIOD_S for edge in calendar_edges_s())
    low, high = max(first, calendar_first), min(end, calendar_end)  # nothing can be settled outside
    if low >= high:
        return ActivatedEnergy(0.0, period_kwh)
    first_day, last_day = day_number(low * PERIOD_S), day_number((high - 1) * PERIOD_S)
    numbers = np.arange(first_day, last_day + 1)
    days = [market_date(number) for number in numbers.tolist()]
    before_mwh = await store.read_activated_before(db, asset_key, days[0])
    bodies = await store.read_activation_sheets(db, asset_key, days[0], days[-1])
    if bodies:
        sheet = decode_sheets(
            FactSource.AFRR_ENERGY, [bodies.get(day) for day in days], period_counts(numbers).tolist()
        )
        upward_mwh = sheet[_UPWARD]
        start = day_start(first_day) // PERIOD_S
        before_mwh += float(upward_mwh[: low - start].sum())
        period_kwh[low - first : high - first] = KW_PER_MW * upward_mwh[low - start : high - start]
    return ActivatedEnergy(KW_PER_MW * before_mwh, period_kwh)


async def read_activated_as_of(
    db: Database, asset_key: int, first: int, end: int, instant: datetime
) -> ActivationsAsOf:
    """Both directions as they were settled at an instant, corrections of later left out."""
    kwh = np.zeros((2, max(0, end - first)))
    if first < end:
        for row in await store.read_activations_as_of(db, asset_key, period_start(first), period_start(end), instant):
            direction = 0 if row["direction"] == Direction.POS else 1
            kwh[direction, period_number(row["period"]) - first] = KW_PER_MW * row["volume_mwh"]
    return ActivationsAsOf(kwh[0], kwh[1])


async def propagate_activations(db: Database, touched: Sequence[Touched], now: datetime) -> None:
    """Notify the virtual assets whose activations have changed, and enqueue their revalidation."""
    spans: dict[int, tuple[int, int]] = {}
    for change in touched:
        first, end = period_number(change.start), period_number(change.end)
        known = spans.get(change.asset_key, (first, end))
        spans[change.asset_key] = min(known[0], first), max(known[1], end)
    for key, (first, end) in sorted(spans.items()):
        asset = await set_first_activated(db, key, first)
        if asset is not None:
            await write_activations(db, key, await _read_by_day(db, key, utc_day_of(first), utc_day_of(end - 1) + 1))
            await enqueue_revalidation(db, asset, now)


async def _read_by_day(db: Database, key: int, first: int, end: int) -> dict[int, tuple[Floats, Floats]]:
    """Upward and downward volumes of days of UTC, in kWh a period."""
    kwh = np.zeros((2, end - first, PERIODS_PER_DAY))
    start = first_period_of_utc_day(first)
    for row in await store.read_activations(db, key, period_start(start), period_start(first_period_of_utc_day(end))):
        direction = 0 if row["direction"] == Direction.POS else 1
        day, slot = divmod(period_number(row["period"]) - start, PERIODS_PER_DAY)
        kwh[direction, day, slot] = KW_PER_MW * row["volume_mwh"]
    return {first + index: (kwh[0, index], kwh[1, index]) for index in range(end - first)}
