"""Bids for balancing products and their results in the database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import asyncpg
from msgspec import UNSET

from gridloom.ancillary.model import Bid, BidsQuery, BidStatus, NewAncillaryBid, ProductCursor
from gridloom.ancillary.products import ProductKey
from gridloom.database.composition import compose
from gridloom.database.pool import Database

_BID = """
  b.id, b.delivery_day, b.product, b.capacity_price_eur, b.offered_capacity_kw, b.energy_price_eur, b.status,
  b.accepted_capacity_kw
"""

# The price steps of each key, from the partial index alone; the lateral keeps the plan a lookup per key whatever the
# planner thinks of the number of keys.
PENDING = """
select b.id, k.delivery_day, k.product, b.capacity_price_eur, b.offered_capacity_kw, b.energy_price_eur
from unnest($2::date[], $3::text[]) as k (delivery_day, product)
cross join lateral (
  select id, capacity_price_eur, offered_capacity_kw, energy_price_eur from ancillary_bid
  where asset_key = $1 and delivery_day = k.delivery_day and product = k.product collate "C" and status = 'OFFERED'
  order by sequence limit 100
) b
"""


@dataclass(frozen=True, slots=True)
class StoredBid:
    """A bid as it was made, and how it stands."""

    id: UUID
    delivery_day: date
    product: str
    capacity_price_eur: Decimal
    offered_capacity_kw: float
    energy_price_eur: Decimal | None
    status: BidStatus
    accepted_capacity_kw: float | None = None
    """Once it has its result."""

    def says_the_same_as(self, key: ProductKey, bid: NewAncillaryBid) -> bool:
        return (
            (self.delivery_day, self.product) == (key.delivery_day, key.product.code)
            and self.capacity_price_eur == bid.capacity_price
            and self.offered_capacity_kw == bid.offered_capacity
            and self.energy_price_eur == bid.energy_price
        )


@dataclass(frozen=True, slots=True)
class BidRow:
    """A bid to be written."""

    id: UUID
    key: ProductKey
    bid: NewAncillaryBid
    status: BidStatus


async def read_pending_bids(
    db: Database, asset_key: int, keys: Collection[ProductKey]
) -> dict[tuple[date, str], list[Bid]]:
    """The bids that wait for their result by day and product, as they are answered; this read is asked for often."""
    waiting: dict[tuple[date, str], list[Bid]] = {}
    for row in await db.fetch(PENDING, asset_key, *_split_columns(keys)):
        bid = Bid(
            id=row["id"],
            capacity_price=row["capacity_price_eur"],
            offered_capacity=row["offered_capacity_kw"],
            energy_price=UNSET if row["energy_price_eur"] is None else row["energy_price_eur"],
            status=BidStatus.OFFERED,
        )
        waiting.setdefault((row["delivery_day"], row["product"]), []).append(bid)
    return waiting


async def list_of_products(
    db: Database, asset_key: int, keys: Sequence[ProductKey], statuses: Iterable[BidStatus] = BidStatus
) -> list[StoredBid]:
    """All bids of the given products that have one of the statuses, in the order in which they were made."""
    rows = await db.fetch(
        compose(
            """
        select {bid}
        from (select distinct * from unnest($2::date[], $3::text[]) as k (delivery_day, product)) k
        join ancillary_bid b on b.asset_key = $1 and b.delivery_day = k.delivery_day and b.product = k.product
        where b.status = any($4::text[])
        order by b.sequence
        """,
            bid=_BID,
        ),
        asset_key,
        *_split_columns(keys),
        list(statuses),
    )
    return [_read_bid(row) for row in rows]


async def list_bids(
    db: Database, asset_key: int, query: BidsQuery, after: ProductCursor | None, limit: int
) -> list[StoredBid]:
    """Bids of the first `limit` products after the place: days and products descending, bids as they were made."""
    rows = await db.fetch(
        compose(
            """
        with k as (
          select distinct delivery_day, product from ancillary_bid
          where asset_key = $1 and ($2::date is null or delivery_day = $2) and ($3::text is null or product = $3)
            and ($4::text is null or status = $4)
            and ($5::date is null or (delivery_day, product) < ($5, $6::text collate "C"))
          order by delivery_day desc, product desc limit $7
        )
        select {bid}
        from k join ancillary_bid b
          on b.asset_key = $1 and b.delivery_day = k.delivery_day and b.product = k.product
        where $4::text is null or b.status = $4
        order by b.delivery_day desc, b.product desc, b.sequence
        """,
            bid=_BID,
        ),
        asset_key,
        query.delivery_day,
        query.product,
        query.status,
        None if after is None else after.delivery_day,
        None if after is None else after.product,
        limit,
    )
    return [_read_bid(row) for row in rows]


async def read_bids(db: Database, asset_key: int, bid_ids: Iterable[UUID]) -> dict[UUID, StoredBid]:
    rows = await db.fetch(
        compose("select {bid} from ancillary_bid b where b.asset_key = $1 and b.id = any($2::uuid[])", bid=_BID),
        asset_key,
        list(bid_ids),
    )
    return {row["id"]: _read_bid(row) for row in rows}


async def set_status(db: Database, asset_key: int, statuses: Sequence[tuple[UUID, BidStatus]]) -> None:
    if not statuses:
        return
    await db.execute(
        """
        update ancillary_bid b set status = given.status
        from unnest($2::uuid[], $3::text[]) as given (id, status)
        where b.asset_key = $1 and b.id = given.id
        """,
        asset_key,
        [bid_id for bid_id, _ in statuses],
        [status for _, status in statuses],
    )


async def set_results(db: Database, asset_key: int, results: Sequence[tuple[UUID, BidStatus, float]]) -> None:
    """What became of bids for their own products, and how much of each was accepted."""
    if not results:
        return
    await db.execute(
        """
        update ancillary_bid b set status = given.status, accepted_capacity_kw = given.accepted_kw
        from unnest($2::uuid[], $3::text[], $4::float8[]) as given (id, status, accepted_kw)
        where b.asset_key = $1 and b.id = given.id
        """,
        asset_key,
        [bid_id for bid_id, _, _ in results],
        [status for _, status, _ in results],
        [accepted_kw for _, _, accepted_kw in results],
    )


async def insert_bids(
    db: Database, asset_key: int, rows: Sequence[BidRow], placed_at: datetime, placed_by: UUID
) -> None:
    """In the order given, which is that of the price steps."""
    if not rows:
        return
    windows = [row.key.window for row in rows]
    await db.execute(
        """
        insert into ancillary_bid
          (asset_key, id, delivery_day, product, delivery_start, delivery_end, capacity_price_eur, offered_capacity_kw,
           energy_price_eur, status, placed_at, placed_by)
        select $1, id, delivery_day, product, delivery_start, delivery_end, capacity_price, offered, energy_price,
               status, $11, $12
        from unnest($2::uuid[], $3::date[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::numeric[],
                    $8::float8[], $9::numeric[], $10::text[]) with ordinality
          as given (id, delivery_day, product, delivery_start, delivery_end, capacity_price, offered, energy_price,
                    status, position)
        order by position
        """,
        asset_key,
        [row.id for row in rows],
        *_split_columns([row.key for row in rows]),
        [window.start for window in windows],
        [window.end for window in windows],
        [row.bid.capacity_price for row in rows],
        [row.bid.offered_capacity for row in rows],
        [row.bid.energy_price for row in rows],
        [row.status for row in rows],
        placed_at,
        placed_by,
    )


def _split_columns(keys: Collection[ProductKey]) -> tuple[list[date], list[str]]:
    return [key.delivery_day for key in keys], [key.product.code for key in keys]


def _read_bid(row: asyncpg.Record) -> StoredBid:
    return StoredBid(
        id=row["id"],
        delivery_day=row["delivery_day"],
        product=row["product"],
        capacity_price_eur=row["capacity_price_eur"],
        offered_capacity_kw=row["offered_capacity_kw"],
        energy_price_eur=row["energy_price_eur"],
        status=BidStatus(row["status"]),
        accepted_capacity_kw=row["accepted_capacity_kw"],
    )
