"""Measured states of charge that correct plans, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridloom.database.pool import Database


async def read_applied(db: Database, keys: Sequence[int]) -> dict[int, int]:
    """By battery, the first period of its plan that counts its last correction; pending ones are not among them."""
    rows = await db.fetch(
        """select asset_key, applied_from from delivery_anchor
           where asset_key = any($1::int[]) and applied_from is not null""",
        list(keys),
    )
    return {row["asset_key"]: row["applied_from"] for row in rows}


async def put_soc_correction(db: Database, asset_key: int, measured_period: int, offset_kwh: float) -> None:
    """The newest measurement is the one that counts; it is pending until the next run."""
    await db.execute(
        """insert into delivery_anchor as a (asset_key, version, measured_period, offset_kwh) values ($1, 1, $2, $3)
           on conflict (asset_key) do update set version = a.version + 1, measured_period = excluded.measured_period,
             offset_kwh = excluded.offset_kwh, applied_from = null""",
        asset_key,
        measured_period,
        offset_kwh,
    )


@dataclass(frozen=True, slots=True)
class SocCorrection:
    """How much more a battery stores than its plan says, where no plan counts that yet."""

    version: int
    offset_kwh: float


async def read_pending_corrections(db: Database, keys: Sequence[int]) -> dict[int, SocCorrection]:
    rows = await db.fetch(
        """select asset_key, version, offset_kwh from delivery_anchor
           where asset_key = any($1::int[]) and applied_from is null""",
        list(keys),
    )
    return {row["asset_key"]: SocCorrection(row["version"], row["offset_kwh"]) for row in rows}


async def mark_corrections_applied(db: Database, corrections: Mapping[int, SocCorrection], first: int) -> None:
    """The plan from `first` on counts these; what was measured meanwhile is still pending."""
    for key, one in corrections.items():  # a statement each: a distributed table is changed by one key at a time
        await db.execute(
            "update delivery_anchor set applied_from = $3 where asset_key = $1 and version = $2",
            key,
            one.version,
            first,
        )
