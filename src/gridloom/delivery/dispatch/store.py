"""The versions of batteries' dispatch in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from gridloom.delivery.codec import unpack
from gridloom.delivery.dispatch.versions import NewDispatchVersion
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement

_ADD_VERSIONS = NamedStatement("""
insert into dispatch_version (asset_key, version, run_id, recorded_at, first_period, end_period, body)
select n.asset_key, n.version, :run_id, :now, n.first_period, n.end_period, n.body
from unnest(:asset_key::int[], :number::int[], :first::int[], :end::int[], :body::bytea[])
  n(asset_key, version, first_period, end_period, body)
""")


async def add_versions(
    db: Database, run_id: UUID, now: datetime, versions: Sequence[NewDispatchVersion], known: Mapping[int, int]
) -> dict[int, int]:
    """The number of the new version by asset key; `known` are the last numbers, where they are known.

    Only a zone's run writes them, and it holds the zone's row.
    """
    unknown = [one.asset_key for one in versions if not known.get(one.asset_key)]
    last = {**known, **(await _read_last_versions(db, unknown) if unknown else {})}
    numbers = {one.asset_key: last.get(one.asset_key, 0) + 1 for one in versions}
    await _ADD_VERSIONS.execute(
        db,
        **{name: [getattr(one, name) for one in versions] for name in NewDispatchVersion.__slots__},
        number=list(numbers.values()),
        run_id=run_id,
        now=now,
    )
    return numbers


async def _read_last_versions(db: Database, keys: Sequence[int]) -> dict[int, int]:
    rows = await db.fetch(
        """select asset_key, max(version) as version from dispatch_version
           where asset_key = any($1::int[]) group by asset_key""",
        list(keys),
    )
    return {row["asset_key"]: row["version"] for row in rows}


@dataclass(frozen=True, slots=True)
class StoredVersion:
    version: int
    recorded_at: datetime
    first: int
    end: int
    body: bytes

    def unpack(self) -> dict[str, np.ndarray]:
        return unpack(self.body)


async def read_versions(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None
) -> tuple[int, list[StoredVersion]]:
    """The number of the version in force then, and all that touch the periods, oldest first."""
    rows = await db.fetch(
        """select version, recorded_at, first_period, end_period,
                  case when end_period > $2 and first_period < $3 then body end as body
           from dispatch_version where asset_key = $1 and ($4::timestamptz is null or recorded_at <= $4)
             and (end_period > $2 and first_period < $3
                  or version = (select max(version) from dispatch_version
                                where asset_key = $1 and ($4::timestamptz is null or recorded_at <= $4)))
           order by version""",
        asset_key,
        first,
        end,
        as_of,
    )
    found = [
        StoredVersion(row["version"], row["recorded_at"], row["first_period"], row["end_period"], row["body"])
        for row in rows
        if row["body"] is not None
    ]
    return (rows[-1]["version"] if rows else 0), found


async def read_dispatched_until(db: Database, asset_key: int) -> int | None:
    """The end of what is dispatched; None where nothing is. A later version may end earlier: with what changed."""
    end: int | None = await db.fetchval(
        "select end_period from dispatch_version where asset_key = $1 order by asset_key, end_period desc limit 1",
        asset_key,
    )
    return end


async def read_asset_ids(db: Database, keys: Sequence[int]) -> dict[int, UUID]:
    rows = await db.fetch("select key, id from asset where key = any($1::int[])", list(keys))
    return {row["key"]: row["id"] for row in rows}
