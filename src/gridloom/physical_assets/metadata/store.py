"""Metadata in the database: one document per asset and category."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import asyncpg
import msgspec

from gridloom.physical_assets.metadata.model import BODY_TYPES, MetadataBody, MetadataCategory
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class StoredMetadata:
    """Version 0 means that it was never put."""

    version: int
    body: MetadataBody


async def read_all(db: Database, asset_key: int) -> dict[MetadataCategory, StoredMetadata]:
    rows = await db.fetch("select category, version, body from physical_asset_metadata where asset_key = $1", asset_key)
    found = {MetadataCategory(row["category"]): row for row in rows}
    return {category: _read_metadata_row(category, found.get(category)) for category in MetadataCategory}


async def read_one(db: Database, asset_key: int, category: MetadataCategory) -> StoredMetadata:
    row = await db.fetchrow(
        "select version, body from physical_asset_metadata where asset_key = $1 and category = $2",
        asset_key,
        category,
    )
    return _read_metadata_row(category, row)


async def put(
    db: Database, asset_key: int, category: MetadataCategory, body: MetadataBody, updated_by: UUID
) -> StoredMetadata:
    """Replace the category; putting the same again changes nothing, not even the version."""
    row = await db.fetchrow(
        """
        insert into physical_asset_metadata as m (asset_key, category, body, updated_by, updated_at)
        values ($1, $2, $3, $4, clock_timestamp())
        on conflict (asset_key, category) do update
          set body = excluded.body,
              version = m.version + (m.body <> excluded.body)::int,
              updated_at = case when m.body = excluded.body then m.updated_at else excluded.updated_at end,
              updated_by = case when m.body = excluded.body then m.updated_by else excluded.updated_by end
        returning version, body
        """,
        asset_key,
        category,
        body,
        updated_by,
    )
    return _read_metadata_row(category, row)


def _read_metadata_row(category: MetadataCategory, row: asyncpg.Record | None) -> StoredMetadata:
    if row is None:
        return StoredMetadata(0, BODY_TYPES[category]())
    return StoredMetadata(row["version"], msgspec.convert(row["body"], BODY_TYPES[category]))
