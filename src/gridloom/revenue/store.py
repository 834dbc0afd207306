"""What reports read from PostgreSQL: whose facts count, rated power, contracts, auctions, kept sums and sheets."""
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

from gridloom.database.keyed import fetch_by_keys
from gridloom.database.pool import Database
from gridloom.kernel.permission import Permission
from gridloom.kernel.units import KW_PER_MW
from gridloom.kernel.window import Window
from gridloom.market_calendar import Ints, market_date
from gridloom.revenue.aggregation import LEVEL_MEASURES, KeptDays
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


async def read_ratings(db: Database, keys: Iterable[int], as_of: datetime | None) -> dict[int, RatedPowerSteps]:
    """The rated power of virtual assets over their life, and of physical ones by their effective parameters.

    As of a moment: by the parameters recorded until then, for they may reach back and change what a toll has earned.
    """
    rows = await fetch_by_keys(
        db,
        """
        select asset_key, null::timestamptz as valid_from, start_at, end_at,
          (rated_charge_power_kw + rated_discharge_power_kw) / 2 as power_kw
        from virtual_asset where asset_key = any($1::int[])
        union all
        select asset_key, valid_from, null, null, (rated_charge_power_kw + rated_discharge_power_kw) / 2
        from (select distinct on (asset_key, valid_from) * from physical_asset_parameters
              where asset_key = any($1::int[])
                and ($2::timestamptz is null or recorded_at <= $2 or version = 1)
              order by asset_key, valid_from, version desc) in_force
        order by asset_key, valid_from
        """,
        list(keys),
        as_of,
    )
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


async def read_tolls(
    db: Database, keys: Sequence[int], start: datetime, end: datetime, as_of: datetime | None
) -> list[Toll]:
    rows = await fetch_by_keys(
        db,
        """
        select asset_key, start_at, end_at, annual_price_eur_mw::float8 as price
        from tolling_contract_version
        where asset_key = any($1::int[]) and start_at < $3 and end_at > $2
          and ($4::timestamptz is null and superseded_at is null
               or recorded_at <= $4 and (superseded_at is null or superseded_at > $4))
        order by asset_key, start_at, contract_id
        """,
        list(keys),
        start,
        end,
        as_of,
    )
    return [Toll(row["asset_key"], _make_span(row["start_at"], row["end_at"]), row["price"]) for row in rows]


async def read_auction_results(
    db: Database, keys: Sequence[int], start: datetime, end: datetime, as_of: datetime | None
) -> list[AuctionResult]:
    """What the auctions room has cleared; no copy is kept, so that a result shows the moment it is there."""
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


_ARE_PROVISIONAL: Final = ", ".join(
    f"""exists (select 1 from {table}_version f where f.asset_key = any($1::int[]) and f.origin = 'PROVISIONAL'
          and f.capacity_mw > 0
          and f.delivery_day between ($2::timestamptz at time zone 'Europe/Berlin')::date
            and ($3::timestamptz at time zone 'Europe/Berlin')::date
          and case when $4::timestamptz is null then f.superseded_at is null
                   else f.recorded_at <= $4 and (f.superseded_at is null or f.superseded_at > $4) end)"""
    for table in ("fcr_award", "afrr_capacity_award")
)


async def read_provisional_sources(
    db: Database, keys: Sequence[int], window: Window, as_of: datetime | None
) -> frozenset[FactSource]:
    """Of which sources awards of these assets on market days of the window are not settled yet."""
    found = await db.fetchrow(
        f"select {_ARE_PROVISIONAL}",
        list(keys),
        window.start,
        window.end,
        as_of,
    )
    assert found is not None
    return frozenset(
        source for source, is_there in zip((FactSource.FCR, FactSource.AFRR_CAPACITY), found, strict=True) if is_there
    )


def _make_span(start: datetime, end: datetime) -> SecondsSpan:
    return SecondsSpan(start.timestamp(), end.timestamp())


# --- kept sums and sheets ------------------------------------------------------------------------------------------


async def read_days(db: Database, keys: Sequence[int], numbers: Ints, sources: Iterable[FactSource]) -> KeptDays:
    """The kept sheets of consecutive market days; one statement, hence one moment."""
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
        _, places, *sheets = zip(*own, strict=True)
        found[key] = {
            source: _by_day_number(places, bodies, len(numbers)) for source, bodies in zip(wanted, sheets, strict=True)
        }
    return KeptDays(int(numbers[0]), found)


def _by_day_number(places: Sequence[int], bodies: Sequence[bytes | None], day_count: int) -> Sequence[bytes | None]:
    """An entry for every day, not only for those that have a row."""
    if len(bodies) == day_count:
        return bodies
    every: list[bytes | None] = [None] * day_count
    for place, body in zip(places, bodies, strict=True):
        every[place] = body
    return every


_DAY_SUMS: Final = ", ".join(
    f"sum(d.{measure.name} * {'w.weight' if measure.is_shared else 'w.holders'}) as {measure.name}"
    for measure in MEASURES
)


async def read_day_sums(db: Database, contributions: Sequence[Contribution], numbers: Ints) -> dict[str, FloatArray]:
    """All measures of whole market days, summed over the assets where they lie; one statement, hence one moment."""
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
        market_date(int(numbers[0])),
        market_date(int(numbers[-1])),
    )
    return _by_day(rows, numbers)


def _by_day(rows: Sequence[Any], numbers: Ints) -> dict[str, FloatArray]:
    names = (*(measure.name for measure in MEASURES), *LEVEL_MEASURES)
    table = np.zeros((len(names), len(numbers)))
    table[names.index("fcr_capacity_mw")] = np.nan
    if rows:
        # The mean capacity is null on a day without delivery, and becomes NaN.
        places, *cells = zip(*rows, strict=True)
        table[:, places] = np.array(cells, dtype=np.float64)
    return dict(zip(names, table, strict=True))
