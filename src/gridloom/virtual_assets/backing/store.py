"""Batteries that back virtual assets, and sealed shortfalls, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.capacity.availability import CapacityOutage, Rating
from gridloom.kernel.ids import PhysicalAssetID
from gridloom.kernel.window import Window
from gridloom.physical_assets.model import AssetStatus
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.virtual_assets.model import LockedAssetKey, VirtualAsset
from gridloom.virtual_assets.store import LIST_ASSETS, complete_assets


@dataclass(frozen=True, slots=True)
class PhysicalTerms:
    """The status and the zone of a physical asset that is to back a virtual one."""

    key: int
    id: PhysicalAssetID
    status: AssetStatus
    delivery_zone: str


async def read_keys(db: Database, asset_ids: Collection[UUID]) -> dict[UUID, int]:
    """The keys of the assets that exist; an asset keeps its key."""
    rows = await db.fetch(
        "select key, id from asset where id = any($1::uuid[]) and kind = 'PHYSICAL'", list(set(asset_ids))
    )
    return {row["id"]: row["key"] for row in rows}


@dataclass(frozen=True, slots=True)
class CycleLimits:
    """Full cycles a day and a year; None where there is no limit."""

    daily: float | None
    annual: float | None


async def read_cycle_limits(db: Database, keys: Collection[int], start: datetime, end: datetime) -> CycleLimits:
    """The lowest limits of all batteries that are in force at any instant of the window."""
    rows = await db.fetch(
        """
        select daily_cycle_limit, annual_cycle_limit
        from (select asset_key, daily_cycle_limit, annual_cycle_limit,
                     lead(valid_from) over (partition by asset_key order by valid_from) as replaced_at
              from parameters_in_force where asset_key = any($1::int[]) and valid_from < $3) p
        where replaced_at is null or replaced_at > $2
        """,
        list(keys),
        start,
        end,
    )
    daily = [row["daily_cycle_limit"] for row in rows if row["daily_cycle_limit"] is not None]
    annual = [row["annual_cycle_limit"] for row in rows if row["annual_cycle_limit"] is not None]
    return CycleLimits(min(daily, default=None), min(annual, default=None))


async def read_physical_terms(db: Database, keys: Collection[int]) -> dict[UUID, PhysicalTerms]:
    """Call it under the locks of the assets."""
    rows = await db.fetch(
        """select a.key, a.id, p.status, p.delivery_zone
           from asset a join physical_asset p on p.asset_key = a.key where a.key = any($1::int[])""",
        list(keys),
    )
    return {row["id"]: read_row(PhysicalTerms, row, status=AssetStatus(row["status"])) for row in rows}


@dataclass(frozen=True, slots=True)
class RecordedOutage:
    """An outage of a battery, and when it was recorded or last grew."""

    asset_key: int
    outage: CapacityOutage
    recorded_at: datetime


async def read_recorded_outages(
    db: Database, keys: Collection[int], start: datetime, end: datetime
) -> list[RecordedOutage]:
    rows = await db.fetch(
        """select asset_key, starts_at as start, ends_at as end, charge_power_kw, discharge_power_kw, energy_kwh,
                  coalesce(recorded_at, created_at) as recorded_at
           from unavailability where asset_key = any($1::int[]) and ends_at > $2 and starts_at < $3
           order by asset_key, starts_at, id""",
        list(keys),
        start,
        end,
    )
    return [RecordedOutage(row["asset_key"], read_row(CapacityOutage, row), row["recorded_at"]) for row in rows]


@dataclass(frozen=True, slots=True)
class RecordedRating:
    """A rating of a battery, and when it was recorded; of two from the same instant the later one holds."""

    asset_key: int
    rating: Rating
    recorded_at: datetime


async def read_recorded_ratings(db: Database, keys: Collection[int], end: datetime) -> list[RecordedRating]:
    """In the order in which they were recorded."""
    rows = await fetch_by_keys(
        db,
        """select asset_key, valid_from, rated_charge_power_kw as charge_power_kw,
                  rated_discharge_power_kw as discharge_power_kw, energy_capacity_kwh as energy_kwh, fcr_limit_ratio,
                  charge_efficiency, discharge_efficiency, max_state_of_charge - min_state_of_charge as usable_share,
                  recorded_at
           from physical_asset_parameters where asset_key = any($1::int[]) and valid_from < $2
           order by asset_key, version""",
        list(keys),
        end,
    )
    return [RecordedRating(row["asset_key"], read_row(Rating, row), row["recorded_at"]) for row in rows]


async def lock_assets_backed_by(db: Database, physical_asset_key: int, now: datetime) -> list[LockedAssetKey]:
    """The virtual assets that a battery backs and whose life is not over, locked in the order of their keys."""
    rows = await db.fetch(
        """select b.asset_key from virtual_backing b join virtual_asset v using (asset_key)
           where b.physical_asset_key = $1 and v.end_at > $2 order by b.asset_key""",
        physical_asset_key,
        now,
    )
    locked = [
        await db.fetchval(
            "select asset_key from virtual_asset where asset_key = $1 for no key update", row["asset_key"]
        )
        for row in rows
    ]
    return [LockedAssetKey(key) for key in locked if key is not None]


async def read_assets_backed_by(db: Database, physical_asset_key: int, window: Window) -> list[VirtualAsset]:
    """The virtual assets that a battery backs and whose lives overlap the window, in the order of their keys."""
    rows = await db.fetch(
        LIST_ASSETS
        + """ join virtual_backing b on b.asset_key = v.asset_key
             where b.physical_asset_key = $1 and v.end_at > $2 and v.start_at < $3 order by v.asset_key""",
        physical_asset_key,
        window.start,
        window.end,
    )
    return await complete_assets(db, rows)


@dataclass(frozen=True, slots=True)
class ShortfallInterval:
    """Periods with the same missing fraction of a virtual asset; by battery, its share × its own shortfall."""

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


async def add_shortfalls(db: Database, asset_key: int, intervals: Sequence[ShortfallInterval]) -> None:
    await db.executemany(
        """insert into virtual_shortfall (asset_key, first_period, end_period, missing_share, battery_keys,
             battery_shares) values ($1, $2, $3, $4, $5, $6)""",
        [
            (asset_key, one.first, one.end, one.missing_share, [*one.by_battery], [*one.by_battery.values()])
            for one in intervals
        ],
    )


async def read_seals(db: Database, keys: Sequence[int]) -> dict[int, int]:
    """The first period that is not sealed, by asset; assets without a seal are left out."""
    rows = await fetch_by_keys(
        db, "select asset_key, sealed_until from virtual_availability_seal where asset_key = any($1::int[])", keys
    )
    return {row["asset_key"]: row["sealed_until"] for row in rows}


async def read_shortfalls(
    db: Database, keys: Sequence[int], first: int, end: int
) -> dict[int, list[ShortfallInterval]]:
    """In the order of time, by asset; assets without one are left out."""
    found: dict[int, list[ShortfallInterval]] = {}
    for row in await fetch_by_keys(
        db,
        """select asset_key, first_period, end_period, missing_share, battery_keys, battery_shares
           from virtual_shortfall
           where asset_key = any($1::int[]) and end_period > $2 and first_period < $3 order by first_period""",
        keys,
        first,
        end,
    ):
        shares = dict(zip(row["battery_keys"], row["battery_shares"], strict=True))
        interval = ShortfallInterval(row["first_period"], row["end_period"], row["missing_share"], shares)
        found.setdefault(row["asset_key"], []).append(interval)
    return found
