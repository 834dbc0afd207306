"""Inputs of statements in PostgreSQL: owners of batteries, drift trades, and prices of reserves not held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import numpy as np

from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats
from gridloom.platform.database.pool import Database


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


async def read_organisations(db: Database, keys: Sequence[int]) -> dict[int, UUID]:
    """Whose these batteries are."""
    rows = await db.fetch("select key, organisation_id from asset where key = any($1::int[])", list(keys))
    return {row["key"]: row["organisation_id"] for row in rows}


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


async def read_drift_eur(db: Database, key: int, first: int, end: int, as_of: datetime | None) -> Floats:
    """Earnings of a battery's drift trades in each of the periods [first, end)."""
    earned_eur = np.zeros(end - first)
    for row in await db.fetch(
        """select (extract(epoch from period) / 900)::int as period,
                  sum(case side when 'SELL' then volume_mwh else -volume_mwh end * price_eur_mwh)::float8 as earned_eur
           from wholesale_trade_version
           where asset_key = $1 and period >= $2 and period < $3 and trade_id like 'drift-%'
             and ($4::timestamptz is null or recorded_at <= $4) and (superseded_at is null or superseded_at > $4)
           group by period""",
        key,
        period_start(first),
        period_start(end),
        as_of,
    ):
        earned_eur[row["period"] - first] = row["earned_eur"]
    return earned_eur


@dataclass(frozen=True, slots=True)
class AwardPrice:
    """Balancing capacity of a virtual asset in a block."""

    delivery_day: date
    product: str
    capacity_mw: float
    price_eur_mw_h: float
    recorded_at: datetime


async def read_awards(db: Database, key: int, first: date, last: date, as_of: datetime | None) -> list[AwardPrice]:
    """FCR and aFRR capacity of the delivery days from the first to the last."""
    rows = await db.fetch(
        """select delivery_day, product, capacity_mw::float8, price_eur_mw_h::float8, recorded_at
           from fcr_award_version
           where asset_key = $1 and delivery_day between $2 and $3
             and ($4::timestamptz is null or recorded_at <= $4) and (superseded_at is null or superseded_at > $4)
           union all
           select delivery_day, product, capacity_mw::float8, price_eur_mw_h::float8, recorded_at
           from afrr_capacity_award_version
           where asset_key = $1 and delivery_day between $2 and $3
             and ($4::timestamptz is null or recorded_at <= $4) and (superseded_at is null or superseded_at > $4)""",
        key,
        first,
        last,
        as_of,
    )
    return [AwardPrice(**row) for row in rows]
