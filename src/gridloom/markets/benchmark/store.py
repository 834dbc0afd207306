"""Batteries and peers of a benchmark, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.capacity.availability import CHARGE, CHARGE_EFFICIENCY, DISCHARGE, DISCHARGE_EFFICIENCY, ENERGY, USABLE
from gridloom.capacity.store import load_availability, load_ratings_and_outages
from gridloom.kernel.market_time import period_number
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, day_starts, market_day_number
from gridloom.markets.benchmark.model import BenchmarkBattery, Peer, Rated
from gridloom.platform.database.pool import Database
from gridloom.revenue.day_totals import read_day_totals
from gridloom.revenue.model import RatedPowerSteps
from gridloom.revenue.store import read_ratings
from gridloom.virtual_assets.backing.availability import load_available_of_each
from gridloom.virtual_assets.backing.store import CycleLimits, read_cycle_limits
from gridloom.virtual_assets.store import read_assets_by_keys

MAX_PEERS: Final = 500
_DAYS_A_YEAR: Final = 365


async def load_physical(db: Database, keys: Sequence[int], window: Window) -> tuple[list[BenchmarkBattery], Rated]:
    """Batteries over the window, and what they are rated for at its end."""
    found = []
    series = await load_availability(db, keys, window)
    for key in keys:
        one = series[key]
        usable = one.rated[:, USABLE]
        rated_kwh = float((one.rated[:, ENERGY] * usable).max())
        found.append(
            BenchmarkBattery(
                period_number(window.start),
                one.available[:, CHARGE],
                one.available[:, DISCHARGE],
                one.available[:, ENERGY] * usable,
                one.rated[:, CHARGE_EFFICIENCY],
                one.rated[:, DISCHARGE_EFFICIENCY],
                rated_kwh,
                _limit_day(await read_cycle_limits(db, [key], window.start, window.end), one.rated[:, ENERGY].max()),
            )
        )
    rated = await _read_physical_ratings(db, keys, window)
    return found, _add_up(list(rated.values()))


async def load_virtual(db: Database, keys: Sequence[int], window: Window) -> tuple[list[BenchmarkBattery], Rated]:
    """Virtual assets over the window, and what those are rated for that live in it."""
    assets = await read_assets_by_keys(db, keys)
    first, end = period_number(window.start), period_number(window.end)
    found, rated = [], []
    for asset, available in await load_available_of_each(db, list(assets.values()), window):
        terms, count = asset.terms, end - first
        span = slice(available.first - first, available.end - first)
        charge_kw, discharge_kw, energy_kwh = np.zeros(count), np.zeros(count), np.zeros(count)
        charge_kw[span] = available.charge * terms.charge_kw
        discharge_kw[span] = available.discharge * terms.discharge_kw
        energy_kwh[:] = terms.energy_capacity_kwh
        energy_kwh[span] = available.energy * terms.energy_capacity_kwh
        found.append(
            BenchmarkBattery(
                first,
                charge_kw,
                discharge_kw,
                energy_kwh,
                np.full(count, terms.efficiency.charge),
                np.full(count, terms.efficiency.discharge),
                terms.energy_capacity_kwh,
                _limit_day(CycleLimits(terms.daily_cycle_limit, terms.annual_cycle_limit), terms.energy_capacity_kwh),
            )
        )
        rated.append(Rated((terms.charge_kw + terms.discharge_kw) / 2, terms.energy_capacity_kwh))
    return found, _add_up(rated)


def _limit_day(limits: CycleLimits, energy_kwh: float) -> float | None:
    """A day's cycles, and at most its part of a year's."""
    known = [limits.daily, None if limits.annual is None else limits.annual / _DAYS_A_YEAR]
    cycles = [one for one in known if one is not None]
    return min(cycles) * float(energy_kwh) if cycles else None


def _add_up(rated: Sequence[Rated]) -> Rated:
    return Rated(sum(one.power_kw for one in rated), sum(one.energy_kwh for one in rated))


async def _read_physical_ratings(db: Database, keys: Sequence[int], window: Window) -> dict[int, Rated]:
    """In force at the end of the window."""
    found = {}
    for key, known in (await load_ratings_and_outages(db, keys, window)).items():
        if known.ratings:
            last = max(known.ratings, key=lambda one: one.valid_from)
            found[key] = Rated((last.charge_power_kw + last.discharge_power_kw) / 2, last.energy_kwh)
    return found


# --- peers -----------------------------------------------------------------------------------------------------------


async def load_physical_peers(
    db: Database, own_keys: Collection[int], window: Window, days: Sequence[date]
) -> list[Peer]:
    """Other batteries, with their own facts and their shares in those of the virtual assets that they back."""
    rows = await db.fetch(
        """
        select a.key, a.organisation_id from physical_asset p join asset a on a.key = p.asset_key
        where p.status = 'ACTIVE' and a.key <> all($1::int[]) order by a.key desc limit $2
        """,
        list(own_keys),
        MAX_PEERS,
    )
    owners = {row["key"]: row["organisation_id"] for row in rows}
    rated = await _read_physical_ratings(db, list(owners), window) if owners else {}
    shares = await db.fetch(
        "select physical_asset_key, asset_key, share from virtual_backing where physical_asset_key = any($1::int[])",
        list(owners),
    )
    parts = [(key, key, 1.0) for key in owners] + [tuple(row) for row in shares]
    return await _make_peers(db, owners, rated, parts, days)


async def load_virtual_peers(
    db: Database, own_keys: Collection[int], window: Window, days: Sequence[date]
) -> list[Peer]:
    """Other virtual assets that live in the window."""
    rows = await db.fetch(
        """
        select asset_key, organisation_id, (rated_charge_power_kw + rated_discharge_power_kw) / 2 as power_kw,
          energy_capacity_kwh
        from virtual_asset
        where start_at < $2 and end_at > $1 and asset_key <> all($3::int[]) order by asset_key desc limit $4
        """,
        window.start,
        window.end,
        list(own_keys),
        MAX_PEERS,
    )
    owners = {row["asset_key"]: row["organisation_id"] for row in rows}
    rated = {row["asset_key"]: Rated(row["power_kw"], row["energy_capacity_kwh"]) for row in rows}
    return await _make_peers(db, owners, rated, [(key, key, 1.0) for key in owners], days)


async def _make_peers(
    db: Database,
    owners: dict[int, UUID],
    rated: dict[int, Rated],
    parts: Sequence[tuple[int, int, float]],
    days: Sequence[date],
) -> list[Peer]:
    """`parts`: of a peer, an asset whose facts are its own by a share."""
    if not owners:
        return []
    numbers = np.array([market_day_number(day) for day in days], dtype=np.int64)
    keys = sorted({part[1] for part in parts})
    ratings = await read_ratings(db, [*keys, *owners], None)
    totals = await read_day_totals(db, keys, numbers, ratings)
    earned = {key: np.zeros(len(days)) for key in owners}
    for peer_key, asset_key, share in parts:
        earned[peer_key] += share * totals[asset_key]
    starts_s = day_starts(np.append(numbers, numbers[-1] + 1)).astype(np.float64)
    return [
        Peer(owners[key], rated[key], _divide_by_power(earned[key], ratings[key], starts_s))
        for key in owners
        if key in rated and key in ratings
    ]


def _divide_by_power(earned_eur: Floats, rating: RatedPowerSteps, edges_s: Floats) -> Floats:
    """Not a number on days that it did not live through, or on which it was rated nothing."""
    starts_s, ends_s = edges_s[:-1], edges_s[1:]
    power_mw = rating.lived_mw(starts_s, ends_s)
    low_s, high_s = (rating.starts_s[0], np.inf) if rating.life is None else (rating.life.start_s, rating.life.end_s)
    lives = (starts_s >= low_s) & (ends_s <= high_s) & (power_mw > 0)
    return np.where(lives, earned_eur / np.where(lives, power_mw, 1.0), np.nan)
