"""Fleets in the database; which fleet an asset is in is stored with the asset, so it is in one at most."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import uuid7
from gridloom.physical_assets.fleets.model import Fleet
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row

_FLEET = """
select f.id, f.name, f.organisation_id, f.version, f.created_at,
       array(select a.id from physical_asset p join asset a on a.key = p.asset_key
             where p.fleet_id = f.id order by a.id) as physical_asset_ids
from fleet f
"""


@dataclass(frozen=True, slots=True)
class StoredFleet:
    version: int
    fleet: Fleet


async def insert_fleet(db: Database, organisation_id: UUID, name: str) -> UUID:
    fleet_id = uuid7()
    await db.execute(
        "insert into fleet (id, organisation_id, name) values ($1, $2, $3)", fleet_id, organisation_id, name
    )
    return fleet_id


async def read_fleet(db: Database, fleet_id: UUID, *, for_change: bool = False) -> StoredFleet | None:
    if for_change:
        await db.execute("select from fleet where id = $1 for update", fleet_id)
    row = await db.fetchrow(_FLEET + "where f.id = $1", fleet_id)
    return None if row is None else _read_fleet_row(row)


async def list_fleets(db: Database, organisation_id: UUID | None, *, after: UUID | None, limit: int) -> list[Fleet]:
    """Those of an organisation; of all where it is None."""
    rows = await db.fetch(
        _FLEET
        + """where ($1::uuid is null or f.organisation_id = $1) and ($2::uuid is null or f.id > $2)
             order by f.id limit $3""",
        organisation_id,
        after,
        limit,
    )
    return [_read_fleet_row(row).fleet for row in rows]


async def rename_fleet(db: Database, fleet_id: UUID, name: str) -> None:
    await db.execute("update fleet set name = $2 where id = $1", fleet_id, name)


async def bump_fleet_version(db: Database, fleet_id: UUID) -> None:
    await db.execute(
        "update fleet set version = version + 1, updated_at = statement_timestamp() where id = $1", fleet_id
    )


async def read_owned_asset_keys(db: Database, organisation_id: UUID, asset_ids: Collection[UUID]) -> dict[UUID, int]:
    """Keys of those ids that are physical assets of the organisation."""
    rows = await db.fetch(
        "select id, key from asset where id = any($2::uuid[]) and organisation_id = $1 and kind = 'PHYSICAL'",
        organisation_id,
        list(asset_ids),
    )
    return {row["id"]: row["key"] for row in rows}


async def set_members(db: Database, fleet_id: UUID, asset_keys: Collection[int]) -> None:
    """Exactly these assets from now on; one that was in another fleet leaves it. Rows are taken by key."""
    await db.execute(
        """
        with moving as (
          select asset_key, asset_key = any($2::int[]) as joins from physical_asset
          where (fleet_id = $1 and asset_key <> all($2::int[]))
             or (asset_key = any($2::int[]) and fleet_id is distinct from $1)
          order by asset_key for update
        )
        update physical_asset p
        set fleet_id = case when m.joins then $1 end, version = p.version + 1, updated_at = statement_timestamp()
        from moving m where p.asset_key = m.asset_key
        """,
        fleet_id,
        list(asset_keys),
    )


async def delete_fleet(db: Database, fleet_id: UUID) -> None:
    """Its assets stay, in no fleet."""
    await set_members(db, fleet_id, [])
    await db.execute("delete from fleet where id = $1", fleet_id)


def _read_fleet_row(row: asyncpg.Record) -> StoredFleet:
    return StoredFleet(row["version"], read_row(Fleet, row))
