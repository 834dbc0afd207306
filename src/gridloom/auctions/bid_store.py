"""All SQL about bids: their one order, and who may see which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import asyncpg

from gridloom.auctions.model import Bid
from gridloom.audit.model import NewEntry
from gridloom.audit.store import ENTRY, entry_row
from gridloom.database.pool import Database
from gridloom.events.model import NewEvent
from gridloom.events.outbox import check_declared, was_recorded
from gridloom.events.store import OUTBOX, outbox_row


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


@dataclass(frozen=True, slots=True)
class Offer:
    """A bid that wants its place, and what tells of it if it gets one."""

    auction_id: UUID
    organisation_id: UUID
    placed_by: UUID
    bid_id: UUID
    price_eur: Decimal
    event: NewEvent
    entry: NewEntry


# Bids, their events and their lines of the audit log in one statement: where it commits by itself, the auction's lock
# is never held while a message travels. The event comes under the lock, so an organisation reads of its bids in order.
_PLACE_ONE = f"""
with placed as materialized (
  select * from place_auction_bid($1, $2, $3, $4, $5)
), told as (
  insert into {OUTBOX}
  select $6::uuid, $7::text, $8::uuid, $9::text, $10::text, $11::int, $12::text::jsonb, placed.placed_at
  from placed where verdict = 'PLACED'
), noted as (
  insert into {ENTRY}
  select $13::uuid, $14::uuid, $15::uuid, $16::uuid, $17::text, $18::text, $19::text, $20::text, $21::text, $22::int2,
    $23::text, $24::text, $25::jsonb
  from placed where verdict = 'PLACED'
)
select * from placed
"""  # noqa: S608

_PLACE_MANY = f"""
with offer as materialized (
  select * from unnest(
    $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::numeric[], $6::uuid[], $7::text[], $8::uuid[], $9::text[],
    $10::text[], $11::int[], $12::text[], $13::uuid[], $14::uuid[], $15::uuid[], $16::uuid[], $17::text[], $18::text[],
    $19::text[], $20::text[], $21::text[], $22::int2[], $23::text[], $24::text[], $25::jsonb[]
  ) with ordinality as o (
    auction, bidder, author, bid, price, event_id, type, told_id, subject, permission, asset_key, data, actor_org_id,
    entry_id, subject_org_id, actor_id, actor_kind, actor_name, action, method, resource, status, address, request_id,
    details, turn)
  order by turn
), placed as materialized (
  select offer.turn, p.* from offer, lateral place_auction_bid(auction, bidder, author, bid, price) p
), told as (
  insert into {OUTBOX}
  select event_id, type, told_id, subject, permission, asset_key, data::jsonb, placed_at
  from placed join offer using (turn) where verdict = 'PLACED' order by turn
), noted as (
  insert into {ENTRY}
  select actor_org_id, entry_id, subject_org_id, actor_id, actor_kind, actor_name, action, method, resource, status,
    address, request_id, details
  from placed join offer using (turn) where verdict = 'PLACED' order by turn
)
select verdict, placed_at, sequence, opens_at, closes_at from placed order by turn
"""  # noqa: S608


async def place_bids(db: Database, offers: Sequence[Offer]) -> list[Placed]:
    """Give bids of one auction their places in its order, one after the other, or say why they have none."""
    assert len({offer.auction_id for offer in offers}) == 1, "two locks in no known order"
    rows = [_offer_row(offer) for offer in offers]
    if len(rows) == 1:
        found = await db.fetch(_PLACE_ONE, *rows[0])
    else:
        found = await db.fetch(_PLACE_MANY, *(list(column) for column in zip(*rows, strict=True)))
    outcomes = [Placed(**row) for row in found]
    if any(placed.verdict == "PLACED" for placed in outcomes):
        was_recorded(db)
    return outcomes


def _offer_row(offer: Offer) -> tuple[object, ...]:
    check_declared(offer.event)
    return (
        offer.auction_id,
        offer.organisation_id,
        offer.placed_by,
        offer.bid_id,
        offer.price_eur,
        *outbox_row(offer.event),
        *entry_row(offer.entry),
    )


async def read_own_bids(
    db: Database, auction_id: UUID, organisation_id: UUID, *, before: int | None, limit: int
) -> list[Bid]:
    """The organisation's bids, newest first, withdrawn ones included."""
    rows = await db.fetch(
        f"""
        select {_BID} from auction_bid b
        where b.auction_id = $1 and b.organisation_id = $2 and ($3::bigint is null or b.sequence < $3)
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


# One step into the index for each participant, however many bids there are.
_STANDING = """
  auction_participant p cross join lateral (
    select * from auction_bid own
    where own.auction_id = p.auction_id and own.organisation_id = p.organisation_id and own.withdrawn_at is null
    order by own.position desc limit 1
  ) b
"""


async def read_standing_bids(db: Database, auction_id: UUID) -> list[Bid]:
    """Each organisation's latest bid that was not withdrawn."""
    rows = await db.fetch(f"select {_BID} from {_STANDING} where p.auction_id = $1", auction_id)  # noqa: S608
    return [_bid(row) for row in rows]


async def read_ranked_bids(
    db: Database, auction_id: UUID, *, after: tuple[Decimal, int] | None, limit: int
) -> list[tuple[Bid, bool]]:
    """All bids from the highest price down, the earlier first, each with whether it stood when the auction closed."""
    rows = await db.fetch(
        f"""
        with standing as materialized (select b.position from {_STANDING} where p.auction_id = $1)
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
