"""Results of balancing tenders in the database: revisions are added, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import asyncpg

from gridloom.ancillary.model import NewResult, ProductCursor, ResultsQuery
from gridloom.database.pool import Database


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
    return {(row["bid_id"], row["delivery_day"], row["product"]): _read_result(row) for row in rows}


async def insert_results(db: Database, asset_key: int, results: Sequence[StoredResult], recorded_by: UUID) -> None:
    await db.executemany(
        """
        insert into ancillary_result
          (asset_key, bid_id, delivery_day, product, revision, accepted, accepted_capacity_kw, settlement_price_eur,
           recorded_at, recorded_by)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        [
            (
                asset_key,
                result.bid_id,
                result.delivery_day,
                result.product,
                result.revision,
                result.accepted,
                result.accepted_capacity_kw,
                result.settlement_price_eur,
                result.recorded_at,
                recorded_by,
            )
            for result in results
        ],
    )


@dataclass(frozen=True, slots=True)
class AcceptedStep:
    """What was accepted of one bid, and at which price: the result's, or the bid's where it has none."""

    capacity_kw: float
    price_eur: Decimal


async def accepted_steps(db: Database, asset_key: int, delivery_day: date, product: str) -> list[AcceptedStep]:
    """All accepted bids for a product, by their latest results."""
    rows = await db.fetch(
        """
        select r.accepted_capacity_kw as capacity_kw,
               coalesce(r.settlement_price_eur, b.capacity_price_eur) as price_eur
        from (select distinct on (bid_id) * from ancillary_result
              where asset_key = $1 and delivery_day = $2 and product = $3 order by bid_id, revision desc) r
        join ancillary_bid b on b.asset_key = $1 and b.id = r.bid_id and b.product = r.product
        where r.accepted and r.accepted_capacity_kw > 0 order by r.bid_id
        """,
        asset_key,
        delivery_day,
        product,
    )
    return [AcceptedStep(**row) for row in rows]


async def list_results(
    db: Database, asset_key: int, query: ResultsQuery, after: ProductCursor | None, limit: int
) -> list[StoredResult]:
    """Results of the first `limit` products after the place: days and products descending."""
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
    return [_read_result(row) for row in rows]


def _read_result(row: asyncpg.Record) -> StoredResult:
    return StoredResult(
        bid_id=row["bid_id"],
        delivery_day=row["delivery_day"],
        product=row["product"],
        revision=row["revision"],
        accepted=row["accepted"],
        accepted_capacity_kw=row["accepted_capacity_kw"],
        settlement_price_eur=row["settlement_price_eur"],
        recorded_at=row["recorded_at"],
    )
