"""Published prices in PostgreSQL, and the settled prices that differ from them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from gridloom.platform.database.clock import platform_now_to_the_ms
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.reference_prices.model import MANUAL, SOURCES, PublishedPrice, RecordedPrice, SettledPriceDeviation

_WRITING: Final = 7_108_260
"""The advisory lock of a price import."""


async def lock_prices_for_change(db: Database) -> None:
    """Until this transaction ends no other one changes a price."""
    await db.execute("select pg_advisory_xact_lock($1)", _WRITING)


_PUT_PRICES: Final = NamedStatement("""
with sent as materialized (
  select distinct on (series, start_at) *
  from unnest(:series::text[], :starts::timestamptz[], :ends::timestamptz[], :prices::numeric[],
    :first_seen_at::timestamptz[])
    with ordinality as u(series, start_at, end_at, price, first_seen_at, number)
  order by series, start_at, number desc),
extent as materialized (
  select series, min(start_at) as first, max(end_at) as last from sent
  where :source::text <> :manual::text group by series),
prevailing as materialized (
  select p.series, p.start_at, p.end_at from extent e cross join lateral (
    select * from reference_price i
    where i.series = e.series and i.start_at < e.last and i.end_at > e.first
      and (i.start_at >= e.first - interval '31 days' or i.end_at - i.start_at > interval '31 days')
      and array_position(:sources::text[], i.source) < array_position(:sources::text[], :source)
    offset 0) as p),
given as materialized (
  select * from sent s where not exists (
    select from prevailing p where p.series = s.series and p.start_at < s.end_at and p.end_at > s.start_at)),
replaced as materialized (
  select p.* from reference_price p join given g using (series, start_at)
  where (p.end_at, p.price) is distinct from (g.end_at, g.price)
    or :source = :manual and p.source <> :source),
covered as materialized (
  select distinct on (p.series, p.start_at) p.*
  from given g cross join lateral (
    select * from reference_price i
    where i.series = g.series and i.start_at > g.start_at and i.start_at < g.end_at and i.end_at <= g.end_at
    offset 0  -- one search of the index a row, whatever the statistics say: a join by series alone is quadratic
  ) as p
  where not exists (select from given g where (g.series, g.start_at) = (p.series, p.start_at))
  order by p.series, p.start_at),
removed as (
  delete from reference_price p using covered c where (p.series, p.start_at) = (c.series, c.start_at)),
kept as (
  insert into reference_price_superseded (series, start_at, end_at, price, recorded_at, recorded_by,
    source, first_seen_at, superseded_at, superseded_by)
  select series, start_at, end_at, price, recorded_at, recorded_by, source, first_seen_at, :now::timestamptz, :by
  from (select * from replaced union all select * from covered) as former),
written as (
  insert into reference_price as p (series, start_at, end_at, price, recorded_at, recorded_by, source,
    first_seen_at)
  select series, start_at, end_at, price, :now::timestamptz, :by, :source, first_seen_at
  from given order by series, start_at
  on conflict (series, start_at) do update
    set end_at = excluded.end_at, price = excluded.price, recorded_at = excluded.recorded_at,
      recorded_by = excluded.recorded_by, source = excluded.source, first_seen_at = excluded.first_seen_at
    where (p.end_at, p.price) is distinct from (excluded.end_at, excluded.price)
      or :source = :manual and p.source <> :source
  returning series, start_at)
select exists (select from replaced k where (k.series, k.start_at) = (w.series, w.start_at)) as was_known,
  count(*)::int as count
from written w group by 1
""")


async def put_prices(
    db: Database,
    prices: Sequence[PublishedPrice],
    by: UUID,
    *,
    source: str = MANUAL,
    first_seen_at: Sequence[datetime | None] | None = None,
) -> tuple[int, int]:
    """Write them, in the order of their key; how many were new and how many replaced.

    One request at a time: a replaced price is stored with the instant at which it stopped counting. So are prices of
    shorter spans within one that is published later: an hour replaces its four quarter-hours. A price of a source that
    prevails over this one stays, and what overlaps with it is left out. `first_seen_at`: of prices seen earlier.
    """
    await lock_prices_for_change(db)
    rows = await _PUT_PRICES.fetch(
        db,
        series=[price.series for price in prices],
        starts=[price.start for price in prices],
        ends=[price.end for price in prices],
        prices=[price.price for price in prices],
        first_seen_at=list(first_seen_at) if first_seen_at is not None else [None] * len(prices),
        by=by,
        now=await platform_now_to_the_ms(db),
        source=source,
        sources=list(SOURCES),
        manual=MANUAL,
    )
    counts = {row["was_known"]: row["count"] for row in rows}
    return counts.get(False, 0), counts.get(True, 0)


async def withdraw_prices(db: Database, series: str, start: datetime, end: datetime, by: UUID) -> list[PublishedPrice]:
    """Take away what was posted by hand and begins in the window; its versions stay."""
    await lock_prices_for_change(db)
    rows = await db.fetch(
        """
        with withdrawn as (
          delete from reference_price where series = $1 and start_at >= $2 and start_at < $3 and source = $4
          returning *),
        kept as (
          insert into reference_price_superseded (series, start_at, end_at, price, recorded_at, recorded_by,
            source, first_seen_at, superseded_at, superseded_by)
          select series, start_at, end_at, price, recorded_at, recorded_by, source, first_seen_at, $5::timestamptz, $6
          from withdrawn)
        select series, start_at as start, end_at as "end", price from withdrawn order by start_at
        """,
        series, start, end, MANUAL, await platform_now_to_the_ms(db), by,
    )  # fmt: skip
    return [PublishedPrice(**row) for row in rows]


async def lock_prices_as_they_are(db: Database) -> None:
    """Until this transaction ends no price changes; those who only read do not wait for each other."""
    await db.execute("select pg_advisory_xact_lock_shared($1)", _WRITING)


async def list_prices(
    db: Database,
    series: str,
    start: datetime | None,
    end: datetime | None,
    after: datetime | None,
    limit: int,
    as_of: datetime | None = None,
) -> list[RecordedPrice]:
    rows = await db.fetch(
        """
        select series, start_at as start, end_at as "end", price, source,
          coalesce(first_seen_at, recorded_at) as first_seen_at
        from reference_price_version
        where series = $1 and ($2::timestamptz is null or end_at > $2) and ($3::timestamptz is null or start_at < $3)
          and ($4::timestamptz is null or start_at > $4)
          and case when $6::timestamptz is null then superseded_at is null
                   else recorded_at <= $6 and (superseded_at is null or superseded_at > $6) end
        order by start_at limit $5
        """,
        series, start, end, after, limit, as_of,
    )  # fmt: skip
    return [RecordedPrice(**row) for row in rows]


async def read_price_arrays(
    db: Database, series: str, start: datetime | None, end: datetime
) -> tuple[list[int], list[int], list[float]]:
    """All prices that begin in the window, by start: starts and ends in seconds since 1970, and the prices."""
    row = await db.fetchrow(
        """
        select coalesce(array_agg(date_part('epoch', start_at)::int8 order by start_at), '{}') as starts,
          coalesce(array_agg(date_part('epoch', end_at)::int8 order by start_at), '{}') as ends,
          coalesce(array_agg(price::float8 order by start_at), '{}') as prices
        from reference_price
        where series = $1 and ($2::timestamptz is null or start_at >= $2) and start_at < $3
        """,
        series, start, end,
    )  # fmt: skip
    assert row is not None
    return row["starts"], row["ends"], row["prices"]


async def read_period_prices(
    db: Database, series: str, first: int, end: int, as_of: datetime | None = None
) -> NDArray[np.float64]:
    """A price for each quarter-hour from number `first` on (since 1970, UTC); NaN where none is published.

    A price that holds for longer, an hour say, counts in each of its quarter-hours. As of an instant: as known then.
    """
    prices = np.full(max(0, end - first), np.nan)
    for row in await db.fetch(
        """
        select (extract(epoch from start_at) / 900)::int as first, (extract(epoch from end_at) / 900)::int as last,
          price::float8 as price
        from reference_price_version
        where series = $1 and end_at > to_timestamp($2::bigint * 900) and start_at < to_timestamp($3::bigint * 900)
          and (start_at >= to_timestamp($2::bigint * 900) - interval '31 days'
               or end_at - start_at > interval '31 days')
          and case when $4::timestamptz is null then superseded_at is null
                   else recorded_at <= $4 and (superseded_at is null or superseded_at > $4) end
        order by start_at
        """,
        series, first, end, as_of,
    ):  # fmt: skip
        prices[max(0, row["first"] - first) : max(0, row["last"] - first)] = row["price"]
    return prices


_BLOCK_START = """
    (f.delivery_day + make_interval(hours => substring(f.product from '_([0-9]{2})_')::int))
      at time zone 'Europe/Berlin'
"""

_SETTLED: Final = {
    "wholesale-trades": """
        select f.asset_key, f.period as time, f.trade_id as reference, f.side, f.price_eur_mwh as settled,
          'DAY_AHEAD_DE_LU' as series, true as is_exact
        from wholesale_trade f where f.market = 'DAY_AHEAD' and f.volume_mwh > 0
    """,
    "fcr": compose(
        """
        select f.asset_key, {block_start} as time, f.product as reference, '' as side, f.price_eur_mw_h as settled,
          'FCR_DE' as series, true as is_exact
        from fcr_award f where f.capacity_mw > 0
    """,
        block_start=_BLOCK_START,
    ),
    "afrr-capacity": compose(
        """
        select f.asset_key, {block_start} as time, f.product as reference, '' as side, f.price_eur_mw_h as settled,
          'AFRR_CAPACITY_' || split_part(f.product, '_', 1) || '_DE_MARGINAL' as series, false as is_exact
        from afrr_capacity_award f where f.capacity_mw > 0
    """,
        block_start=_BLOCK_START,
    ),
}


DEVIATIONS: Final = {
    kind: NamedStatement(
        compose(
            """
    select f.asset_key, a.id as asset_id, f.time, f.reference, f.side, f.series, f.settled,
      coalesce(own.price, hour.price) as published
    from ({settled}) f
    join asset a on a.key = f.asset_key
    left join reference_price own on own.series = f.series and own.start_at = f.time
    left join reference_price hour on hour.series = f.series and hour.start_at = date_trunc('hour', f.time)
      and hour.end_at > f.time
    where (:organisation_id::uuid is null or a.organisation_id = :organisation_id)
      and (:asset_key::int is null or f.asset_key = :asset_key)
      and (:start::timestamptz is null or f.time >= :start)
      and (:end::timestamptz is null or f.time < :end)
      and (f.settled - coalesce(own.price, hour.price) > :tolerance
           or f.is_exact and coalesce(own.price, hour.price) - f.settled > :tolerance)
      and (:after_key::int is null
           or (f.asset_key, f.time, f.reference, f.side) > (:after_key, :after_time, :after_reference, :after_side))
    order by f.asset_key, f.time, f.reference, f.side
    limit :limit
    """,
            settled=_SETTLED[kind],
        )
    )
    for kind in _SETTLED
}
"""By the kind of fact, of which the prices are compared."""


async def list_deviations(
    db: Database,
    kind: str,
    *,
    organisation_id: UUID | None,
    asset_key: int | None,
    start: datetime | None,
    end: datetime | None,
    tolerance: Decimal,
    after: Sequence[Any] | None,
    limit: int,
) -> list[SettledPriceDeviation]:
    """Settled prices apart from the published one; where each is paid its own bid, those above the marginal one."""
    key, time, reference, side = after or (None, None, None, None)
    rows = await DEVIATIONS[kind].fetch(
        db,
        organisation_id=organisation_id,
        asset_key=asset_key,
        start=start,
        end=end,
        tolerance=tolerance,
        limit=limit,
        after_key=key,
        after_time=time,
        after_reference=reference,
        after_side=side,
    )
    return [SettledPriceDeviation(**row) for row in rows]
