"""The SQL of the event outbox and the organisations' event orders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import msgspec

from gridloom.kernel.ids import uuid7
from gridloom.platform.database.pool import is_distributed
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import compose
from gridloom.platform.events.framing import frame
from gridloom.platform.events.model import Event, NewEvent, SequencedEvent
from gridloom.platform.events.types import OPERATOR_TYPES
from gridloom.platform.http import to_json

if TYPE_CHECKING:
    import asyncpg

    from gridloom.platform.database.pool import Database

MAX_SEQUENCED_BY_READER: Final = 25
"""Of a distributed database: as many, if each has a reader of its own, cost there what one statement for all does."""
CHANNEL = "gridloom_event"
"""Says `<organisation>:<last sequence>` for each order that grew, or `*` for too many to list."""


async def insert_events(db: Database, events: Sequence[NewEvent]) -> list[UUID]:
    """Put many events into the outbox by a statement of their own; their ids."""
    ids = [uuid7() for _ in events]
    # One document: the driver takes longer to encode an array for each column.
    listed = [{"event_id": id, **msgspec.structs.asdict(event)} for id, event in zip(ids, events, strict=True)]
    await db.execute(
        """
        insert into event_outbox (event_id, type, organisation_id, subject, permission, asset_key, data, time)
        select event_id, type, organisation_id, subject, permission, asset_key, data, (select platform_now())
        from rows from (jsonb_to_recordset($1::text::jsonb) as (
            event_id uuid, type text, organisation_id uuid, subject text, permission text, asset_key int, data jsonb
          )) with ordinality
          as emitted (event_id, type, organisation_id, subject, permission, asset_key, data, place)
        order by place
        """,
        to_json(listed).decode(),
    )
    return ids


async def outbox_is_empty(db: Database) -> bool:
    return not await db.fetchval("select exists (select from event_outbox)")


async def sequence_events(db: Database, most: int) -> int:
    """Move up to `most` committed events into their orders; how many."""
    if is_distributed(db):
        return int(
            await db.fetchval(
                "select sequence_few_events($1, $2, $3)", most, list(OPERATOR_TYPES), MAX_SEQUENCED_BY_READER
            )
        )
    return int(await db.fetchval("select sequence_events($1, $2)", most, list(OPERATOR_TYPES)))


async def wait_for_sequencer(db: Database) -> None:
    """Wait until the running sequencer has ended, its last step on every node included.

    On a distributed database an order's counter, which the coordinator keeps, may show up shortly before the events do.
    """
    await db.execute("select pg_advisory_xact_lock_shared(hashtextextended('sequence_events', 6127))")


IS_READABLE = """
  (e.organisation_id = e.origin_id or e.asset_key is null
   or exists (select 1 from asset_grant g where g.asset_key = e.asset_key and g.organisation_id = e.organisation_id
                and e.permission = any(g.permissions))
   or exists (select 1 from asset a, organisation o where a.key = e.asset_key and a.kind = 'VIRTUAL'
                and o.id = e.organisation_id and o.kind = 'OPERATOR'))
"""
"""Whether the organisation whose order an event `e` is in may still read it: a grant can have been taken back."""


async def read_events(db: Database, organisation_id: UUID, after: int, most: int) -> list[SequencedEvent]:
    """The next events of an order, each with whether the organisation may read it now."""
    rows = await db.fetch(
        compose("""
        select e.sequence, e.id, e.type, e.time, e.origin_id, e.subject, e.permission, e.data::text as data,
               {is_readable} as is_open
        from event e
        where e.organisation_id = $1 and e.sequence > $2
        order by e.sequence
        limit $3
        """, is_readable=IS_READABLE),
        organisation_id, after, most,
    )  # fmt: skip
    return [_read_event_row(row) for row in rows]


def _read_event_row(row: asyncpg.Record) -> SequencedEvent:
    event = read_row(Event, row, organisation_id=row["origin_id"], data=msgspec.json.decode(row["data"]))
    return SequencedEvent(
        sequence=row["sequence"],
        permission=row["permission"],
        is_open=row["is_open"],
        event=event,
        frame=frame(row["sequence"], row["type"], to_json(event)),
    )


async def last_sequences(db: Database, organisation_ids: Sequence[UUID]) -> dict[UUID, int]:
    """How far each order has come; an organisation without events has no order yet."""
    rows = await db.fetch(
        "select organisation_id, last_sequence from event_head where organisation_id = any($1)", list(organisation_ids)
    )
    return {row["organisation_id"]: row["last_sequence"] for row in rows}


async def first_retained_sequence(db: Database, organisation_id: UUID) -> int | None:
    oldest = await db.fetchval(
        "select sequence from event where organisation_id = $1 order by sequence limit 1", organisation_id
    )
    return None if oldest is None else int(oldest)


async def delete_events_before(db: Database, older_than: timedelta, most: int) -> int:
    """Delete up to `most` events of that age, from the start of each order; how many.

    What is left of an order has no gap, and its counter stays, so no position is ever given twice.
    """
    return len(
        await db.fetch(
            """
            delete from event
            where (organisation_id, sequence) in (
              select organisation_id, sequence from event where sequenced_at < statement_timestamp() - $1::interval
              order by organisation_id, sequence limit $2)
            returning 1
            """,
            older_than, most,
        )
    )  # fmt: skip
