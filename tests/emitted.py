"""The events that changes have emitted, as they lie in the database."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

    from gridloom.platform.database.pool import Database


@dataclass(frozen=True)
class Emitted:
    type: str
    subject: str
    permission: str
    data: dict[str, Any]


async def events_of(db: Database, organisation_id: UUID, *, subject: str = "") -> list[Emitted]:
    """Of what happened to one organisation, the earliest first; `subject` narrows it to what lies at or below it."""
    rows = await db.fetch(
        """
        select event_id, type, time, subject, permission, data::text as data from event_outbox
        where organisation_id = $1 and starts_with(subject, $2)
        union
        select id, type, time, subject, permission, data::text from event
        where organisation_id = $1 and origin_id = $1 and starts_with(subject, $2)
        order by time, event_id
        """,
        organisation_id,
        subject,
    )
    return [Emitted(row["type"], row["subject"], row["permission"], _read_data(row["data"])) for row in rows]


async def is_of_asset(db: Database, event: Emitted, asset_id: str) -> bool:
    """Whether all events like it are those of this asset, by which grants reach them."""
    rows = await db.fetch(
        """
        select e.asset_key, (select key from asset where id = $3::uuid) as key
        from (select asset_key, subject, type from event_outbox union all select asset_key, subject, type from event) e
        where e.subject = $1 and e.type = $2
        """,
        event.subject,
        event.type,
        asset_id,
    )
    return bool(rows) and all(row["asset_key"] == row["key"] for row in rows)


def _read_data(text: str) -> dict[str, Any]:
    data = json.loads(text)
    assert isinstance(data, dict)
    return data
