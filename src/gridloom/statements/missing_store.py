"""Which facts of a month are not there yet, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final
from uuid import UUID

from gridloom.delivery.inputs.store import Reserve, read_block_reserves
from gridloom.kernel.balancing import ReserveProduct
from gridloom.kernel.market_time import block_window, market_day_of, period_number, period_start
from gridloom.kernel.units import KW_PER_MW, POWER_TOLERANCE_KW
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
class UnreservedAward:
    """An award beyond the blocks of its market, by how much."""

    asset_id: UUID
    delivery_day: date
    product: str
    capacity_mw: float


async def list_unreserved_awards(db: Database, month: Month) -> list[UnreservedAward]:
    """Of virtual assets, by day, product and asset."""
    rows = await db.fetch(
        """select a.asset_key, a.delivery_day, a.product, a.capacity_mw::float8
           from fcr_award a join virtual_asset v on v.asset_key = a.asset_key
           where a.capacity_mw > 0 and a.delivery_day >= $1 and a.delivery_day < $2
           union all
           select a.asset_key, a.delivery_day, a.product, a.capacity_mw::float8
           from afrr_capacity_award a join virtual_asset v on v.asset_key = a.asset_key
           where a.capacity_mw > 0 and a.delivery_day >= $1 and a.delivery_day < $2""",
        month.first_day,
        month.following.first_day,
    )
    blocks = await _read_blocks(db, sorted({row["asset_key"] for row in rows}), month)
    ids = await read_ids(db, sorted({row["asset_key"] for row in rows}))
    found = []
    for row in rows:
        direction, first_hour, end_hour = row["product"].split("_")
        window = block_window(row["delivery_day"], int(first_hour), int(end_hour))
        first, end = period_number(window.start), period_number(window.end)
        own = [one for one in blocks if one.asset_key == row["asset_key"] and one.market == _MARKETS[direction]]
        held_kw = min(sum(one.power_kw for one in own if one.first <= each < one.end) for each in range(first, end))
        beyond_mw = row["capacity_mw"] - held_kw / KW_PER_MW
        if beyond_mw > POWER_TOLERANCE_KW:
            found.append(UnreservedAward(ids[row["asset_key"]], row["delivery_day"], row["product"], beyond_mw))
    return sorted(found, key=lambda award: (award.delivery_day, award.product, award.asset_id))


@dataclass(frozen=True, slots=True)
class UnreservedActivation:
    """Of a market day: what was activated in periods without a block or an award."""

    asset_id: UUID
    day: date
    market: str
    periods: int
    volume_mwh: float


async def list_unreserved_activations(db: Database, month: Month) -> list[UnreservedActivation]:
    """Of virtual assets, by day, market and asset."""
    rows = await db.fetch(
        """select a.asset_key, a.direction, (extract(epoch from a.period) / 900)::int as period,
                  a.volume_mwh::float8 as volume_mwh
           from afrr_activation a join virtual_asset v on v.asset_key = a.asset_key
           where a.volume_mwh > 0 and a.period >= $1 and a.period < $2
             and not exists (
               select c.asset_key from afrr_capacity_award c
               where c.asset_key = a.asset_key and c.capacity_mw > 0
                 and c.delivery_day = (a.period at time zone 'Europe/Berlin')::date
                 and split_part(c.product, '_', 1) = a.direction
                 and split_part(c.product, '_', 2)::int
                   = extract(hour from a.period at time zone 'Europe/Berlin')::int / 4 * 4)""",
        month.window.start,
        month.window.end,
    )
    blocks = await _read_blocks(db, sorted({row["asset_key"] for row in rows}), month)
    ids = await read_ids(db, sorted({row["asset_key"] for row in rows}))
    sums: dict[tuple[date, str, UUID], tuple[int, float]] = {}
    for row in rows:
        market = _MARKETS[row["direction"]]
        is_held = any(
            one.asset_key == row["asset_key"] and one.market == market and one.first <= row["period"] < one.end
            for one in blocks
        )
        if not is_held:
            name = market_day_of(period_start(row["period"])), market, ids[row["asset_key"]]
            count, volume_mwh = sums.get(name, (0, 0.0))
            sums[name] = count + 1, volume_mwh + row["volume_mwh"]
    return [UnreservedActivation(name[2], name[0], name[1], *sums[name]) for name in sorted(sums)]


_MARKETS: Final = {
    "NEGPOS": ReserveProduct.FCR.value,
    "POS": ReserveProduct.AFRR_POS.value,
    "NEG": ReserveProduct.AFRR_NEG.value,
}
"""By the direction that the names of products begin with."""


async def _read_blocks(db: Database, keys: Sequence[int], month: Month) -> list[Reserve]:
    window = month.window
    return await read_block_reserves(db, keys, period_number(window.start), period_number(window.end)) if keys else []


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
