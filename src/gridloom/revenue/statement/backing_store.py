"""Who owns the batteries behind virtual assets, and which virtual assets stand on a battery, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class BatteryOwner:
    asset_key: int
    organisation_id: UUID
    share: float


async def read_owners(db: Database, keys: Sequence[int]) -> dict[int, list[BatteryOwner]]:
    """By virtual asset, in the order of its backing."""
    owners: dict[int, list[BatteryOwner]] = {key: [] for key in keys}
    for row in await db.fetch(
        """select b.asset_key, b.physical_asset_key, a.organisation_id, b.share
           from virtual_backing b join asset a on a.key = b.physical_asset_key
           where b.asset_key = any($1::int[]) order by b.asset_key, b.position""",
        list(keys),
    ):
        owners[row["asset_key"]].append(BatteryOwner(row["physical_asset_key"], row["organisation_id"], row["share"]))
    return owners


async def read_backed_keys(db: Database, physical_key: int, start: datetime, end: datetime) -> list[int]:
    """The virtual assets on a battery whose life touches the window."""
    rows = await db.fetch(
        """select b.asset_key from virtual_backing b join virtual_asset v using (asset_key)
           where b.physical_asset_key = $1 and v.end_at > $2 and v.start_at < $3 order by b.asset_key""",
        physical_key,
        start,
        end,
    )
    return [row["asset_key"] for row in rows]
