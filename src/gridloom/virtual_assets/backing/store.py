"""The physical assets that may stand behind virtual ones, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.kernel.ids import PhysicalAssetID
from gridloom.physical_assets.model import AssetStatus


@dataclass(frozen=True, slots=True)
class PhysicalTerms:
    """What matters of a physical asset when it is to back a virtual one, besides its book."""

    key: int
    id: PhysicalAssetID
    status: AssetStatus
    delivery_zone: str


async def read_keys(db: Database, asset_ids: Collection[UUID]) -> dict[UUID, int]:
    """The keys of those that exist, which never change."""
    rows = await db.fetch(
        "select key, id from asset where id = any($1::uuid[]) and kind = 'PHYSICAL'", list(set(asset_ids))
    )
    return {row["id"]: row["key"] for row in rows}


async def read_physical_terms(db: Database, keys: Collection[int]) -> dict[UUID, PhysicalTerms]:
    """To be read under the assets' locks, so that what is decided about them stays true."""
    rows = await db.fetch(
        """select a.key, a.id, p.status, p.delivery_zone
           from asset a join physical_asset p on p.asset_key = a.key where a.key = any($1::int[])""",
        list(keys),
    )
    return {
        row["id"]: PhysicalTerms(
            row["key"], PhysicalAssetID(row["id"]), AssetStatus(row["status"]), row["delivery_zone"]
        )
        for row in rows
    }
