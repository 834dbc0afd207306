"""Reads of reports from PostgreSQL: whose facts count, rated power, contracts, auctions, stored sums and sheets."""
# ruff: noqa: S608 — the composed names stand in settlements/measures.py

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

import numpy as np

from gridloom.kernel.permission import Permission
from gridloom.kernel.units import KW_PER_MW
from gridloom.kernel.window import Window
from gridloom.market_calendar import Ints, market_date
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database, is_distributed
from gridloom.revenue.aggregation import LEVEL_MEASURES, DaySheets
from gridloom.revenue.formulas import FloatArray
from gridloom.revenue.model import AuctionResult, Contribution, RatedPowerSteps, SecondsSpan, Toll
from gridloom.settlements.measures import AGGREGATED_SOURCES, MEASURES, FactSource


@dataclass(frozen=True, slots=True)
class Group:
    """A portfolio or a fleet: whose it is and which assets belong to it."""

    organisation_id: UUID
    asset_keys: tuple[int, ...]


async def read_portfolio(db: Database, portfolio_id: UUID) -> Group | None:
    organisation_id = await db.fetchval("select organisation_id from portfolio where id = $1", portfolio_id)
    if organisation_id is None:
        return None
    rows = await db.fetch(
        "select asset_key from virtual_asset where organisation_id = $1 and portfolio_id = $2 order by asset_key",
        organisation_id,
        portfolio_id,
    )
    return Group(organisation_id, tuple(row["asset_key"] for row in rows))


async def read_fleet(db: Database, fleet_id: UUID) -> Group | None:
    row = await db.fetchrow(
        """
        select f.organisation_id,
          array(select p.asset_key from physical_asset p where p.fleet_id = f.id order by p.asset_key) as keys
        from fleet f where f.id = $1
        """,
        fleet_id,
    )
    return None if row is None else Group(row["organisation_id"], tuple(row["keys"]))


async def are_granted(db: Database, keys: Sequence[int], organisation_id: UUID, permission: Permission) -> bool:
    """Whether the organisation owns or holds a grant of this permission on every one of these assets."""
    return bool(
        await db.fetchval(
            """
            select bool_and(a.organisation_id = $2 or exists (
              select from asset_grant g
              where g.asset_key = a.key and g.organisation_id = $2 and $3 = any(g.permissions)))
            from asset a where a.key = any($1::int[])
            """,
            list(keys),
            organisation_id,
            permission,
        )
    )


async def read_backed(db: Database, physical_keys: Sequence[int]) -> tuple[Contribution, ...]:
    """The physical assets' own facts, and their shares in those of the virtual assets that they back."""
    rows = await db.fetch(
        """
        select key, 1.0::float8 as weight, 1 as holders from unnest($1::int[]) as asked(key)
        union all
        select asset_key, sum(share), count(*)::int from virtual_backing
        where physical_asset_key = any($1::int[]) group by asset_key
        order by key
        """,
        list(physical_keys),
    )
    return tuple(Contribution(row["key"], row["weight"], row["holders"]) for row in rows)


_VIRTUAL_RATINGS: Final = """
    select asset_key, null::timestamptz as valid_from, start_at, end_at,
      (rated_charge_power_kw + rated_discharge_power_kw) / 2 as power_kw
    from virtual_asset where asset_key = any($1::int[])
"""
_PHYSICAL_RATINGS: Final = """
    select distinct on (asset_key, valid_from) asset_key, valid_from, null::timestamptz as start_at,
      null::timestamptz as end_at, (rated_charge_power_kw + rated_discharge_power_kw) / 2 as power_kw
    from physical_asset_parameters
    where asset_key = any($1::int[]) and ($2::timestamptz is null or recorded_at <= $2 or version = 1)
    order by asset_key, valid_from, version desc
"""
_RATINGS: Final = f"{_VIRTUAL_RATINGS} union all ({_PHYSICAL_RATINGS}) order by asset_key, valid_from"


async def read_ratings(db: Database, keys: Iterable[int], as_of: datetime | None) -> dict[int, RatedPowerSteps]:
    """The rated power of virtual assets over their life, and of physical ones by their effective parameters.

    As of an instant: by the parameters recorded until then, for they may reach back and change what a toll has earned.
    """
    asked = list(keys)
    rows: Sequence[Any]
    if is_distributed(db):  # which plans each of them once
        rows = [
            *await fetch_by_keys(db, _VIRTUAL_RATINGS, asked),
            *await fetch_by_keys(db, _PHYSICAL_RATINGS, asked, as_of),
        ]
    else:
        rows = await fetch_by_keys(db, _RATINGS, asked, as_of)
    steps: dict[int, list[Any]] = {}
    for row in rows:
        steps.setdefault(row["asset_key"], []).append(row)
    return {key: _read_rating(found) for key, found in steps.items()}


def _read_rating(rows: Sequence[Any]) -> RatedPowerSteps:
    power_mw = np.array([row["power_kw"] for row in rows]) / KW_PER_MW
    first = rows[0]
    if first["valid_from"] is None:
        life = SecondsSpan(first["start_at"].timestamp(), first["end_at"].timestamp())
        return RatedPowerSteps(np.array([life.start_s]), power_mw, life)
    return RatedPowerSteps(np.array([row["valid_from"].timestamp() for row in rows]), power_mw)


_TOLLS_NOW: Final = """
    select asset_key, start_at, end_at, annual_price_eur_mw::float8 as price
    from tolling_contract
    where asset_key = any($1::int[]) and start_at < $3 and end_at > $2
    order by asset_key, start_at, contract_id
"""
_TOLLS_AS_OF: Final = """
    select asset_key, start_at, end_at, annual_price_eur_mw::float8 as price
    from tolling_contract_version
    where asset_key = any($1::int[]) and start_at < $3 and end_at > $2
      and recorded_at <= $4 and (superseded_at is null or superseded_at > $4)
    order by asset_key, start_at, contract_id
"""


async def read_tolls(
    db: Database, keys: Sequence[int], start: datetime, end: datetime, as_of: datetime | None
) -> list[Toll]:
    if as_of is None:
        rows = await fetch_by_keys(db, _TOLLS_NOW, list(keys), start, end)
    else:
        rows = await fetch_by_keys(db, _TOLLS_AS_OF, list(keys), start, end, as_of)
    return [Toll(row["asset_key"], _make_span(row["start_at"], row["end_at"]), row["price"]) for row in rows]


async def read_auction_results(
    db: Database, keys: Sequence[int], start: datetime, end: datetime, as_of: datetime | None
) -> list[AuctionResult]:
    """Cleared auctions, read from their own table: a result shows as soon as it is there."""
    if is_distributed(db):
        return await _read_allocated_auctions(db, keys, start, end, as_of)
    rows = await fetch_by_keys(
        db,
        """
        select a.key, u.delivery_start, u.delivery_end, u.winning_price_eur::float8 as price,
          u.hurdle_price_eur::float8 as hurdle
        from asset a join auction u on u.virtual_asset_id = a.id
        where a.key = any($1::int[]) and u.outcome = 'ALLOCATED' and u.delivery_start < $3 and u.delivery_end > $2
          and ($4::timestamptz is null or u.cleared_at <= $4)
        order by a.key
        """,
        list(keys),
        start,
        end,
        as_of,
    )
    return [
        AuctionResult(row["key"], _make_span(row["delivery_start"], row["delivery_end"]), row["price"], row["hurdle"])
        for row in rows
    ]


async def _read_allocated_auctions(
    db: Database, keys: Sequence[int], start: datetime, end: datetime, as_of: datetime | None
) -> list[AuctionResult]:
    """By the ids of the auctions that the assets come from, which every node knows: else all shards would be asked."""
    allocated = await fetch_by_keys(
        db,
        "select auction_id, asset_key from auction_allocation where asset_key = any($1::int[]) order by asset_key",
        list(keys),
    )
    results = []
    for auction_id, key in allocated:
        row = await db.fetchrow(
            """
            select delivery_start, delivery_end, winning_price_eur::float8 as price, hurdle_price_eur::float8 as hurdle
            from auction where id = $1 and outcome = 'ALLOCATED' and delivery_start < $3 and delivery_end > $2
              and ($4::timestamptz is null or cleared_at <= $4)
            """,
            auction_id,
            start,
            end,
            as_of,
        )
        if row is not None:
            span = _make_span(row["delivery_start"], row["delivery_end"])
            results.append(AuctionResult(key, span, row["price"], row["hurdle"]))
    return results


_ON_DAYS_OF_WINDOW: Final = """
          delivery_day >= ($2::timestamptz at time zone 'Europe/Berlin')::date
            and delivery_day < $3::timestamptz at time zone 'Europe/Berlin'
"""
"""A window that ends at midnight holds nothing of the market day that begins then."""
_ARE_PROVISIONAL: Final = ", ".join(
    f"""exists (select 1 from {table}_version f where f.asset_key = any($1::int[]) and f.origin = 'PROVISIONAL'
          and f.capacity_mw > 0 and {_ON_DAYS_OF_WINDOW}
          and case when $4::timestamptz is null then f.superseded_at is null
                   else f.recorded_at <= $4 and (f.superseded_at is null or f.superseded_at > $4) end)"""
    for table in ("fcr_award", "afrr_capacity_award")
)


async def read_provisional_sources(
    db: Database, keys: Sequence[int], window: Window, as_of: datetime | None
) -> frozenset[FactSource]:
    """Of which sources awards of these assets on market days of the window are not settled yet."""
    if as_of is None and len(keys) == 1 and is_distributed(db):
        return _name_sources([await db.fetchval(part, keys[0], window.start, window.end) for part in _HAS_PROVISIONAL])
    found = await db.fetchrow(
        f"select {_ARE_PROVISIONAL}",
        list(keys),
        window.start,
        window.end,
        as_of,
    )
    assert found is not None
    return _name_sources(found)


_HAS_PROVISIONAL: Final = tuple(
    f"""select true from {table} where asset_key = $1 and origin = 'PROVISIONAL' and capacity_mw > 0
          and {_ON_DAYS_OF_WINDOW} limit 1"""
    for table in ("fcr_award", "afrr_capacity_award")
)
"""Of one asset at present: a statement for each table, which a distributed database plans once."""


def _name_sources(found: Iterable[bool | None]) -> frozenset[FactSource]:
    sources = (FactSource.FCR, FactSource.AFRR_CAPACITY)
    return frozenset(source for source, is_there in zip(sources, found, strict=True) if is_there)


def _make_span(start: datetime, end: datetime) -> SecondsSpan:
    return SecondsSpan(start.timestamp(), end.timestamp())


# --- stored sums and sheets ----------------------------------------------------------------------------------------


async def read_days(db: Database, keys: Sequence[int], numbers: Ints, sources: Iterable[FactSource]) -> DaySheets:
    """The stored sheets of consecutive market days; one statement, hence one instant."""
    wanted = [source for source in AGGREGATED_SOURCES if source in set(sources)]
    columns = ", ".join(source.value for source in wanted)
    rows = await db.fetch(
        f"select asset_key, day - $2::date, {columns} from settled_periods"
        " where asset_key = any($1::int[]) and day between $2 and $3 order by asset_key, day",
        list(keys),
        market_date(int(numbers[0])),
        market_date(int(numbers[-1])),
    )
    found: dict[int, dict[FactSource, Sequence[bytes | None]]] = {}
    for key, own in groupby(rows, key=itemgetter(0)):
        _, indices, *sheets = zip(*own, strict=True)
        found[key] = {
            source: _by_day_number(indices, bodies, len(numbers)) for source, bodies in zip(wanted, sheets, strict=True)
        }
    return DaySheets(int(numbers[0]), found)


def _by_day_number(indices: Sequence[int], bodies: Sequence[bytes | None], day_count: int) -> Sequence[bytes | None]:
    """An entry for every day, not only for those that have a row."""
    if len(bodies) == day_count:
        return bodies
    every: list[bytes | None] = [None] * day_count
    for index, body in zip(indices, bodies, strict=True):
        every[index] = body
    return every


_DAY_SUMS: Final = ", ".join(
    f"sum(d.{measure.name} * {'w.weight' if measure.is_shared else 'w.holders'}) as {measure.name}"
    for measure in MEASURES
)


_ONE_ASSET_MEASURES: Final = ", ".join(
    f"{measure.name} * {'$2::float8' if measure.is_shared else '$3::float8'} as {measure.name}" for measure in MEASURES
)
_ONE_ASSET_DAYS: Final = f"""
    select day - $4::date, {_ONE_ASSET_MEASURES},
      case when fcr_delivery_h > 0 then $2 * fcr_capacity_mw_h / fcr_delivery_h end as fcr_capacity_mw,
      case when fcr_delivery_h > 0 then fcr_price_eur_mw / fcr_delivery_h * $2 * fcr_capacity_mw_h else 0 end
        as fcr_price_capacity_eur
    from settled_day where asset_key = $1 and day between $4 and $5
"""
"""An asset has one row a day: there is nothing to sum, and its key says where it lies."""


async def read_day_sums(db: Database, contributions: Sequence[Contribution], numbers: Ints) -> dict[str, FloatArray]:
    """All measures of whole market days, summed over the assets where they lie; one statement, hence one instant."""
    days = market_date(int(numbers[0])), market_date(int(numbers[-1]))
    if len(contributions) == 1:
        [only] = contributions
        rows = await db.fetch(_ONE_ASSET_DAYS, only.asset_key, only.weight, float(only.holders), *days)
        return _by_day(rows, numbers)
    rows = await db.fetch(
        f"""
        select d.day - $4::date, {_DAY_SUMS},
          sum(case when d.fcr_delivery_h > 0 then
            w.weight * d.fcr_capacity_mw_h / d.fcr_delivery_h end) as fcr_capacity_mw,
          coalesce(sum(case when d.fcr_delivery_h > 0 then
            d.fcr_price_eur_mw / d.fcr_delivery_h * w.weight * d.fcr_capacity_mw_h end), 0) as fcr_price_capacity_eur
        from unnest($1::int[], $2::float8[], $3::float8[]) as w(asset_key, weight, holders)
        join settled_day d on d.asset_key = w.asset_key and d.day between $4 and $5
        group by d.day
        """,
        [part.asset_key for part in contributions],
        [part.weight for part in contributions],
        [float(part.holders) for part in contributions],
        *days,
    )
    return _by_day(rows, numbers)


def _by_day(rows: Sequence[Any], numbers: Ints) -> dict[str, FloatArray]:
    names = (*(measure.name for measure in MEASURES), *LEVEL_MEASURES)
    table = np.zeros((len(names), len(numbers)))
    table[names.index("fcr_capacity_mw")] = np.nan
    if rows:
        # The mean capacity is null on a day without delivery, and becomes NaN.
        indices, *cells = zip(*rows, strict=True)
        table[:, indices] = np.array(cells, dtype=np.float64)
    return dict(zip(names, table, strict=True))


_DAY_MEASURES: Final = f"""
    select asset_key, day - $2::date, {", ".join(measure.name for measure in MEASURES)}
    from settled_day where asset_key = any($1::int[]) and day between $2 and $3
"""


async def read_day_measures(db: Database, keys: Sequence[int], numbers: Ints) -> dict[int, FloatArray]:
    """By asset, a row for each measure and a column for each of the consecutive market days."""
    first, last = market_date(int(numbers[0])), market_date(int(numbers[-1]))
    found: dict[int, FloatArray] = {}
    for key, index, *values in await fetch_by_keys(db, _DAY_MEASURES, keys, first, last):
        table = found.setdefault(key, np.zeros((len(MEASURES), len(numbers))))
        table[:, index] = values
    return found
