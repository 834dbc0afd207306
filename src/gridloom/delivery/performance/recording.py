"""Records the measurements of a market day's quarter-hours as facts: a version is added where one has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import numpy as np

from gridloom.delivery.codec import pack, unpack
from gridloom.delivery.performance import store
from gridloom.delivery.performance.measured import MeasuredMean, Measurements, read_telemetry
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.platform.database.clock import platform_now_to_the_ms
from gridloom.platform.database.pool import Database


async def record_folded_day(db: Database, asset_key: int, day: date) -> None:
    """A day whose telemetry has just been folded, and what the next day's first state of charge was taken from it."""
    await record_measured_days(db, asset_key, [day], await platform_now_to_the_ms(db))
    following = day + timedelta(days=1)
    if await store.read_measured_days(db, asset_key, following, following):
        await record_measured_days(db, asset_key, [following], await platform_now_to_the_ms(db))


async def record_measured_days(db: Database, asset_key: int, days: Sequence[date], now: datetime) -> int:
    """How many of the days got a new version."""
    if not days:
        return 0
    await store.lock_measured(db, asset_key)
    known = await store.read_measured_days(db, asset_key, min(days), max(days))
    changed: dict[date, bytes] = {}
    for day in days:
        arrays = _to_arrays(await read_telemetry(db, asset_key, *market_day_periods(day)))
        if day in known and _are_equal(arrays, unpack(known[day])):
            continue
        if day in known or any(np.nan_to_num(values).any() for values in arrays.values()):
            changed[day] = pack(arrays)
    if changed:
        await store.add_measured_days(db, asset_key, list(changed), list(changed.values()), now)
    return len(changed)


async def read_recorded(
    db: Database, asset_key: int, first: int, end: int, days: Sequence[date], as_of: datetime | None
) -> Measurements:
    """The recorded measurements of the periods, as of an instant or now; none where nothing was recorded."""
    bodies = await store.read_measured_days(db, asset_key, days[0], days[-1], as_of) if days else {}
    return unpack_days(bodies, first, end)


def unpack_days(bodies: Mapping[date, bytes], first: int, end: int) -> Measurements:
    """The periods of recorded days; nothing is measured in the others."""
    count = max(0, end - first)
    laid = {name: np.zeros(count) for name in ("active_share", "reserve_share")}
    laid |= {name: np.full(count, np.nan) for name in ("active", "reserve", "soc")}
    for day, body in bodies.items():
        day_first, day_end = market_day_periods(day)
        low, high = max(first, day_first), min(end, day_end)
        for name, values in unpack(body).items():
            laid[name][low - first : high - first] = values[low - day_first : high - day_first]
    return Measurements(
        MeasuredMean(laid["active"], laid["active_share"]),
        MeasuredMean(laid["reserve"], laid["reserve_share"]),
        laid["soc"],
    )


def _to_arrays(measured: Measurements) -> dict[str, Floats]:
    return {
        "active": measured.active_kw.mean,
        "active_share": measured.active_kw.share,
        "reserve": measured.reserve_kw.mean,
        "reserve_share": measured.reserve_kw.share,
        "soc": measured.soc,
    }


def _are_equal(some: dict[str, Floats], others: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(values, others[name], equal_nan=True) for name, values in some.items())
