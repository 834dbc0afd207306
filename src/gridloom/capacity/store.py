"""All that the books of batteries are made of in PostgreSQL, and the locks under which they are changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from uuid import UUID

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
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import touched_periods
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database, is_distributed
from gridloom.platform.database.statement import NamedStatement

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


@dataclass(frozen=True, slots=True)
class LockedBatteries:
    """Batteries whose books are locked until this transaction ends."""

    keys: frozenset[int]
    since: datetime
    """The platform's clock, to the millisecond, when the last of them was locked."""


async def lock_batteries(db: Database, keys: Collection[int]) -> LockedBatteries:
    """Let changes of these batteries' offers, schedules and availability follow each other.

    Always in the order of keys: two writers cannot deadlock. A transaction that reads after taking the
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
    """The availability of each asset over every period that the window touches: what happens anywhere in it counts."""
    periods = Window(*map(period_start, touched_periods(window)))
    found = await load_ratings_and_outages(db, asset_keys, periods)
    return {key: availability_series(known.ratings, known.outages, window) for key, known in found.items()}


_STANDING = """
select asset_key, starts_at, ends_at, charge_kw, discharge_kw, energy_kwh, fcr_limit_ratio, charge_efficiency,
       discharge_efficiency, usable_share, kind, holder_id, first_period, end_period, is_firm, organisation_id, product
from battery_standing
where asset_key = any($1::int[])
  and (starts_at is null or starts_at < $3) and (ends_at is null or ends_at > $2)
  and (kind is null or end_period > $4 and first_period < $5 and (is_firm or not $6))
"""


async def load_firm_capacity(db: Database, keys: Collection[int], first: int, end: int) -> dict[int, BatteryCapacity]:
    """The firm holdings of these batteries in the periods [first, end)."""
    return await _load_holdings(db, keys, first, end, firm_only=True)


async def _load_holdings(
    db: Database, keys: Collection[int], first: int, end: int, *, firm_only: bool
) -> dict[int, BatteryCapacity]:
    """By battery, the earliest first, and of equals the one that was made first; own schedules are no part."""
    ratings_and_outages = {key: RatingsAndOutages() for key in keys}
    holdings: dict[int, list[Holding]] = {key: [] for key in keys}
    edges = period_start(first), period_start(end), first, end
    rows = await fetch_by_keys(db, _STANDING, list(keys), *edges, firm_only)
    for key, starts_at, ends_at, *numbers, kind, holder_id, since, until, is_firm, organisation_id, product in rows:
        if kind is None:
            _add_circumstance(ratings_and_outages[key], starts_at, ends_at, numbers)
            continue
        charge_kw, discharge_kw, energy_kwh, _, eta_charge, eta_discharge, _ = numbers
        losses = None if eta_charge is None else OneWayEfficiency(eta_charge, eta_discharge)
        taken = charge_kw, discharge_kw, energy_kwh
        holding = Holding(HoldingKind(kind), holder_id, since, until, *taken, is_firm, losses, organisation_id, product)
        holdings[key].append(holding)
    for held in holdings.values():
        held.sort(key=lambda one: (one.first, one.holder_id))  # rows come in whatever order the database has found room
    return {
        key: BatteryCapacity(ratings_and_outages[key], holdings[key], OwnSchedule.nothing())
        for key in ratings_and_outages
    }


async def load_battery_capacity(
    db: Database, keys: Collection[int], first: int, end: int
) -> dict[int, BatteryCapacity]:
    """The holdings and capacities of these batteries in the periods [first, end)."""
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
    by_battery: dict[int, list[UUID]] = {}
    for key, holder_id in released:
        by_battery.setdefault(key, []).append(holder_id)
    for key in sorted(by_battery):
        await db.execute(
            "delete from capacity_holding where asset_key = $1 and holder_id = any($2::uuid[])", key, by_battery[key]
        )
    if not added:
        return
    rows = [_list_values(key, holding) for key, holding in added]
    if len(rows) == 1 or is_distributed(db):  # there a row at a time is of one shard, and its statement planned once
        await db.executemany(_ADD_HOLDING.text, rows)
    else:
        await db.execute(_ADD_HOLDINGS.text, *(list(column) for column in zip(*rows, strict=True)))


_ADD_HOLDING = NamedStatement("""
insert into capacity_holding (
  asset_key, kind, holder_id, first_period, end_period, charge_kw, discharge_kw, energy_kwh, is_firm, charge_efficiency,
  discharge_efficiency, organisation_id, product)
values (:asset_key, :kind, :holder_id, :first, :end, :charge_kw, :discharge_kw, :energy_kwh, :is_firm,
        :charge_efficiency, :discharge_efficiency, :organisation_id, :product)
""")
_ADD_HOLDINGS = NamedStatement("""
insert into capacity_holding (
  asset_key, kind, holder_id, first_period, end_period, charge_kw, discharge_kw, energy_kwh, is_firm, charge_efficiency,
  discharge_efficiency, organisation_id, product)
select * from unnest(
  :asset_key::int[], :kind::text[], :holder_id::uuid[], :first::int[], :end::int[], :charge_kw::float8[],
  :discharge_kw::float8[], :energy_kwh::float8[], :is_firm::bool[], :charge_efficiency::float8[],
  :discharge_efficiency::float8[], :organisation_id::uuid[], :product::text[])
""")


def _list_values(key: int, holding: Holding) -> list[object]:
    """In the order of the parameters of both statements."""
    eta_charge, eta_discharge = (None, None) if holding.losses is None else astuple(holding.losses)
    own = {"asset_key": key, "charge_efficiency": eta_charge, "discharge_efficiency": eta_discharge}
    return _ADD_HOLDING.arguments(own, holding)
