"""All SQL about bids: their one order, and who may see which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import asyncpg

from gridloom.auctions.model import Bid
from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class Placed:
    verdict: str
    placed_at: datetime | None
    sequence: int | None
    opens_at: datetime | None
    closes_at: datetime | None


_BID = """
  b.id, b.organisation_id, b.position, b.sequence, b.price_eur, b.placed_at, b.withdrawn_at is not null as is_withdrawn
"""


async def place_bid(
    db: Database, *, auction_id: UUID, organisation_id: UUID, placed_by: UUID, bid_id: UUID, price_eur: Decimal
) -> Placed:
    row = await db.fetchrow(
        "select * from place_auction_bid($1, $2, $3, $4, $5)", auction_id, organisation_id, placed_by, bid_id, price_eur
    )
    assert row is not None
    return Placed(**row)


async def read_own_bids(
    db: Database, auction_id: UUID, organisation_id: UUID, *, before: int | None, limit: int
) -> list[Bid]:
    """The organisation's bids, newest first, withdrawn ones included."""
    rows = await db.fetch(
        f"""
        select {_BID} from auction_bid b
        where b.auction_id = $1 and b.organisation_id = $2 and ($3::int is null or b.sequence < $3)
        order by b.position desc limit $4
        """,  # noqa: S608
        auction_id,
        organisation_id,
        before,
        limit,
    )
    return [_bid(row) for row in rows]


async def read_own_bid(db: Database, auction_id: UUID, organisation_id: UUID, bid_id: UUID) -> Bid | None:
    row = await db.fetchrow(
        f"select {_BID} from auction_bid b where b.auction_id = $1 and b.organisation_id = $2 and b.id = $3",  # noqa: S608
        auction_id,
        organisation_id,
        bid_id,
    )
    return None if row is None else _bid(row)


async def withdraw(db: Database, auction_id: UUID, position: int) -> None:
    await db.execute(
        "update auction_bid set withdrawn_at = platform_now() where auction_id = $1 and position = $2",
        auction_id,
        position,
    )


async def read_standing_bids(db: Database, auction_id: UUID) -> list[Bid]:
    """Each organisation's latest bid that was not withdrawn."""
    rows = await db.fetch(
        f"""
        select distinct on (b.organisation_id) {_BID} from auction_bid b
        where b.auction_id = $1 and b.withdrawn_at is null
        order by b.organisation_id, b.position desc
        """,  # noqa: S608
        auction_id,
    )
    return [_bid(row) for row in rows]


async def read_ranked_bids(
    db: Database, auction_id: UUID, *, after: tuple[Decimal, int] | None, limit: int
) -> list[tuple[Bid, bool]]:
    """All bids from the highest price down, the earlier first, each with whether it stood when the auction closed."""
    rows = await db.fetch(
        f"""
        with standing as (
          select distinct on (organisation_id) position from auction_bid
          where auction_id = $1 and withdrawn_at is null order by organisation_id, auction_bid.position desc)
        select {_BID}, exists (select from standing s where s.position = b.position) as is_standing
        from auction_bid b
        where b.auction_id = $1 and ($2::numeric is null or (-b.price_eur, b.position) > (-$2, $3))
        order by b.price_eur desc, b.position limit $4
        """,  # noqa: S608
        auction_id,
        after[0] if after else None,
        after[1] if after else None,
        limit,
    )
    return [(_bid(row), row["is_standing"]) for row in rows]


def _bid(row: asyncpg.Record) -> Bid:
    return Bid(**row) if len(row) == 7 else Bid(**{name: row[name] for name in Bid.__slots__})
