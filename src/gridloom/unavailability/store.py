"""Unavailabilities in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.capacity.store import LockedBatteries
from gridloom.database.commit.deferred_rows import defer_insert
from gridloom.database.commit.insert_target import InsertTarget, Row
from gridloom.database.pool import Database
from gridloom.unavailability.model import (
    NewPowerCapacity,
    NewUnavailability,
    NewVolume,
    UnavailabilitiesQuery,
    UnavailabilityCursor,
    UnavailabilityKind,
)

_SELECT = """
select u.id, u.description, u.type, u.starts_at, u.ends_at, u.energy_kwh, u.charge_power_kw, u.discharge_power_kw,
       u.version,
       array(select n.notification_id from unavailability_notification n
             where n.asset_key = u.asset_key and n.unavailability_id = u.id order by n.position) as notification_ids
from unavailability u
"""
_UNAVAILABILITIES = InsertTarget(
    "unavailability",
    [
        (name, "{}")
        for name in (
            "asset_key",
            "id",
            "description",
            "type",
            "starts_at",
            "ends_at",
            "energy_kwh",
            "charge_power_kw",
            "discharge_power_kw",
            "created_by",
            "recorded_at",
        )
    ],
)
_INSERT = _UNAVAILABILITIES.insert(1, 0)


@dataclass(frozen=True, slots=True)
class StoredUnavailability:
    """What was asked for, under its id and in its version."""

    id: UUID
    version: int
    content: NewUnavailability


async def insert_unavailability(
    db: Database,
    locked: LockedBatteries,
    asset_key: int,
    unavailability_id: UUID,
    new: NewUnavailability,
    created_by: UUID,
    recorded_at: datetime,
) -> None:
    assert asset_key in locked.keys, "what is available changes under the battery's lock"
    await db.execute(_INSERT, *_list_values(asset_key, unavailability_id, new, created_by, recorded_at))
    await _link_notifications(db, asset_key, unavailability_id, new.exchange_notification_ids)


async def insert_unavailability_deferred(
    db: Database,
    locked: LockedBatteries,
    asset_key: int,
    unavailability_id: UUID,
    new: NewUnavailability,
    created_by: UUID,
    recorded_at: datetime,
) -> None:
    """The same along with the transaction's last rows: for what links to no notification and is not looked at again."""
    assert asset_key in locked.keys, "what is available changes under the battery's lock"
    assert not new.exchange_notification_ids, "what links to it would come first"
    await defer_insert(db, _UNAVAILABILITIES, _list_values(asset_key, unavailability_id, new, created_by, recorded_at))


def _list_values(
    asset_key: int, unavailability_id: UUID, new: NewUnavailability, created_by: UUID, recorded_at: datetime
) -> Row:
    return (
        asset_key,
        unavailability_id,
        new.description,
        new.type,
        new.start,
        new.end,
        new.volume.energy_capacity,
        new.volume.power_capacity.charge,
        new.volume.power_capacity.discharge,
        created_by,
        recorded_at,
    )


async def update_unavailability(
    db: Database, asset_key: int, unavailability_id: UUID, content: NewUnavailability, grown_at: datetime | None
) -> int:
    """The new version. `grown_at`: when it came to take more than before, None where it does not."""
    version: int = await db.fetchval(
        """
        update unavailability
        set description = $3, type = $4, starts_at = $5, ends_at = $6, energy_kwh = $7, charge_power_kw = $8,
            discharge_power_kw = $9, version = version + 1, updated_at = statement_timestamp(),
            recorded_at = coalesce($10, recorded_at)
        where asset_key = $1 and id = $2 returning version
        """,
        asset_key,
        unavailability_id,
        content.description,
        content.type,
        content.start,
        content.end,
        content.volume.energy_capacity,
        content.volume.power_capacity.charge,
        content.volume.power_capacity.discharge,
        grown_at,
    )
    await db.execute(
        "delete from unavailability_notification where asset_key = $1 and unavailability_id = $2",
        asset_key,
        unavailability_id,
    )
    await _link_notifications(db, asset_key, unavailability_id, content.exchange_notification_ids)
    return version


async def delete_unavailability(db: Database, asset_key: int, unavailability_id: UUID) -> None:
    await db.execute("delete from unavailability where asset_key = $1 and id = $2", asset_key, unavailability_id)


async def read_unavailability(db: Database, asset_key: int, unavailability_id: UUID) -> StoredUnavailability | None:
    row = await db.fetchrow(_SELECT + "where u.asset_key = $1 and u.id = $2", asset_key, unavailability_id)
    return None if row is None else _read_stored(row)


async def list_unavailabilities(
    db: Database, asset_key: int, query: UnavailabilitiesQuery, after: UnavailabilityCursor | None, limit: int
) -> list[StoredUnavailability]:
    rows = await db.fetch(
        _SELECT
        + """
        where u.asset_key = $1
          and ($2::timestamptz is null or u.ends_at > $2) and ($3::timestamptz is null or u.starts_at < $3)
          and ($4::text is null or u.type = $4)
          and ($5::timestamptz is null or (u.starts_at, u.id) < ($5, $6::uuid))
        order by u.starts_at desc, u.id desc limit $7
        """,
        asset_key,
        query.start,
        query.end,
        query.type,
        None if after is None else after.start,
        None if after is None else after.id,
        limit,
    )
    return [_read_stored(row) for row in rows]


async def known_notifications(db: Database, asset_key: int, notification_ids: Sequence[UUID]) -> set[UUID]:
    if not notification_ids:
        return set()
    rows = await db.fetch(
        "select id from exchange_notification where asset_key = $1 and id = any($2::uuid[])",
        asset_key,
        list(notification_ids),
    )
    return {row["id"] for row in rows}


async def _link_notifications(
    db: Database, asset_key: int, unavailability_id: UUID, notification_ids: Sequence[UUID]
) -> None:
    if not notification_ids:
        return
    await db.execute(
        """
        insert into unavailability_notification (asset_key, unavailability_id, notification_id, position)
        select $1, $2, notification_id, position
        from unnest($3::uuid[]) with ordinality as given (notification_id, position)
        on conflict do nothing
        """,
        asset_key,
        unavailability_id,
        list(notification_ids),
    )


def _read_stored(row: asyncpg.Record) -> StoredUnavailability:
    return StoredUnavailability(
        id=row["id"],
        version=row["version"],
        content=NewUnavailability(
            description=row["description"],
            type=UnavailabilityKind(row["type"]),
            start=row["starts_at"],
            end=row["ends_at"],
            volume=NewVolume(
                energy_capacity=row["energy_kwh"],
                power_capacity=NewPowerCapacity(charge=row["charge_power_kw"], discharge=row["discharge_power_kw"]),
            ),
            exchange_notification_ids=row["notification_ids"],
        ),
    )
