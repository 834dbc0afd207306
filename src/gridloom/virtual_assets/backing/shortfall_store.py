"""Sealed shortfalls of virtual assets in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class ShortfallStretch:
    """Periods in which the same part of a virtual asset was missing; by battery, its share × its own shortfall."""

    first: int
    end: int
    missing_share: float
    by_battery: Mapping[int, float]


async def lock_seal(db: Database, asset_key: int, first: int) -> int:
    """The first period of the asset that is not sealed; no other transaction seals it until this one ends."""
    sealed: int = await db.fetchval(
        """insert into virtual_availability_seal as s (asset_key, sealed_until) values ($1, $2)
           on conflict (asset_key) do update set sealed_until = s.sealed_until returning s.sealed_until""",
        asset_key,
        first,
    )
    return sealed


async def move_seal(db: Database, asset_key: int, until: int) -> None:
    await db.execute("update virtual_availability_seal set sealed_until = $2 where asset_key = $1", asset_key, until)


async def add_stretches(db: Database, asset_key: int, stretches: Sequence[ShortfallStretch]) -> None:
    await db.executemany(
        """insert into virtual_shortfall (asset_key, first_period, end_period, missing_share, battery_keys,
             battery_shares) values ($1, $2, $3, $4, $5, $6)""",
        [
            (asset_key, one.first, one.end, one.missing_share, [*one.by_battery], [*one.by_battery.values()])
            for one in stretches
        ],
    )


async def read_seal(db: Database, asset_key: int) -> int | None:
    sealed: int | None = await db.fetchval(
        "select sealed_until from virtual_availability_seal where asset_key = $1", asset_key
    )
    return sealed


async def read_stretches(db: Database, asset_key: int, first: int, end: int) -> list[ShortfallStretch]:
    rows = await db.fetch(
        """select first_period, end_period, missing_share, battery_keys, battery_shares from virtual_shortfall
           where asset_key = $1 and end_period > $2 and first_period < $3 order by first_period""",
        asset_key,
        first,
        end,
    )
    return [
        ShortfallStretch(
            row["first_period"],
            row["end_period"],
            row["missing_share"],
            dict(zip(row["battery_keys"], row["battery_shares"], strict=True)),
        )
        for row in rows
    ]
