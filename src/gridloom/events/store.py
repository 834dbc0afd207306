"""The SQL of the event outbox and the organisations' event orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from gridloom.events.types import OPERATOR_TYPES

if TYPE_CHECKING:
    from gridloom.database.pool import Database

CHANNEL = "gridloom_event"
"""Says `<organisation>:<last sequence>` for each order that grew, or `*` for too many to list."""


async def put_in_outbox(
    db: Database,
    event_id: UUID,
    type: str,
    organisation_id: UUID,
    subject: str,
    permission: str,
    asset_key: int | None,
    data: Mapping[str, Any],
) -> None:
    await db.execute(
        """
        insert into event_outbox (event_id, type, time, organisation_id, subject, permission, asset_key, data)
        values ($1, $2, platform_now(), $3, $4, $5, $6, $7::text::jsonb)
        """,
        event_id, type, organisation_id, subject, permission, asset_key, msgspec.json.encode(data).decode(),
    )  # fmt: skip


async def outbox_is_empty(db: Database) -> bool:
    return not await db.fetchval("select exists (select from event_outbox)")


async def sequence_events(db: Database, most: int) -> int:
    """Move up to `most` committed events into their orders; how many."""
    return int(await db.fetchval("select sequence_events($1, $2)", most, list(OPERATOR_TYPES)))
