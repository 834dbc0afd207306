"""Which facts of a month are not there yet, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from uuid import UUID

from gridloom.platform.database.pool import Database
from gridloom.statements.model import Month


@dataclass(frozen=True, slots=True)
class UnsettledAward:
    asset_id: UUID
    delivery_day: date
    product: str


async def list_unsettled_awards(db: Database, month: Month) -> list[UnsettledAward]:
    """Awards of accepted results for which no settlement came."""
    rows = await db.fetch(
        """select asset_key, delivery_day, product from fcr_award
           where origin = 'PROVISIONAL' and capacity_mw > 0 and delivery_day >= $1 and delivery_day < $2
           union all
           select asset_key, delivery_day, product from afrr_capacity_award
           where origin = 'PROVISIONAL' and capacity_mw > 0 and delivery_day >= $1 and delivery_day < $2""",
        month.first_day,
        month.following.first_day,
    )
    ids = await read_ids(db, sorted({row["asset_key"] for row in rows}))
    return sorted(
        (UnsettledAward(ids[row["asset_key"]], row["delivery_day"], row["product"]) for row in rows),
        key=lambda award: (award.delivery_day, award.product, award.asset_id),
    )


@dataclass(frozen=True, slots=True)
class ZoneLife:
    delivery_zone: str
    start: datetime
    end: datetime
    """Until when any virtual asset of the zone lives within the month."""


async def list_zone_lives(db: Database, month: Month) -> list[ZoneLife]:
    rows = await db.fetch(
        """select delivery_zone, min(greatest(start_at, $1::timestamptz)) as start,
             max(least(end_at, $2::timestamptz)) as end
           from virtual_asset where end_at > $1 and start_at < $2 group by delivery_zone""",
        month.window.start,
        month.window.end,
    )
    return sorted((ZoneLife(**row) for row in rows), key=lambda life: life.delivery_zone)


@dataclass(frozen=True, slots=True)
class BackedLife:
    """A battery, and a time in a month in which it always backs a virtual asset."""

    asset_key: int
    start: datetime
    end: datetime


async def list_backed_lives(db: Database, month: Month) -> list[BackedLife]:
    """By battery and start; lives of its virtual assets that meet or overlap are one."""
    rows = await db.fetch(
        """select b.physical_asset_key as asset_key, greatest(v.start_at, $1::timestamptz) as start,
             least(v.end_at, $2::timestamptz) as end
           from virtual_asset v join virtual_backing b on b.asset_key = v.asset_key
           where v.end_at > $1 and v.start_at < $2""",
        month.window.start,
        month.window.end,
    )
    lives: list[BackedLife] = []
    for life in sorted((BackedLife(**row) for row in rows), key=lambda life: (life.asset_key, life.start)):
        last = lives[-1] if lives else None
        if last is not None and last.asset_key == life.asset_key and life.start <= last.end:
            lives[-1] = replace(last, end=max(last.end, life.end))
        else:
            lives.append(life)
    return lives


async def read_ids(db: Database, keys: Sequence[int]) -> dict[int, UUID]:
    rows = await db.fetch("select key, id from asset where key = any($1::int[])", list(keys))
    return {row["key"]: row["id"] for row in rows}
