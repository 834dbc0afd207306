"""The sheets of market days as they are stored, or summed up anew from the facts that were known at an instant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gridloom.market_calendar import Ints, market_date
from gridloom.platform.database.pool import Database
from gridloom.revenue import store
from gridloom.revenue.aggregation import DaySheets
from gridloom.settlements.measures import FactSource
from gridloom.settlements.period_aggregates import encode_aggregates
from gridloom.settlements.store import read_sheets


async def read_stored_days(
    db: Database, keys: Sequence[int], days: Ints, sources: Sequence[FactSource], as_of: datetime | None
) -> DaySheets:
    first = int(days[0])
    if not sources:
        return DaySheets(first, {})
    if as_of is None:
        return await store.read_days(db, keys, days, sources)
    every_key = [key for key in keys for _ in days]
    dates = [market_date(int(number)) for number in days] * len(keys)
    found: dict[int, dict[FactSource, Sequence[bytes | None]]] = {key: {} for key in keys}
    for source in sources:
        sheets = await read_sheets(db, source, every_key, dates, as_of)
        bodies = [encode_aggregates(source, sheet) for sheet in sheets]
        for position, key in enumerate(keys):
            found[key][source] = bodies[position * len(days) : (position + 1) * len(days)]
    return DaySheets(first, found)
