"""The physical assets that may stand behind virtual ones, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.capacity.availability import CapacityOutage
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


@dataclass(frozen=True, slots=True)
class CycleLimits:
    """Full cycles a day and a year; None where there is no limit."""

    daily: float | None
    annual: float | None


async def read_cycle_limits(db: Database, keys: Collection[int], start: datetime, end: datetime) -> CycleLimits:
    """The lowest of all batteries' that are in force at any moment of the window."""
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
        """select asset_key, starts_at, ends_at, charge_power_kw, discharge_power_kw, energy_kwh,
                  coalesce(recorded_at, created_at) as recorded_at
           from unavailability where asset_key = any($1::int[]) and ends_at > $2 and starts_at < $3
           order by asset_key, starts_at, id""",
        list(keys),
        start,
        end,
    )
    return [
        RecordedOutage(
            row["asset_key"],
            CapacityOutage(
                row["starts_at"],
                row["ends_at"],
                row["charge_power_kw"],
                row["discharge_power_kw"],
                row["energy_kwh"],
            ),
            row["recorded_at"],
        )
        for row in rows
    ]
