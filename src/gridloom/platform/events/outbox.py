"""Recording that something happened, in the transaction in which it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.platform.database.commit import InsertTarget, after_commit, defer_insert, flush_deferred
from gridloom.platform.database.pool import Database
from gridloom.platform.events import store
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.types import EVENT_FIELDS, EVENT_TYPES
from gridloom.platform.http import to_json

FEW: Final = 3
"""Events at once that are written along with the rest of their transaction's last rows."""

_listeners: dict[Callable[[], None], asyncio.AbstractEventLoop] = {}


async def record_event(
    db: Database,
    *,
    type: str,
    organisation_id: UUID,
    subject: str,
    permission: Permission,
    data: Mapping[str, Any],
    asset_key: int | None = None,
) -> UUID:
    """Record an event that exists if and only if the caller's transaction commits; its id.

    Call it after the change, so that events of one resource carry the order of its changes. `organisation_id` is whom
    it happened to; `permission` is what a reader's user must hold; `asset_key` lets the organisations that hold a
    grant with that permission on the asset read it as well.
    """
    event = NewEvent(
        type=type,
        organisation_id=organisation_id,
        subject=subject,
        permission=permission,
        asset_key=asset_key,
        data=data,
    )
    [event_id] = await record_events(db, [event])
    return event_id


async def record_events(db: Database, events: Sequence[NewEvent]) -> list[UUID]:
    """Many at once, in this order."""
    for event in events:
        check_declared(event)
    ids = await put_in_outbox(db, events)
    after_commit(db, notify_listeners)
    return ids


def check_declared(event: NewEvent) -> None:
    assert event.type in EVENT_TYPES, f"{event.type} is not in events/types.py"
    needed, known = EVENT_FIELDS[event.type]
    assert needed <= event.data.keys() <= known, (
        f"events/types.py declares other fields for {event.type} than {sorted(event.data)}"
    )


def subscribe(callback: Callable[[], None]) -> None:
    """Have `callback` called in this event loop after each commit in this process that recorded an event."""
    _listeners[callback] = asyncio.get_running_loop()


def unsubscribe(callback: Callable[[], None]) -> None:
    _listeners.pop(callback, None)


def notify_listeners() -> None:
    """To be called once a transaction that put events into the outbox has committed."""
    own = asyncio.get_running_loop()
    for callback, loop in tuple(_listeners.items()):
        if loop is own:
            callback()
        else:  # of a service in another thread
            loop.call_soon_threadsafe(callback)


_COLUMNS = (
    ("event_id", "{}"),
    ("type", "{}"),
    ("organisation_id", "{}"),
    ("subject", "{}"),
    ("permission", "{}"),
    ("asset_key", "{}"),
    ("data", "{}::text::jsonb"),
    ("time", "platform_now()"),
)
OUTBOX = f"event_outbox ({', '.join(name for name, _ in _COLUMNS)})"
"""Where an event goes, for a statement that writes it along with its cause; `outbox_row` has all values but `time`."""
OUTBOX_ROWS = InsertTarget("event_outbox", _COLUMNS)


def outbox_row(event: NewEvent) -> tuple[object, ...]:
    return (
        uuid7(),
        event.type,
        event.organisation_id,
        event.subject,
        event.permission,
        event.asset_key,
        to_json(event.data).decode(),
    )


async def put_in_outbox(db: Database, events: Sequence[NewEvent]) -> list[UUID]:
    """A few together with what else the transaction writes last; many by a statement of their own."""
    if len(events) <= FEW:  # by far the most
        rows = [outbox_row(event) for event in events]
        await defer_insert(db, OUTBOX_ROWS, *rows)
        return [cast(UUID, row[0]) for row in rows]
    await flush_deferred(db)  # events keep the order in which they were emitted
    return await store.insert_events(db, events)
