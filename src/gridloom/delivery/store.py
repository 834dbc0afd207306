"""Runs and batteries' dispatch in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from gridloom.database.pool import Database
from gridloom.database.statement import Statement
from gridloom.delivery.model import Floats, Method
from gridloom.delivery.plan_codec import unpack
from gridloom.delivery.versions import NewVersion

# --- runs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """What a run did: its window in periods, energies in MWh at the grid."""

    id: UUID
    delivery_zone: str
    began_at: datetime
    first_period: int
    end_period: int
    final_until: int
    virtual_assets: int
    batteries: int
    scheduled_export_mwh: float
    scheduled_import_mwh: float
    netted_mwh: float
    spread_mwh: float
    unserved_mwh: float
    forced_periods: int
    changed_batteries: int
    method: Method
    solver_s: float


_RUN = """select id, delivery_zone, began_at, first_period, end_period, final_until, virtual_assets, batteries,
  scheduled_export_mwh, scheduled_import_mwh, netted_mwh, spread_mwh, unserved_mwh, forced_periods, changed_batteries,
  method, solver_s from delivery_run """


_ADD_RUN = Statement("""
insert into delivery_run (
  id, delivery_zone, began_at, first_period, end_period, final_until, virtual_assets, batteries, scheduled_export_mwh,
  scheduled_import_mwh, netted_mwh, spread_mwh, unserved_mwh, forced_periods, changed_batteries, method, solver_s)
values (
  :id, :delivery_zone, :began_at, :first_period, :end_period, :final_until, :virtual_assets, :batteries,
  :scheduled_export_mwh, :scheduled_import_mwh, :netted_mwh, :spread_mwh, :unserved_mwh, :forced_periods,
  :changed_batteries, :method, :solver_s)
""")


async def add_run(db: Database, run: Run) -> None:
    await _ADD_RUN.execute(db, **{name: getattr(run, name) for name in Run.__dataclass_fields__})


async def read_run(db: Database, run_id: UUID) -> Run | None:
    row = await db.fetchrow(_RUN + "where id = $1", run_id)
    return None if row is None else _read_run(row)


async def read_runs(
    db: Database,
    *,
    zone: str | None,
    start: datetime | None,
    end: datetime | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Run]:
    """The newest first."""
    rows = await db.fetch(
        _RUN
        + """where ($1::text is null or delivery_zone = $1) and ($2::timestamptz is null or began_at >= $2)
               and ($3::timestamptz is null or began_at < $3)
               and ($4::timestamptz is null or (began_at, id) < ($4, $5::uuid))
             order by began_at desc, id desc limit $6""",
        zone,
        start,
        end,
        *(before or (None, None)),
        limit,
    )
    return [_read_run(row) for row in rows]


def _read_run(row: Any) -> Run:
    return Run(**{**dict(row), "method": Method(row["method"])})


# --- dispatch ------------------------------------------------------------------------------------------------------


async def add_versions(
    db: Database, run_id: UUID, now: datetime, versions: Sequence[NewVersion], known: Mapping[int, int]
) -> dict[int, int]:
    """The number of the new version by asset key; `known` are the last numbers, where they are known.

    Only a zone's run writes them, and it holds the zone's row.
    """
    unknown = [one.asset_key for one in versions if not known.get(one.asset_key)]
    last = {**known, **(await _read_last_versions(db, unknown) if unknown else {})}
    numbers = {one.asset_key: last.get(one.asset_key, 0) + 1 for one in versions}
    await db.execute(
        """insert into dispatch_version (asset_key, version, run_id, recorded_at, first_period, end_period, body)
           select n.asset_key, n.version, $6, $7, n.first_period, n.end_period, n.body
           from unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::bytea[])
             n(asset_key, version, first_period, end_period, body)""",
        [one.asset_key for one in versions],
        list(numbers.values()),
        [one.first for one in versions],
        [one.end for one in versions],
        [one.body for one in versions],
        run_id,
        now,
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
    arrays: dict[str, np.ndarray]


async def read_versions(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None
) -> tuple[int, list[StoredVersion]]:
    """The number of the version that stands, or stood, and all that touch the periods, oldest first."""
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
        StoredVersion(row["version"], row["recorded_at"], row["first_period"], row["end_period"], unpack(row["body"]))
        for row in rows
        if row["body"] is not None
    ]
    return (rows[-1]["version"] if rows else 0), found


async def read_asset_ids(db: Database, keys: Sequence[int]) -> dict[int, UUID]:
    rows = await db.fetch("select key, id from asset where key = any($1::int[])", list(keys))
    return {row["key"]: row["id"] for row in rows}


# --- netting -------------------------------------------------------------------------------------------------------


async def add_netting(
    db: Database, zone: str, now: datetime, first: int, exported_part: Floats, imported_part: Floats
) -> None:
    await db.execute(
        """insert into delivery_netting
             (delivery_zone, version, recorded_at, first_period, end_period, exported_part, imported_part)
           select $1, coalesce((select max(version) from delivery_netting where delivery_zone = $1), 0) + 1,
                  $2, $3, $4, $5, $6""",
        zone,
        now,
        first,
        first + len(exported_part),
        exported_part.tolist(),
        imported_part.tolist(),
    )


async def read_netting(
    db: Database, zone: str, first: int, end: int, as_of: datetime | None = None
) -> tuple[Floats, Floats]:
    """By which part exports and imports of each period are netted; zero where nothing was planned."""
    parts = np.zeros((2, max(0, end - first)))
    for row in await db.fetch(
        """select first_period, exported_part, imported_part from delivery_netting
           where delivery_zone = $1 and end_period > $2 and first_period < $3
             and ($4::timestamptz is null or recorded_at <= $4)
           order by version""",
        zone,
        first,
        end,
        as_of,
    ):
        for target, piece in zip(parts, (row["exported_part"], row["imported_part"]), strict=True):
            low, high = max(first, row["first_period"]), min(end, row["first_period"] + len(piece))
            target[low - first : high - first] = piece[low - row["first_period"] : high - row["first_period"]]
    return parts[0], parts[1]
