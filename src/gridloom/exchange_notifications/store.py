"""Exchange notifications in the database: a row per message and a row per version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from gridloom.exchange_notifications.message import (
    CapacityInterval,
    CodeScheme,
    EventStatus,
    MarketMessage,
    ParticipantCode,
    ReasonCode,
    UmmEventType,
    UnavailabilityType,
    UnitType,
)
from gridloom.exchange_notifications.model import NotificationsQuery
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row, values_of
from gridloom.platform.database.statement import NamedStatement

_VERSION = """
select n.id, n.message_id, v.*,
       array(select u.unavailability_id from unavailability_notification u
             where u.asset_key = n.asset_key and u.notification_id = n.id
             order by u.unavailability_id) as unavailability_ids
from exchange_notification n
join exchange_notification_version v on v.asset_key = n.asset_key and v.notification_id = n.id
"""


@dataclass(frozen=True, slots=True)
class StoredNotification:
    """One version: what it says, and what it is about."""

    id: UUID
    message: MarketMessage
    available_capacity_kw: float
    unavailable_capacity_kw: float
    unavailability_ids: list[UUID]


@dataclass(frozen=True, slots=True)
class Publisher:
    """Fields of a message that come from the asset and its owner, as they are when it is published."""

    asset_name: str
    asset_eic: str | None
    participant_name: str
    participant_code: ParticipantCode | None
    participant_eic: str | None
    installed_capacity_kw: float
    published_at: datetime


async def read_publisher(db: Database, asset_key: int, at: datetime) -> Publisher:
    """The rated discharge power in force at `at`, or the first to come, is what is installed. The publisher's code is
    the one in the asset's market metadata; ACER's own goes before an EIC."""
    row = await db.fetchrow(
        """
        select p.name, p.eic_code, o.name as organisation_name, m.body ->> 'acerCode' as ace,
               m.body ->> 'marketParticipantEic' as eic,
               (select rated_discharge_power_kw from physical_asset_parameters q where q.asset_key = $1
                order by q.valid_from > $2, case when q.valid_from > $2 then q.valid_from end, q.valid_from desc,
                         q.version desc
                limit 1) as installed_kw
        from physical_asset p join asset a on a.key = p.asset_key join organisation o on o.id = a.organisation_id
        left join physical_asset_metadata m on m.asset_key = p.asset_key and m.category = 'market'
        where p.asset_key = $1
        """,
        asset_key,
        at,
    )
    assert row is not None
    codes = [ParticipantCode(scheme, row[scheme]) for scheme in CodeScheme if row[scheme] is not None]
    return Publisher(
        asset_name=row["name"],
        asset_eic=row["eic_code"],
        participant_name=row["organisation_name"],
        participant_code=codes[0] if codes else None,
        participant_eic=row["eic"],
        installed_capacity_kw=row["installed_kw"],
        published_at=(await platform_now(db)).replace(microsecond=0),
    )


async def insert_notification(db: Database, asset_key: int, notification_id: UUID, message_id: str) -> bool:
    """False where the asset has another notification under that message id."""
    status = await db.execute(
        """
        insert into exchange_notification (asset_key, id, message_id, latest_version) values ($1, $2, $3, 0)
        on conflict (asset_key, message_id) do nothing
        """,
        asset_key,
        notification_id,
        message_id,
    )
    return str(status) == "INSERT 0 1"


_INSERT_VERSION = NamedStatement("""
insert into exchange_notification_version (
  asset_key, notification_id, version, event_status, unavailability_type, event_type, reason_code, unit_type,
  asset_name, asset_eic, bidding_zone, participant_name, installed_capacity_kw, available_capacity_kw,
  unavailable_capacity_kw, capacity_intervals, starts_at, ends_at, duration_uncertainty, cause, remarks,
  published_at, published_by, participant_code_scheme, participant_code, participant_eic)
values (
  :asset_key, :notification_id, :version, :event_status, :unavailability_type, :event_type, :reason_code, :unit_type,
  :asset_name, :asset_eic, :bidding_zone, :participant_name, :installed_capacity_kw, :available_capacity_kw,
  :unavailable_capacity_kw, :capacity_intervals, :starts_at, :ends_at, :duration_uncertainty, :cause, :remarks,
  :published_at, :published_by, :participant_code_scheme, :participant_code, :participant_eic)
""")


async def insert_version(db: Database, asset_key: int, new: StoredNotification, published_by: UUID) -> None:
    """Add the version and dismiss the one before it."""
    message = new.message
    await db.execute(
        """
        update exchange_notification_version set event_status = 'DISMISSED'
        where asset_key = $1 and notification_id = $2 and version = $3
        """,
        asset_key,
        new.id,
        message.version - 1,
    )
    code = message.participant_code
    written = values_of(message) | {
        "asset_key": asset_key,
        "notification_id": new.id,
        "available_capacity_kw": new.available_capacity_kw,
        "unavailable_capacity_kw": new.unavailable_capacity_kw,
        "capacity_intervals": msgspec.to_builtins(message.intervals),
        "starts_at": message.start,
        "ends_at": message.end,
        "published_by": published_by,
        "participant_code_scheme": code and code.scheme,
        "participant_code": code and code.code,
    }
    await _INSERT_VERSION.execute_part(db, written)
    await db.execute(
        "update exchange_notification set latest_version = $3 where asset_key = $1 and id = $2",
        asset_key,
        new.id,
        message.version,
    )


async def read_notification(
    db: Database, asset_key: int, notification_id: UUID, version: int | None = None
) -> StoredNotification | None:
    """A version, or the latest."""
    row = await db.fetchrow(
        _VERSION + "where n.asset_key = $1 and n.id = $2 and v.version = coalesce($3, n.latest_version)",
        asset_key,
        notification_id,
        version,
    )
    return None if row is None else _read_notification_row(row)


async def list_notifications(
    db: Database, asset_key: int, query: NotificationsQuery, before: UUID | None, limit: int
) -> list[StoredNotification]:
    rows = await db.fetch(
        _VERSION
        + """
        where n.asset_key = $1 and v.version = n.latest_version
          and ($2::timestamptz is null or v.ends_at > $2) and ($3::timestamptz is null or v.starts_at < $3)
          and ($4::text is null or v.event_status = $4)
          and ($5::uuid is null or n.id < $5)
        order by n.id desc limit $6
        """,
        asset_key,
        query.start,
        query.end,
        query.event_status,
        before,
        limit,
    )
    return [_read_notification_row(row) for row in rows]


async def existing_unavailability_ids(db: Database, asset_key: int, unavailability_ids: Sequence[UUID]) -> set[UUID]:
    if not unavailability_ids:
        return set()
    rows = await db.fetch(
        "select id from unavailability where asset_key = $1 and id = any($2::uuid[])",
        asset_key,
        list(unavailability_ids),
    )
    return {row["id"] for row in rows}


async def set_unavailabilities(
    db: Database, asset_key: int, notification_id: UUID, unavailability_ids: Sequence[UUID]
) -> None:
    """Exactly these are what the message is about; those that gain or lose it get a new version."""
    of_message = (asset_key, notification_id, list(unavailability_ids))
    gone = await db.fetch(
        """
        delete from unavailability_notification
        where asset_key = $1 and notification_id = $2 and unavailability_id <> all($3::uuid[])
        returning unavailability_id
        """,
        *of_message,
    )
    added = await db.fetch(
        """
        insert into unavailability_notification (asset_key, unavailability_id, notification_id, position)
        select $1, wanted.id, $2, 1 + coalesce(max(n.position), 0)
        from unnest($3::uuid[]) as wanted (id)
        left join unavailability_notification n on n.asset_key = $1 and n.unavailability_id = wanted.id
        group by wanted.id
        on conflict do nothing
        returning unavailability_id
        """,
        *of_message,
    )
    await db.execute(
        """
        update unavailability set version = version + 1, updated_at = statement_timestamp()
        where asset_key = $1 and id = any($2::uuid[])
        """,
        asset_key,
        [row["unavailability_id"] for row in (*gone, *added)],
    )


def _read_notification_row(row: asyncpg.Record) -> StoredNotification:
    return read_row(StoredNotification, row, message=_read_message_row(row))


def _read_message_row(row: asyncpg.Record) -> MarketMessage:
    scheme = row["participant_code_scheme"]
    intervals: Any = msgspec.convert(row["capacity_intervals"], tuple[CapacityInterval, ...])
    return read_row(
        MarketMessage,
        row,
        event_status=EventStatus(row["event_status"]),
        unavailability_type=UnavailabilityType(row["unavailability_type"]),
        event_type=UmmEventType(row["event_type"]),
        reason_code=ReasonCode(row["reason_code"]),
        unit_type=UnitType(row["unit_type"]),
        participant_code=None if scheme is None else ParticipantCode(CodeScheme(scheme), row["participant_code"]),
        intervals=intervals,
        start=row["starts_at"],
        end=row["ends_at"],
    )
