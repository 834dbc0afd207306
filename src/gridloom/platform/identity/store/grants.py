"""Assets' owners and grants in the database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import OrganisationID
from gridloom.kernel.permission import Permission
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.identity.model import GrantRecord


@dataclass(frozen=True, slots=True)
class AssetRights:
    """An asset, its owner, and what the asker's organisation was granted on it."""

    key: int
    kind: str
    organisation_id: OrganisationID
    granted: frozenset[str]


_GRANT: Final = """
select asset_key, organisation_id, permissions, granted_by, version, created_at, updated_at,
       (select name from organisation where id = asset_grant.organisation_id) as organisation_name
from asset_grant
"""


def _read_grant(row: asyncpg.Record) -> GrantRecord:
    return read_row(GrantRecord, row, permissions=frozenset(row["permissions"]))


async def insert_asset(db: Database, asset_id: UUID, kind: str, organisation_id: UUID) -> int:
    """Register an asset with its owner; answers the key that every other table carries."""
    return int(
        await db.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, $2, $3) returning key",
            asset_id,
            kind,
            organisation_id,
        )
    )


MAX_CACHED_ASSETS: Final = 20_000
_own_assets: dict[UUID, AssetRights] = {}
"""Physical assets that their owners have read. The row of one never changes, and only the reset of a sandbox deletes
it, together with its owner."""


async def read_rights(
    db: Database, asset_id: UUID, asking_organisation_id: UUID, *, may_be_cached: bool = False
) -> AssetRights | None:
    """By a statement for each table: a distributed database keeps the plan of such a read, not of a join, and an owner
    needs no grant.

    may_be_cached: for askers who do not outlive the reset of a sandbox, as the operator does.
    """
    if may_be_cached and (own := _own_assets.get(asset_id)) and own.organisation_id == asking_organisation_id:
        return own
    row = await db.fetchrow("select key, kind, organisation_id from asset where id = $1", asset_id)
    if row is None:
        return None
    asset = AssetRights(row["key"], row["kind"], OrganisationID(row["organisation_id"]), frozenset())
    if asset.organisation_id == asking_organisation_id:
        if may_be_cached and asset.kind == "PHYSICAL":  # a virtual one may be deleted
            _cache_own_asset(asset_id, asset)
        return asset
    granted = await db.fetchval(
        "select permissions from asset_grant where asset_key = $1 and organisation_id = $2",
        asset.key,
        asking_organisation_id,
    )
    return replace(asset, granted=frozenset(granted or ()))


def _cache_own_asset(asset_id: UUID, asset: AssetRights) -> None:
    if len(_own_assets) >= MAX_CACHED_ASSETS:
        _own_assets.clear()
    _own_assets[asset_id] = asset


async def list_reached_assets(db: Database, organisation_id: UUID, asset_ids: list[UUID]) -> frozenset[UUID]:
    """Which of these are physical assets that the organisation owns or holds a grant on."""
    rows = await db.fetch(
        """
        select a.id from asset a left join asset_grant g on g.asset_key = a.key and g.organisation_id = $1
        where a.id = any($2::uuid[]) and a.kind = 'PHYSICAL' and (a.organisation_id = $1 or g.asset_key is not null)
        """,
        organisation_id,
        asset_ids,
    )
    return frozenset(row["id"] for row in rows)


async def list_granting_organisations(
    db: Database, organisation_id: UUID, permission: Permission
) -> frozenset[OrganisationID]:
    """The owners of assets on which the organisation holds a grant of this."""
    rows = await db.fetch(
        """
        select distinct a.organisation_id from asset_grant g join asset a on a.key = g.asset_key
        where g.organisation_id = $1 and g.permissions @> array[$2::text]
        """,
        organisation_id,
        permission,
    )
    return frozenset(row["organisation_id"] for row in rows)


async def list_grants(db: Database, asset_key: int, *, after: UUID | None, limit: int) -> list[GrantRecord]:
    """By organisation."""
    rows = await db.fetch(
        _GRANT
        + """where asset_key = $1 and ($2::uuid is null or organisation_id > $2)
             order by organisation_id limit $3""",
        asset_key,
        after,
        limit,
    )
    return [_read_grant(row) for row in rows]


async def read_grant(db: Database, asset_key: int, organisation_id: UUID) -> GrantRecord | None:
    row = await db.fetchrow(_GRANT + "where asset_key = $1 and organisation_id = $2", asset_key, organisation_id)
    return None if row is None else _read_grant(row)


async def put_grant(
    db: Database, asset_key: int, organisation_id: UUID, permissions: list[Permission], granted_by: UUID
) -> GrantRecord:
    """Replace what the organisation may do; giving the same again changes nothing, not even the version."""
    row = await db.fetchrow(
        """
        with put as (
          insert into asset_grant as g (asset_key, organisation_id, permissions, granted_by, updated_at)
          values ($1, $2, $3, $4, clock_timestamp())
          on conflict (asset_key, organisation_id) do update
            set permissions = excluded.permissions,
                granted_by = case when g.permissions = excluded.permissions then g.granted_by
                                  else excluded.granted_by end,
                version = g.version + (g.permissions <> excluded.permissions)::int,
                updated_at = case when g.permissions = excluded.permissions then g.updated_at
                                  else excluded.updated_at end
          returning asset_key, organisation_id, permissions, granted_by, version, created_at, updated_at
        )
        select put.*, o.name as organisation_name from put join organisation o on o.id = put.organisation_id
        """,
        asset_key,
        organisation_id,
        permissions,
        granted_by,
    )
    assert row is not None
    return _read_grant(row)


async def delete_grant(db: Database, asset_key: int, organisation_id: UUID) -> bool:
    status = await db.execute(
        "delete from asset_grant where asset_key = $1 and organisation_id = $2", asset_key, organisation_id
    )
    return str(status) == "DELETE 1"
