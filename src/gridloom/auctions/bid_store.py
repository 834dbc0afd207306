"""All SQL about bids: their one order, and who may see which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import asyncpg

from gridloom.auctions.model import AuctionBid
from gridloom.audit.model import NewAuditRecord
from gridloom.audit.store import ENTRY, entry_row
from gridloom.database.clock import platform_now
from gridloom.database.composition import compose
from gridloom.database.pool import Database, Pool
from gridloom.edge.idempotency import RETENTION, IdempotencyKey, is_key_conflict
from gridloom.events.model import NewEvent
from gridloom.events.outbox import check_declared, notify_listeners
from gridloom.events.store import OUTBOX, outbox_row


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """What became of a bid. The last four: the answer that is known, where an earlier attempt had the same key."""

    verdict: str
    placed_at: datetime | None
    sequence: int | None
    opens_at: datetime | None
    closes_at: datetime | None
    stored_fingerprint: bytes | None
    stored_status: int | None
    stored_headers: str | None
    stored_body: bytes | None


_BID = """
  b.id, b.organisation_id, b.position, b.sequence, b.price_eur, b.placed_at, b.withdrawn_at is not null as is_withdrawn
"""


@dataclass(frozen=True, slots=True)
class PendingBid:
    """A bid that wants its place, and what tells of it if it gets one."""

    auction_id: UUID
    organisation_id: UUID
    placed_by: UUID
    bid_id: UUID
    price_eur: Decimal
    event: NewEvent
    entry: NewAuditRecord
    key: IdempotencyKey | None
    """Its Idempotency-Key: whoever sends it again gets the same answer."""
    answer: str
    """The body that is kept under the key, up to the moment, which the database knows."""


# Bids, their events, their lines of the audit log and what is kept for a retry in one statement: it commits by itself,
# so the auction's lock is never held while a message travels. The event comes under the lock, so an organisation reads
# of its bids in order.
_COLUMNS = (
    *(("auction", "uuid"), ("bidder", "uuid"), ("author", "uuid"), ("bid", "uuid"), ("price", "numeric")),
    *(("event_id", "uuid"), ("type", "text"), ("told_id", "uuid"), ("subject", "text"), ("permission", "text")),
    *(
        ("asset_key", "int"),
        ("data", "text"),
        ("actor_org_id", "uuid"),
        ("entry_id", "uuid"),
        ("subject_org_id", "uuid"),
    ),
    *(("actor_id", "uuid"), ("actor_kind", "text"), ("actor_name", "text"), ("action", "text"), ("method", "text")),
    *(("resource", "text"), ("status", "int2"), ("address", "text"), ("request_id", "text"), ("details", "jsonb")),
    *(("caller_key", "text"), ("key_digest", "bytea"), ("lock_key", "bigint"), ("fingerprint", "bytea")),
    ("answer", "text"),
)
"""What a row of `_offer_row` holds, by name."""

_PLACE = """
with offer as materialized (
  {offers}
), placed as materialized (
  select offer.turn, p.* from offer, lateral {place} p
), told as (
  insert into {outbox}
  select event_id, type, told_id, subject, permission, asset_key, data::jsonb, placed_at
  from placed join offer using (turn) where verdict = 'PLACED' order by turn
), noted as (
  insert into {entry}
  select actor_org_id, entry_id, subject_org_id, actor_id, actor_kind, actor_name, action, method, resource, status,
    address, request_id, details
  from placed join offer using (turn) where verdict = 'PLACED' order by turn
), kept as (
  insert into idempotency (caller_key, key_digest, fingerprint, status, headers, body)
  select caller_key, key_digest, {fingerprint}, status, '{{"Content-Type": "application/json"}}',
    convert_to(answer || '"timestamp":"' || moment_on_wire(placed_at) || '","sequence":' || sequence
      || ',"withdrawn":false}}', 'UTF8')
  from placed join offer using (turn) where verdict = 'PLACED' and caller_key is not null
  {conflict}
)
select {outcome} from placed order by turn
"""
_ONE = "select 1 as turn, " + ", ".join(
    f"${place}::{type} as {name}" for place, (name, type) in enumerate(_COLUMNS, start=1)
)
_MANY = (
    "select * from unnest("  # noqa: S608 — the names and types of _COLUMNS
    + ", ".join(f"${place}::{type}[]" for place, (_, type) in enumerate(_COLUMNS, start=1))
    + f") with ordinality as o ({', '.join(name for name, _ in _COLUMNS)}, turn) order by turn"
)
_VERDICT = "verdict, placed_at, sequence, opens_at, closes_at"


def _insert_new(offers: str) -> str:
    """For bids that nobody has sent before: where somebody has, the key is taken and breaks off all of it."""
    return _PLACE.format(
        offers=offers,
        place="place_auction_bid(auction, bidder, author, bid, price)",
        outbox=OUTBOX,
        entry=ENTRY,
        fingerprint="case when pg_try_advisory_xact_lock(lock_key) then fingerprint end",
        conflict="",
        outcome=f"{_VERDICT}, null::bytea as stored_fingerprint, null::smallint as stored_status, "
        "null as stored_headers, null::bytea as stored_body",
    )


def _insert_or_replay(offers: str) -> str:
    """For bids of which each looks first what became of an earlier attempt under its key."""
    return _PLACE.format(
        offers=offers,
        place=f"""place_auction_bid_once(
          auction, bidder, author, bid, price, caller_key, key_digest, lock_key, ${len(_COLUMNS) + 1}::interval)""",
        outbox=OUTBOX,
        entry=ENTRY,
        fingerprint="fingerprint",
        conflict="""on conflict (caller_key, key_digest) do update
          set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
              body = excluded.body, created_at = excluded.created_at""",
        outcome=f"{_VERDICT}, kept_fingerprint as stored_fingerprint, kept_status as stored_status, "
        "kept_headers as stored_headers, kept_body as stored_body",
    )


_PLACE_ONE, _PLACE_MANY = _insert_new(_ONE), _insert_new(_MANY)
_PLACE_ONE_AGAIN, _PLACE_MANY_AGAIN = _insert_or_replay(_ONE), _insert_or_replay(_MANY)


async def place_bids(pool: Pool, offers: Sequence[PendingBid]) -> list[PlacementResult]:
    """Give bids of one auction their places in its order, one after the other, or say why they have none.

    Nearly all are sent once, so their keys are not looked up but taken. Those that are in the way break off the
    statement, and those that get no place may have had theirs before: both are placed as what was sent again.
    """
    assert len({offer.auction_id for offer in offers}) == 1, "two locks in no known order"
    try:
        outcomes = await _place_first(pool, offers)
    except asyncpg.IntegrityConstraintViolationError as error:
        if not is_key_conflict(error):
            raise
        outcomes = await _place_again(pool, offers)
    else:
        unsure = [
            turn
            for turn, (offer, placed) in enumerate(zip(offers, outcomes, strict=True))
            if offer.key is not None and placed.verdict != "PLACED"
        ]
        if unsure:
            for turn, placed in zip(unsure, await _place_again(pool, [offers[turn] for turn in unsure]), strict=True):
                outcomes[turn] = placed
    if any(placed.verdict == "PLACED" for placed in outcomes):
        notify_listeners()  # the statement has committed itself
    return outcomes


async def _place_first(pool: Pool, offers: Sequence[PendingBid]) -> list[PlacementResult]:
    return await _place_rows(pool, _PLACE_ONE, _PLACE_MANY, offers)


async def _place_again(pool: Pool, offers: Sequence[PendingBid]) -> list[PlacementResult]:
    return await _place_rows(pool, _PLACE_ONE_AGAIN, _PLACE_MANY_AGAIN, offers, RETENTION)


async def _place_rows(
    pool: Pool, one: str, many: str, offers: Sequence[PendingBid], *more: object
) -> list[PlacementResult]:
    rows = [_offer_row(offer) for offer in offers]
    if len(rows) == 1:
        found = await pool.fetch(one, *rows[0], *more)
    else:
        found = await pool.fetch(many, *map(list, zip(*rows, strict=True)), *more)
    return [PlacementResult(**row) for row in found]


def _offer_row(offer: PendingBid) -> tuple[object, ...]:
    check_declared(offer.event)
    key = offer.key
    return (
        offer.auction_id,
        offer.organisation_id,
        offer.placed_by,
        offer.bid_id,
        offer.price_eur,
        *outbox_row(offer.event),
        *entry_row(offer.entry),
        *((key.caller_key, key.digest, key.lock, key.fingerprint) if key is not None else (None,) * 4),
        offer.answer,
    )


async def read_own_bids(
    db: Database, auction_id: UUID, organisation_id: UUID, *, before: int | None, limit: int
) -> list[AuctionBid]:
    """The organisation's bids, newest first, withdrawn ones included."""
    rows = await db.fetch(
        compose(
            """
        select {bid} from auction_bid b
        where b.auction_id = $1 and b.organisation_id = $2 and ($3::bigint is null or b.sequence < $3)
        order by b.position desc limit $4
        """,
            bid=_BID,
        ),
        auction_id,
        organisation_id,
        before,
        limit,
    )
    return [_read_bid(row) for row in rows]


async def read_own_bid(db: Database, auction_id: UUID, organisation_id: UUID, bid_id: UUID) -> AuctionBid | None:
    row = await db.fetchrow(
        compose(
            "select {bid} from auction_bid b where b.auction_id = $1 and b.organisation_id = $2 and b.id = $3", bid=_BID
        ),
        auction_id,
        organisation_id,
        bid_id,
    )
    return None if row is None else _read_bid(row)


async def withdraw(db: Database, auction_id: UUID, position: int) -> None:
    await db.execute(
        "update auction_bid set withdrawn_at = $3 where auction_id = $1 and position = $2",
        auction_id,
        position,
        await platform_now(db),
    )


# One step into the index for each participant, however many bids there are.
_STANDING = """
  auction_participant p cross join lateral (
    select * from auction_bid own
    where own.auction_id = $1 and own.organisation_id = p.organisation_id and own.withdrawn_at is null
    order by own.position desc limit 1
  ) b
"""


async def read_standing_bids(db: Database, auction_id: UUID) -> list[AuctionBid]:
    """Each organisation's latest bid that was not withdrawn."""
    rows = await db.fetch(
        compose("select {bid} from {standing} where p.auction_id = $1", bid=_BID, standing=_STANDING), auction_id
    )
    return [_read_bid(row) for row in rows]


async def read_ranked_bids(
    db: Database, auction_id: UUID, *, after: tuple[Decimal, int] | None, limit: int
) -> list[tuple[AuctionBid, bool]]:
    """All bids from the highest price down, the earlier first, each with whether it stood when the auction closed."""
    rows = await db.fetch(
        compose(
            """
        with standing as materialized (select b.position from {standing} where p.auction_id = $1)
        select {bid}, exists (select from standing s where s.position = b.position) as is_standing
        from auction_bid b
        where b.auction_id = $1 and ($2::numeric is null or (-b.price_eur, b.position) > (-$2, $3))
        order by b.price_eur desc, b.position limit $4
        """,
            standing=_STANDING,
            bid=_BID,
        ),
        auction_id,
        after[0] if after else None,
        after[1] if after else None,
        limit,
    )
    return [(_read_bid(row), row["is_standing"]) for row in rows]


def _read_bid(row: asyncpg.Record) -> AuctionBid:
    return AuctionBid(**{name: row[name] for name in AuctionBid.__slots__})
