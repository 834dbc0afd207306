"""Unavailabilities in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.capacity.store import LockedBatteries
from gridloom.platform.database.commit import InsertTarget, Row, defer_insert
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.unavailability.model import (
    NewPowerCapacity,
    NewUnavailability,
    NewVolume,
    UnavailabilitiesQuery,
    UnavailabilityCursor,
    UnavailabilityKind,
)

_SELECT = """
select u.id, u.description, u.type, u.starts_at as start, u.ends_at as end, u.energy_kwh, u.charge_power_kw,
       u.discharge_power_kw, u.version,
       array(select n.notification_id from unavailability_notification n
             where n.asset_key = u.asset_key and n.unavailability_id = u.id order by n.position)
         as exchange_notification_ids
from unavailability u
"""
_UNAVAILABILITIES = InsertTarget.of_columns(
    "unavailability",
    """asset_key, id, description, type, starts_at, ends_at, energy_kwh, charge_power_kw, discharge_power_kw,
       created_by, recorded_at""",
)
_INSERT = _UNAVAILABILITIES.insert(1, 0)


@dataclass(frozen=True, slots=True)
class StoredUnavailability:
    """The requested unavailability, under its id and in its version."""

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
    *,
    is_read_again: bool = True,
) -> None:
    """is_read_again: False where this transaction does not read it, so that it can be one of its deferred rows."""
    assert asset_key in locked.keys, "what is available changes under the battery's lock"
    values = _list_values(asset_key, unavailability_id, new, created_by, recorded_at)
    if not is_read_again and not new.exchange_notification_ids:
        await defer_insert(db, _UNAVAILABILITIES, values)
        return
    await db.execute(_INSERT, *values)
    await _link_notifications(db, asset_key, unavailability_id, new.exchange_notification_ids)


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


_UPDATE = NamedStatement("""
update unavailability
set description = :description, type = :type, starts_at = :start, ends_at = :end, energy_kwh = :energy_kwh,
    charge_power_kw = :charge_power_kw, discharge_power_kw = :discharge_power_kw, version = version + 1,
    updated_at = statement_timestamp(), recorded_at = coalesce(:grown_at, recorded_at)
where asset_key = :asset_key and id = :id returning version
""")


async def update_unavailability(
    db: Database, asset_key: int, unavailability_id: UUID, content: NewUnavailability, grown_at: datetime | None
) -> int:
    """The new version. `grown_at`: when it came to take more than before, None where it does not."""
    row = await _UPDATE.fetchrow(
        db,
        content,
        asset_key=asset_key,
        id=unavailability_id,
        energy_kwh=content.volume.energy_capacity,
        charge_power_kw=content.volume.power_capacity.charge,
        discharge_power_kw=content.volume.power_capacity.discharge,
        grown_at=grown_at,
    )
    await db.execute(
        "delete from unavailability_notification where asset_key = $1 and unavailability_id = $2",
        asset_key,
        unavailability_id,
    )
    await _link_notifications(db, asset_key, unavailability_id, content.exchange_notification_ids)
    return int(row["version"])


async def delete_unavailability(db: Database, asset_key: int, unavailability_id: UUID) -> None:
    await db.execute("delete from unavailability where asset_key = $1 and id = $2", asset_key, unavailability_id)


async def read_unavailability(db: Database, asset_key: int, unavailability_id: UUID) -> StoredUnavailability | None:
    row = await db.fetchrow(_SELECT + "where u.asset_key = $1 and u.id = $2", asset_key, unavailability_id)
    return None if row is None else _read_stored(row)


_LIST = NamedStatement(
    _SELECT
    + """
where u.asset_key = :asset_key
  and (:start::timestamptz is null or u.ends_at > :start) and (:end::timestamptz is null or u.starts_at < :end)
  and (:type::text is null or u.type = :type)
  and (:after_start::timestamptz is null or (u.starts_at, u.id) < (:after_start, :after_id::uuid))
order by u.starts_at desc, u.id desc limit :limit
"""
)


async def list_unavailabilities(
    db: Database, asset_key: int, query: UnavailabilitiesQuery, after: UnavailabilityCursor | None, limit: int
) -> list[StoredUnavailability]:
    rows = await _LIST.fetch(
        db,
        query,
        asset_key=asset_key,
        after_start=None if after is None else after.start,
        after_id=None if after is None else after.id,
        limit=limit,
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
    power = NewPowerCapacity(charge=row["charge_power_kw"], discharge=row["discharge_power_kw"])
    volume = NewVolume(energy_capacity=row["energy_kwh"], power_capacity=power)
    content = read_row(NewUnavailability, row, type=UnavailabilityKind(row["type"]), volume=volume)
    return StoredUnavailability(row["id"], row["version"], content)
