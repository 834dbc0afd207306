"""All that the books of batteries are made of in PostgreSQL, and the locks under which they are changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from gridloom.capacity.availability import (
    AvailabilitySeries,
    CapacityOutage,
    Rating,
    RatingsAndOutages,
    availability_series,
)
from gridloom.capacity.book import market_days_around
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.database.composition import compose
from gridloom.database.keyed import fetch_by_keys
from gridloom.database.pool import Database
from gridloom.kernel.market_time import PERIOD, floor_to_period, period_start
from gridloom.kernel.window import Window

# The past needs only the last rating, but ratings are few.
RATINGS_AND_OUTAGES = """
select asset_key, valid_from as starts_at, null::timestamptz as ends_at,
       rated_charge_power_kw as charge_kw, rated_discharge_power_kw as discharge_kw,
       energy_capacity_kwh as energy_kwh, fcr_limit_ratio, charge_efficiency, discharge_efficiency,
       max_state_of_charge - min_state_of_charge as usable_share
from parameters_in_force where asset_key = any($1::int[]) and valid_from < $3
union all
select asset_key, starts_at, ends_at, charge_power_kw, discharge_power_kw, energy_kwh, null, null, null, null
from unavailability
where asset_key = any($1::int[]) and ends_at > $2 and starts_at < $3
"""

Row = asyncpg.Record | Sequence[Any]
_HOLDING = """
  asset_key, kind, holder_id, first_period, end_period, charge_kw, discharge_kw, energy_kwh, is_firm, charge_efficiency,
  discharge_efficiency, organisation_id, product
"""


@dataclass(frozen=True, slots=True)
class LockedBatteries:
    """Batteries whose books are locked until this transaction ends."""

    keys: frozenset[int]
    since: datetime
    """The platform's clock, to the millisecond, when the last of them was locked."""


async def lock_batteries(db: Database, keys: Collection[int]) -> LockedBatteries:
    """Let changes of these batteries' offers, schedules and availability follow each other.

    Always in the order of keys: two writers cannot deadlock. Whoever reads after taking the
    locks sees what the one before has done.
    """
    # The clock rides along: it is read once all locks are there, like everything volatile after what is counted.
    since: datetime = await db.fetchval(
        """
        select case when count(pg_advisory_xact_lock(hashtext('physical_asset'), key)) >= 0
                    then date_trunc('milliseconds', platform_now()) end
        from (select key from unnest($1::int[]) as key order by key offset 0) as in_order
        """,
        sorted(set(keys)),
    )
    return LockedBatteries(frozenset(keys), since)


async def load_ratings_and_outages(
    db: Database, asset_keys: Collection[int], window: Window
) -> dict[int, RatingsAndOutages]:
    """By asset key, for every key asked for."""
    found = {key: RatingsAndOutages() for key in asset_keys}
    rows = await fetch_by_keys(db, RATINGS_AND_OUTAGES, list(found), window.start, window.end)
    for key, starts_at, ends_at, *numbers in rows:
        _add_circumstance(found[key], starts_at, ends_at, numbers)
    return found


def _add_circumstance(
    ratings_and_outages: RatingsAndOutages, starts_at: datetime, ends_at: datetime | None, numbers: Sequence[float]
) -> None:
    """A rating, of all these numbers, or an outage of the first three, in the order of `battery_standing`."""
    if ends_at is None:
        ratings_and_outages.ratings.append(Rating(starts_at, *numbers))
    else:
        ratings_and_outages.outages.append(CapacityOutage(starts_at, ends_at, *numbers[:3]))


async def load_availability(db: Database, asset_keys: Collection[int], window: Window) -> dict[int, AvailabilitySeries]:
    """The availability of each asset over every period that the window touches."""
    return {
        key: availability_series(ratings_and_outages.ratings, ratings_and_outages.outages, window)
        for key, ratings_and_outages in (
            await load_ratings_and_outages(db, asset_keys, widen_to_periods(window))
        ).items()
    }


def widen_to_periods(window: Window) -> Window:
    """The window widened to the periods it touches, since what happens anywhere in them counts."""
    start = floor_to_period(window.start)
    end = floor_to_period(window.end)
    return Window(start, end if end == window.end else end + PERIOD)


_STANDING = """
select asset_key, starts_at, ends_at, charge_kw, discharge_kw, energy_kwh, fcr_limit_ratio, charge_efficiency,
       discharge_efficiency, usable_share, kind, holder_id, first_period, end_period, is_firm, organisation_id, product
from battery_standing
where asset_key = any($1::int[])
  and (starts_at is null or starts_at < $3) and (ends_at is null or ends_at > $2)
  and (kind is null or end_period > $4 and first_period < $5 and (is_firm or not $6))
"""


async def load_firm_capacity(db: Database, keys: Collection[int], first: int, end: int) -> dict[int, BatteryCapacity]:
    """What the firm lines of these batteries' books are made of in the periods `first` up to but not `end`."""
    return await _load_holdings(db, keys, first, end, firm_only=True)


async def _load_holdings(
    db: Database, keys: Collection[int], first: int, end: int, *, firm_only: bool
) -> dict[int, BatteryCapacity]:
    edges = period_start(first), period_start(end), first, end
    return battery_capacity_of_rows(keys, await fetch_by_keys(db, _STANDING, list(keys), *edges, firm_only))


def battery_capacity_of_rows(keys: Collection[int], rows: Iterable[Row]) -> dict[int, BatteryCapacity]:
    """From rows of `battery_standing` with all its columns in its order, by battery; own schedules are no part."""
    ratings_and_outages = {key: RatingsAndOutages() for key in keys}
    holdings: dict[int, list[Holding]] = {key: [] for key in keys}
    for key, starts_at, ends_at, *numbers, kind, holder_id, first, end, is_firm, organisation_id, product in rows:
        if kind is None:
            _add_circumstance(ratings_and_outages[key], starts_at, ends_at, numbers)
            continue
        charge_kw, discharge_kw, energy_kwh, _, eta_charge, eta_discharge, _ = numbers
        losses = None if eta_charge is None else OneWayEfficiency(eta_charge, eta_discharge)
        holdings[key].append(
            Holding(
                HoldingKind(kind),
                holder_id,
                first,
                end,
                charge_kw,
                discharge_kw,
                energy_kwh,
                is_firm,
                losses,
                organisation_id,
                product,
            )
        )
    return {
        key: BatteryCapacity(ratings_and_outages[key], holdings[key], OwnSchedule.nothing())
        for key in ratings_and_outages
    }


async def load_battery_capacity(
    db: Database, keys: Collection[int], first: int, end: int
) -> dict[int, BatteryCapacity]:
    """What the books of these batteries are made of in the periods `first` up to but not `end`."""
    days = market_days_around(first, end)
    capacity = await _load_holdings(db, keys, *days, firm_only=False)
    own = await read_own_schedules(db, keys, *days)
    return {key: replace(capacity[key], own=own[key]) for key in capacity}


async def read_own_schedules(db: Database, keys: Collection[int], first: int, end: int) -> dict[int, OwnSchedule]:
    """By battery, what its owner has scheduled in these periods."""
    found = {key: OwnSchedule.nothing() for key in keys}
    for row in await db.fetch(
        """
        select asset_key, array_agg((extract(epoch from period) / 900)::int order by period) as periods,
               array_agg(power_kw order by period) as powers
        from physical_schedule where asset_key = any($1::int[]) and period >= $2 and period < $3 and power_kw <> 0
        group by asset_key
        """,
        list(found),
        period_start(first),
        period_start(end),
    ):
        found[row["asset_key"]] = OwnSchedule(np.array(row["periods"], dtype=np.int64), np.array(row["powers"]))
    return found


async def write_holdings(
    db: Database, released: Sequence[tuple[int, UUID]], added: Sequence[tuple[int, Holding]]
) -> None:
    """Give back and add, each by battery; the caller holds the batteries' locks."""
    if released:
        await db.execute(
            """
            delete from capacity_holding h using unnest($1::int[], $2::uuid[]) as gone (asset_key, holder_id)
            where h.asset_key = gone.asset_key and h.holder_id = gone.holder_id
            """,
            [key for key, _ in released],
            [holder_id for _, holder_id in released],
        )
    if not added:
        return
    rows = [_write_row(key, holding) for key, holding in added]
    await db.execute(
        compose(
            """
        insert into capacity_holding ({holding})
        select * from unnest($1::int[], $2::text[], $3::uuid[], $4::int[], $5::int[], $6::float8[], $7::float8[],
                             $8::float8[], $9::bool[], $10::float8[], $11::float8[], $12::uuid[], $13::text[])
        """,
            holding=_HOLDING,
        ),
        *(list(column) for column in zip(*rows, strict=True)),
    )


def _write_row(key: int, holding: Holding) -> tuple[object, ...]:
    losses = holding.losses
    return (
        key,
        holding.kind,
        holding.holder_id,
        holding.first,
        holding.end,
        holding.charge_kw,
        holding.discharge_kw,
        holding.energy_kwh,
        holding.is_firm,
        losses and losses.charge,
        losses and losses.discharge,
        holding.organisation_id,
        holding.product,
    )
