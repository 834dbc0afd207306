"""Recording on the real database: natural keys, corrections, history, and sums that no race can break."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.revenue.reference import FCR, NetOff, Toll, utc
from tests.revenue.world import World, row_of

from gridloom.market_calendar import market_day_number
from gridloom.settlements.measures import MEASURES, FactSource
from gridloom.settlements.model import (
    TOLLING_CONTRACTS,
    WHOLESALE_TRADES,
    WholesaleTrade,
)
from gridloom.settlements.period_aggregates import decode_sheets
from gridloom.settlements.store import read_sheets, read_starts

MIDNIGHT = datetime(2026, 3, 28, 23, tzinfo=UTC)


def trade(asset: UUID, trade_id: str = "T1", **changes: Any) -> WholesaleTrade:
    fields: dict[str, Any] = {
        "asset_id": str(asset),
        "trade_id": trade_id,
        "time": MIDNIGHT,
        "side": "SELL",
        "volume": 2.0,
        "price": 50.0,
        "market": "DAY_AHEAD",
    }
    return WholesaleTrade(**(fields | changes))


async def day_sheets(world: World, asset: UUID) -> dict[date, dict[str, float]]:
    rows = await world.pool.fetch("select * from settled_day where asset_key = $1", await world.key_of(asset))
    return {row["day"]: {measure.name: row[measure.name] for measure in MEASURES} for row in rows}


class TestTheSameRow:
    async def test_changes_nothing(self, world: World) -> None:
        asset = await world.bare_asset()
        first = (await world.record(WHOLESALE_TRADES, [trade(asset), trade(asset, "T2")])).counts
        again = await world.record(WHOLESALE_TRADES, [trade(asset), trade(asset, "T2"), trade(asset, "T3")])
        assert (first.received, first.inserted, first.replaced, first.unchanged) == (2, 2, 0, 0)
        counts = again.counts
        assert (counts.received, counts.inserted, counts.replaced, counts.unchanged) == (3, 1, 0, 2)
        assert [change.day for change in again.touched] == [date(2026, 3, 29)]
        assert await world.pool.fetchval("select count(*) from wholesale_trade_superseded where trade_id = 'T2'") == 0

    async def test_twice_in_one_request_is_one_fact(self, world: World) -> None:
        asset = await world.bare_asset()
        counts = (await world.record(WHOLESALE_TRADES, [trade(asset), trade(asset), trade(asset)])).counts
        assert (counts.received, counts.inserted, counts.replaced, counts.unchanged) == (3, 1, 0, 2)
        assert (await day_sheets(world, asset))[date(2026, 3, 29)]["sell_proceeds_eur"] == 100.0


class TestTolls:
    async def test_of_the_same_time_are_counted_each(self, world: World) -> None:
        asset = await world.bare_asset()
        for price, expected in ((10, (2, 0)), (20, (0, 2))):
            tolls = [Toll(0, name, MIDNIGHT, MIDNIGHT + timedelta(days=1), Fraction(price)) for name in ("a", "b")]
            rows = [row_of(toll, asset)[1] for toll in tolls]
            counts = (await world.record(TOLLING_CONTRACTS, rows)).counts
            assert (counts.inserted, counts.replaced) == expected


class TestATrade:
    async def test_over_four_quarter_hours_is_four_rows_of_one_id(self, world: World) -> None:
        asset = await world.bare_asset()
        hour = [trade(asset, time=MIDNIGHT + timedelta(minutes=15 * n)) for n in range(4)]
        counts = (await world.record(WHOLESALE_TRADES, hour)).counts
        assert counts.inserted == 4
        assert (await day_sheets(world, asset))[date(2026, 3, 29)]["sell_proceeds_eur"] == 400.0
        counts = (await world.record(WHOLESALE_TRADES, [*hour, trade(asset, side="BUY")])).counts
        assert (counts.inserted, counts.replaced, counts.unchanged) == (1, 0, 4)


class TestTheStartsOfFacts:
    async def test_are_those_of_the_market_days_once_each_also_of_what_is_worth_nothing(self, world: World) -> None:
        """Of two assets of three; the day before, the day after and a third asset have others. As of the instant at
        which the first of the facts were recorded, there were no others."""
        assets = [await world.bare_asset() for _ in range(3)]
        day, days = date(2026, 3, 29), [date(2026, 3, 29), date(2026, 3, 30)]
        numbers = np.array([market_day_number(one) for one in days])
        keys = [await world.key_of(asset) for asset in assets[:2]]
        early = [(0, utc(days[1], 12), 1), (1, utc(day, 0), 0), (0, utc(day, 0), 0)]
        late = [
            *((n, utc(days[1], 24) - timedelta(minutes=15), 1) for n in (0, 1)),
            *((0, time, 1) for time in (utc(day, 0) - timedelta(minutes=15), utc(days[1], 24))),
            (2, utc(day, 6), 1),
        ]
        for facts in (early, late):
            await world.record_facts([NetOff(which, time, Fraction(size)) for which, time, size in facts], assets)
            await world.pool.execute("select pg_sleep(0.002)")
        first, noon, last = (int(time.timestamp()) for time in (utc(day, 0), utc(days[1], 12), late[0][1]))
        source = FactSource.NET_OFF
        async with world.pool.acquire() as db, db.transaction():
            await db.execute("set local enable_sort = off")  # in order however they are made distinct
            assert (await read_starts(db, source, keys, numbers)).tolist() == [first, noon, last]
        instants = await world.pool.fetch(
            "select distinct recorded_at from net_off where asset_key = any($1) order by 1", keys
        )
        known = [
            (await read_starts(world.pool, source, keys, numbers, row["recorded_at"])).tolist() for row in instants
        ]
        assert known == [[first, noon], [first, noon, last]]
        awards = [FCR(0, day + timedelta(days=n), "NEGPOS_04_08", *[Fraction(1)] * 3) for n in (2, 1, 0, -1)]
        await world.record_facts(awards, assets)
        found = await read_starts(world.pool, FactSource.FCR, keys, numbers)
        assert found.tolist() == [int(utc(one, 4).timestamp()) for one in days]


class TestTheSheetsAsOfAnInstant:
    async def test_are_those_of_the_version_that_held_then(self, world: World) -> None:
        asset, day = await world.bare_asset(), date(2026, 3, 29)
        for volume in (1, 5):
            await world.record_facts([NetOff(0, utc(day, 0), Fraction(volume))], [asset])
            await world.pool.execute("select pg_sleep(0.002)")
        key, source = await world.key_of(asset), FactSource.NET_OFF
        rows = await world.pool.fetch("select recorded_at from net_off_version where asset_key = $1 order by 1", key)
        recorded, corrected = (row["recorded_at"] for row in rows)
        moment = timedelta(milliseconds=1)
        for instant, volume in ((recorded - moment, 0), (recorded, 1), (corrected - moment, 1), (corrected, 5)):
            [sheet] = await read_sheets(world.pool, source, [key], [day], instant)
            assert (sheet.shape, sheet.sum(), sheet[0, 0]) == ((1, 92), volume, volume), instant


class TestConcurrentSettlements:
    async def test_lose_no_update(self, world: World) -> None:
        """Eight writers correct and move the same trades of the same assets, all at once."""
        assets = [await world.bare_asset() for _ in range(3)]
        dice = random.Random(7)

        async def write(writer: int) -> None:
            for _ in range(12):
                rows = [
                    trade(
                        dice.choice(assets),
                        f"T{row}-{dice.randrange(8)}",
                        time=MIDNIGHT + timedelta(minutes=15 * dice.randrange(0, 4 * 96, 16)),
                        volume=dice.randrange(1, 100) / 4,
                        price=dice.randrange(-100, 1000) / 4,
                        side=dice.choice(["BUY", "SELL"]),
                    )
                    for row in range(6)
                ]
                await world.record(WHOLESALE_TRADES, rows)

        await asyncio.gather(*(write(writer) for writer in range(8)))
        for asset in assets:
            days = await day_sheets(world, asset)
            key = await world.key_of(asset)
            sheets = await read_sheets(world.pool, FactSource.WHOLESALE, [key] * len(days), list(days))
            for (day, kept), sheet in zip(days.items(), sheets, strict=True):
                names = [measure.name for measure in MEASURES if measure.source is FactSource.WHOLESALE]
                assert [kept[name] for name in names] == pytest.approx(sheet.sum(axis=1).tolist()), day
                body = await world.pool.fetchval(
                    "select wholesale from settled_periods where asset_key = $1 and day = $2", key, day
                )
                known = decode_sheets(FactSource.WHOLESALE, [body], [sheet.shape[1]]) if body else np.zeros_like(sheet)
                assert np.array_equal(sheet, known)
            volume = await world.pool.fetchval(
                "select sum(volume_mwh)::float8 from wholesale_trade where asset_key = $1", key
            )
            total = sum(kept["buy_volume_mwh"] + kept["sell_volume_mwh"] for kept in days.values())
            assert total == pytest.approx(volume)
