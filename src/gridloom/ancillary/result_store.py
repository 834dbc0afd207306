"""Results of balancing tenders in the database: revisions are added, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from gridloom.ancillary.model import NewResult, ProductCursor, ResultsQuery
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row, values_of
from gridloom.platform.database.statement import NamedStatement


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The latest revision of a bid's result for a product."""

    bid_id: UUID
    delivery_day: date
    product: str
    revision: int
    accepted: bool
    accepted_capacity_kw: float
    settlement_price_eur: Decimal | None
    recorded_at: datetime

    def says_the_same_as(self, result: NewResult) -> bool:
        return (self.accepted, self.accepted_capacity_kw, self.settlement_price_eur) == (
            result.accepted,
            result.accepted_capacity,
            result.settlement_price,
        )


async def latest_results(
    db: Database, asset_key: int, bid_ids: Iterable[UUID]
) -> dict[tuple[UUID, date, str], StoredResult]:
    """By bid, day and product."""
    rows = await db.fetch(
        """
        select distinct on (bid_id, delivery_day, product) * from ancillary_result
        where asset_key = $1 and bid_id = any($2::uuid[])
        order by bid_id, delivery_day, product, revision desc
        """,
        asset_key,
        list(bid_ids),
    )
    return {(row["bid_id"], row["delivery_day"], row["product"]): read_row(StoredResult, row) for row in rows}


_INSERT_RESULT: Final = NamedStatement("""
insert into ancillary_result
  (asset_key, bid_id, delivery_day, product, revision, accepted, accepted_capacity_kw, settlement_price_eur,
   recorded_at, recorded_by)
values (:asset_key, :bid_id, :delivery_day, :product, :revision, :accepted, :accepted_capacity_kw,
  :settlement_price_eur, :recorded_at, :recorded_by)
""")


async def insert_results(db: Database, asset_key: int, results: Sequence[StoredResult], recorded_by: UUID) -> None:
    by = {"asset_key": asset_key, "recorded_by": recorded_by}
    await _INSERT_RESULT.execute_each(db, [values_of(result) | by for result in results])


@dataclass(frozen=True, slots=True)
class AcceptedStep:
    """The accepted capacity of one bid, and its price: the result's, or the bid's where it has none."""

    capacity_kw: float
    price_eur: Decimal


async def read_accepted_steps(
    db: Database, asset_key: int, products: Sequence[tuple[date, str]]
) -> dict[tuple[date, str], list[AcceptedStep]]:
    """All accepted bids for products of delivery days, by their latest results; of each product that is asked for."""
    rows = await db.fetch(
        """
        select r.delivery_day, r.product, r.accepted_capacity_kw as capacity_kw,
               coalesce(r.settlement_price_eur, b.capacity_price_eur) as price_eur
        from (select distinct on (r.delivery_day, r.product, r.bid_id) r.*
              from unnest($2::date[], $3::text[]) as asked(delivery_day, product) join ancillary_result r
                on r.asset_key = $1 and r.delivery_day = asked.delivery_day and r.product = asked.product
              order by r.delivery_day, r.product, r.bid_id, r.revision desc) r
        join ancillary_bid b on b.asset_key = $1 and b.id = r.bid_id and b.product = r.product
        where r.accepted and r.accepted_capacity_kw > 0 order by r.bid_id
        """,
        asset_key,
        [day for day, _ in products],
        [product for _, product in products],
    )
    steps: dict[tuple[date, str], list[AcceptedStep]] = {product: [] for product in products}
    for row in rows:
        steps[row["delivery_day"], row["product"]].append(AcceptedStep(row["capacity_kw"], row["price_eur"]))
    return steps


async def list_results(
    db: Database, asset_key: int, query: ResultsQuery, after: ProductCursor | None, limit: int
) -> list[StoredResult]:
    """Results of the first `limit` products after the cursor: days and products descending."""
    rows = await db.fetch(
        """
        with k as (
          select distinct delivery_day, product from ancillary_result
          where asset_key = $1 and ($2::date is null or delivery_day = $2) and ($3::text is null or product = $3)
            and ($4::date is null or (delivery_day, product) < ($4, $5::text collate "C"))
          order by delivery_day desc, product desc limit $6
        )
        select distinct on (r.delivery_day, r.product, r.bid_id) r.*
        from k join ancillary_result r
          on r.asset_key = $1 and r.delivery_day = k.delivery_day and r.product = k.product
        order by r.delivery_day desc, r.product desc, r.bid_id, r.revision desc
        """,
        asset_key,
        query.delivery_day,
        query.product,
        None if after is None else after.delivery_day,
        None if after is None else after.product,
        limit,
    )
    return [read_row(StoredResult, row) for row in rows]
