"""All SQL about bids: their one order, and who may see which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal
from uuid import UUID

import asyncpg

from gridloom.auctions.model import AuctionBid
from gridloom.platform.audit.model import NewAuditRecord
from gridloom.platform.audit.recording import ENTRY, entry_row
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, Pool, is_distributed
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import OUTBOX, check_declared, notify_listeners, outbox_row
from gridloom.platform.http.idempotency import RETENTION, IdempotencyKey, is_key_conflict


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """The result of a placement. The last four: the stored response, where an earlier request had the same key."""

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
    """A bid to be placed, with the event and the audit entry of its placement."""

    auction_id: UUID
    organisation_id: UUID
    placed_by: UUID
    bid_id: UUID
    price_eur: Decimal
    event: NewEvent
    entry: NewAuditRecord
    key: IdempotencyKey | None
    """Its Idempotency-Key: a request that repeats it gets the same response."""
    answer: str
    """The body stored under the key, up to its timestamp, which the database sets."""


def _read_columns(text: str) -> dict[str, str]:
    return dict(column.split() for column in text.split(","))


_EVENT_COLUMNS: Final = _read_columns(
    "event_id uuid, type text, event_org_id uuid, subject text, permission text, asset_key int, data text"
)
"""As `outbox_row` has them; `_RECORD_COLUMNS` are those of `entry_row`."""
_RECORD_COLUMNS: Final = _read_columns("""
  actor_org_id uuid, entry_id uuid, subject_org_id uuid, actor_id uuid, actor_kind text, actor_name text, action text,
  method text, resource text, status int2, address text, request_id text, details jsonb
""")
_BID_COLUMNS: Final = _read_columns(
    "auction_id uuid, organisation_id uuid, placed_by uuid, bid_id uuid, price_eur numeric, answer text"
)
_COLUMNS: Final = {
    **_BID_COLUMNS,
    **_EVENT_COLUMNS,
    **_RECORD_COLUMNS,
    **_read_columns("caller_key text, key_digest bytea, lock_key bigint, fingerprint bytea"),
}
"""The columns of an offer, with their types."""

# Bids, their events, their audit records and what is stored for a retry in one statement: it commits by itself,
# so the auction's lock is never held while a message travels. The event comes under the lock, so an organisation reads
# of its bids in order.
# It has four forms, since one form for all takes 33 to 72 % more CPU: one bid or arrays of many (`_OFFERS`), a first
# attempt or a retry (`_ATTEMPTS`). A distributed database gets the first attempt of one bid by `_place_by_parts`.
_PLACE: Final = """
with offer as materialized (
  {offers}
), placed as materialized (
  select offer.turn, p.* from offer, lateral {place} p
), emitted as (
  insert into {outbox}
  select event_id, type, event_org_id, subject, permission, asset_key, data::jsonb, placed_at
  from placed join offer using (turn) where verdict = 'PLACED' order by turn
), recorded as (
  insert into {entry}
  select actor_org_id, entry_id, subject_org_id, actor_id, actor_kind, actor_name, action, method, resource, status,
    address, request_id, details
  from placed join offer using (turn) where verdict = 'PLACED' order by turn
), stored as (
  insert into idempotency (caller_key, key_digest, fingerprint, status, headers, body)
  select caller_key, key_digest, {fingerprint}, status, {headers},
    convert_to(answer || '"timestamp":"' || moment_on_wire(placed_at) || '","sequence":' || sequence
      || ',"withdrawn":' || 'false}}', 'UTF8')
  from placed join offer using (turn) where verdict = 'PLACED' and caller_key is not null
  {conflict}
)
select verdict, placed_at, sequence, opens_at, closes_at, {stored} from placed order by turn
"""
_OFFERS: Final = {
    "one": "select 1 as turn, " + ", ".join(f":{name}::{type} as {name}" for name, type in _COLUMNS.items()),
    "many": "select * from unnest("  # noqa: S608 — the names and types of _COLUMNS
    + ", ".join(f":{name}::{type}[]" for name, type in _COLUMNS.items())
    + f") with ordinality as o ({', '.join(_COLUMNS)}, turn) order by turn",
}
_ATTEMPTS: Final = {
    # The key is claimed: where another request has it, that breaks off the whole statement.
    "first": {
        "place": "place_auction_bid(auction_id, organisation_id, placed_by, bid_id, price_eur)",
        "fingerprint": "case when pg_try_advisory_xact_lock(lock_key) then fingerprint end",
        "conflict": "",
        "stored": "null::bytea as stored_fingerprint, null::smallint as stored_status, null as stored_headers, "
        "null::bytea as stored_body",
    },
    # The key is looked up, and with it the response of an earlier request.
    "again": {
        "place": "place_auction_bid_once(auction_id, organisation_id, placed_by, bid_id, price_eur, caller_key, "
        "key_digest, lock_key, :retention::interval)",
        "fingerprint": "fingerprint",
        "conflict": """on conflict (caller_key, key_digest) do update
          set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
              body = excluded.body, created_at = excluded.created_at""",
        "stored": "kept_fingerprint as stored_fingerprint, kept_status as stored_status, "
        "kept_headers as stored_headers, kept_body as stored_body",
    },
}
_HEADERS: Final = """'{"Content-Type": "application/json", "Location": "/auctions/' || offer.auction_id || '/bids"}'"""
_STATEMENTS: Final = {
    (attempt, count): NamedStatement(
        _PLACE.format(offers=offers, outbox=OUTBOX, entry=ENTRY, headers=_HEADERS, **parts)
    )
    for attempt, parts in _ATTEMPTS.items()
    for count, offers in _OFFERS.items()
}


async def place_bids(pool: Pool, offers: Sequence[PendingBid]) -> list[PlacementResult]:
    """Give bids of one auction their positions in its order, one after the other, or say why they have none.

    Nearly all are sent once, so their keys are claimed without a lookup. Where a key is in use the statement breaks
    off, and a bid without a position may have had one before: both are placed again, as retries.
    """
    assert len({offer.auction_id for offer in offers}) == 1, "two locks in no known order"
    try:
        outcomes = await _place_rows(pool, "first", offers)
    except asyncpg.IntegrityConstraintViolationError as error:
        if not is_key_conflict(error):
            raise
        outcomes = await _place_rows(pool, "again", offers)
    else:
        unsure = [
            turn
            for turn, (offer, placed) in enumerate(zip(offers, outcomes, strict=True))
            if offer.key is not None and placed.verdict != "PLACED"
        ]
        if unsure:
            again = await _place_rows(pool, "again", [offers[turn] for turn in unsure])
            for turn, placed in zip(unsure, again, strict=True):
                outcomes[turn] = placed
    if any(placed.verdict == "PLACED" for placed in outcomes):
        notify_listeners()  # the statement has committed itself
    return outcomes


_PLACE_ALONE = NamedStatement("""
select verdict, placed_at, sequence, opens_at, closes_at
from place_auction_bid(:auction_id, :organisation_id, :placed_by, :bid_id, :price_eur)
""")
_ADD_EVENT = NamedStatement(
    """
insert into {outbox}
values (:event_id, :type, :event_org_id, :subject, :permission, :asset_key, :data::text::jsonb, :placed_at)
""",
    outbox=OUTBOX,
)
_RECORD_VALUES = ":" + ", :".join(_RECORD_COLUMNS)
_ADD_ENTRY = NamedStatement("insert into {entry} values ({values})", entry=ENTRY, values=_RECORD_VALUES)
_CLAIM_KEY = NamedStatement("""
insert into idempotency (caller_key, key_digest, fingerprint, status, headers, body)
values (:caller_key, :key_digest, case when pg_try_advisory_xact_lock(:lock_key) then :fingerprint::bytea end, :status,
  '{"Content-Type": "application/json", "Location": "/auctions/' || :auction_id::uuid || '/bids"}',
  convert_to(:answer::text || '"timestamp":"' || moment_on_wire(:placed_at) || '","sequence":' || :sequence::int
    || ',"withdrawn":' || 'false}', 'UTF8'))
""")


async def _place_by_parts(pool: Pool, offer: PendingBid) -> PlacementResult:
    """One bid by a statement for each of its parts, each of which a distributed database plans once."""
    values = _offer_values(offer)
    async with pool.acquire() as connection, connection.transaction():
        row = await _PLACE_ALONE.fetchrow(connection, offer)
        if row["verdict"] == "PLACED":
            values |= dict(row)
            await _ADD_EVENT.execute_part(connection, values)
            await _ADD_ENTRY.execute_part(connection, values)
            if offer.key is not None:
                await _CLAIM_KEY.execute_part(connection, values)
    return PlacementResult(**row, stored_fingerprint=None, stored_status=None, stored_headers=None, stored_body=None)


async def _place_rows(
    pool: Pool, attempt: Literal["first", "again"], offers: Sequence[PendingBid]
) -> list[PlacementResult]:
    if attempt == "first" and len(offers) == 1 and is_distributed(pool):
        return [await _place_by_parts(pool, offers[0])]
    rows = [_offer_values(offer) for offer in offers]
    values: dict[str, Any] = rows[0] if len(rows) == 1 else {name: [row[name] for row in rows] for name in _COLUMNS}
    if attempt == "again":
        values["retention"] = RETENTION
    statement = _STATEMENTS[attempt, "one" if len(rows) == 1 else "many"]
    found = await pool.fetch(statement.text, *(values[name] for name in statement.names))
    return [PlacementResult(**row) for row in found]


def _offer_values(offer: PendingBid) -> dict[str, Any]:
    check_declared(offer.event)
    key = offer.key
    return {
        **{name: getattr(offer, name) for name in _BID_COLUMNS},
        **dict(zip(_EVENT_COLUMNS, outbox_row(offer.event), strict=True)),
        **dict(zip(_RECORD_COLUMNS, entry_row(offer.entry), strict=True)),
        "caller_key": key and key.caller_key,
        "key_digest": key and key.digest,
        "lock_key": key and key.lock,
        "fingerprint": key and key.fingerprint,
    }


_OWN_BIDS = compose("select {bid} from auction_bid b where b.auction_id = $1 and b.organisation_id = $2 ", bid=_BID)


async def read_own_bids(
    db: Database, auction_id: UUID, organisation_id: UUID, *, before: int | None, limit: int
) -> list[AuctionBid]:
    """The organisation's bids, newest first, withdrawn ones included."""
    rows = await db.fetch(
        _OWN_BIDS + "and ($3::bigint is null or b.sequence < $3) order by b.position desc limit $4",
        *(auction_id, organisation_id, before, limit),
    )
    return [_read_bid(row) for row in rows]


async def read_own_bid(db: Database, auction_id: UUID, organisation_id: UUID, bid_id: UUID) -> AuctionBid | None:
    row = await db.fetchrow(_OWN_BIDS + "and b.id = $3", auction_id, organisation_id, bid_id)
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
