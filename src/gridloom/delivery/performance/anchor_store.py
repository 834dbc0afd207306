"""Where measured states of charge have moved plans, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridloom.database.pool import Database


async def read_applied(db: Database, keys: Sequence[int]) -> dict[int, int]:
    """By battery, the first period of its plan that counts its last anchor; those that wait are not among them."""
    rows = await db.fetch(
        """select asset_key, applied_from from delivery_anchor
           where asset_key = any($1::int[]) and applied_from is not null""",
        list(keys),
    )
    return {row["asset_key"]: row["applied_from"] for row in rows}


async def put_anchor(db: Database, asset_key: int, measured_period: int, offset_kwh: float) -> None:
    """The newest measurement is the one that counts; it waits for the next run."""
    await db.execute(
        """insert into delivery_anchor as a (asset_key, version, measured_period, offset_kwh) values ($1, 1, $2, $3)
           on conflict (asset_key) do update set version = a.version + 1, measured_period = excluded.measured_period,
             offset_kwh = excluded.offset_kwh, applied_from = null""",
        asset_key,
        measured_period,
        offset_kwh,
    )


@dataclass(frozen=True, slots=True)
class Anchor:
    """How much more a battery holds than its plan says, where no plan counts that yet."""

    version: int
    offset_kwh: float


async def read_waiting(db: Database, keys: Sequence[int]) -> dict[int, Anchor]:
    rows = await db.fetch(
        """select asset_key, version, offset_kwh from delivery_anchor
           where asset_key = any($1::int[]) and applied_from is null""",
        list(keys),
    )
    return {row["asset_key"]: Anchor(row["version"], row["offset_kwh"]) for row in rows}


async def keep_applied(db: Database, anchors: Mapping[int, Anchor], first: int) -> None:
    """The plan from `first` on counts these; what was measured meanwhile still waits."""
    await db.execute(
        """update delivery_anchor a set applied_from = $3
           from unnest($1::int[], $2::bigint[]) counted (asset_key, version)
           where a.asset_key = counted.asset_key and a.version = counted.version""",
        list(anchors),
        [anchor.version for anchor in anchors.values()],
        first,
    )
