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
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose

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
    """A bid as it was made, and its state."""

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


_LIST_BIDS = NamedStatement(
    """
with k as (
  select distinct delivery_day, product from ancillary_bid
  where asset_key = :asset_key and (:delivery_day::date is null or delivery_day = :delivery_day)
    and (:product::text is null or product = :product) and (:status::text is null or status = :status)
    and (:after_day::date is null or (delivery_day, product) < (:after_day, :after_product::text collate "C"))
  order by delivery_day desc, product desc limit :limit
)
select {bid}
from k join ancillary_bid b
  on b.asset_key = :asset_key and b.delivery_day = k.delivery_day and b.product = k.product
where :status::text is null or b.status = :status
order by b.delivery_day desc, b.product desc, b.sequence
""",
    bid=_BID,
)


async def list_bids(
    db: Database, asset_key: int, query: BidsQuery, after: ProductCursor | None, limit: int
) -> list[StoredBid]:
    """Bids of the first `limit` products after the cursor: days and products descending, bids as they were made."""
    rows = await _LIST_BIDS.fetch(
        db,
        query,
        asset_key=asset_key,
        after_day=None if after is None else after.delivery_day,
        after_product=None if after is None else after.product,
        limit=limit,
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
    """The results of bids for their own products, and the accepted capacity of each."""
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


_INSERT_BIDS = NamedStatement("""
insert into ancillary_bid
  (asset_key, id, delivery_day, product, delivery_start, delivery_end, capacity_price_eur, offered_capacity_kw,
   energy_price_eur, status, placed_at, placed_by)
select :asset_key, id, delivery_day, product, delivery_start, delivery_end, capacity_price, offered, energy_price,
       status, :placed_at, :placed_by
from unnest(:ids::uuid[], :days::date[], :products::text[], :starts::timestamptz[], :ends::timestamptz[],
            :capacity_prices::numeric[], :offered::float8[], :energy_prices::numeric[], :statuses::text[])
  with ordinality as given (id, delivery_day, product, delivery_start, delivery_end, capacity_price, offered,
                            energy_price, status, position)
order by position
""")


async def insert_bids(
    db: Database, asset_key: int, rows: Sequence[BidRow], placed_at: datetime, placed_by: UUID
) -> None:
    """In the order given, which is that of the price steps."""
    if not rows:
        return
    windows = [row.key.window for row in rows]
    await _INSERT_BIDS.execute(
        db,
        asset_key=asset_key,
        ids=[row.id for row in rows],
        days=[row.key.delivery_day for row in rows],
        products=[row.key.product.code for row in rows],
        starts=[window.start for window in windows],
        ends=[window.end for window in windows],
        capacity_prices=[row.bid.capacity_price for row in rows],
        offered=[row.bid.offered_capacity for row in rows],
        energy_prices=[row.bid.energy_price for row in rows],
        statuses=[row.status for row in rows],
        placed_at=placed_at,
        placed_by=placed_by,
    )


def _split_columns(keys: Collection[ProductKey]) -> tuple[list[date], list[str]]:
    return [key.delivery_day for key in keys], [key.product.code for key in keys]


def _read_bid(row: asyncpg.Record) -> StoredBid:
    return read_row(StoredBid, row, status=BidStatus(row["status"]))
