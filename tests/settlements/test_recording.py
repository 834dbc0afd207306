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
from tests.revenue.reference import FCR, AFRRCapacity, AFRREnergy, Fact, NetOff, Toll, Trade, utc
from tests.revenue.world import World, row_of

from gridloom.kernel.permission import Permission
from gridloom.market_calendar import market_day_number
from gridloom.settlements import recording, store
from gridloom.settlements.capability_checks import ImplausibleSettlement
from gridloom.settlements.measures import MEASURES, FactSource
from gridloom.settlements.model import (
    FCR_AWARDS,
    NET_OFFS,
    TOLLING_CONTRACTS,
    WHOLESALE_TRADES,
    FCRAward,
    Origin,
    Touched,
    WholesaleTrade,
)
from gridloom.settlements.model import NetOff as NetOffRow
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


class TestTheEvent:
    async def test_is_one_for_each_asset_and_spans_all_that_has_changed_of_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = []
        kinds = {7: "VIRTUAL", 8: "PHYSICAL"}

        async def owners(db: Any, keys: list[int]) -> dict[int, tuple[UUID, str, UUID]]:
            return {key: (UUID(int=key), kinds[key], UUID(int=100 + key)) for key in keys}

        async def record_event(db: Any, **event: Any) -> None:
            assert (event["type"], event["permission"]) == ("data-points.updated", Permission.READ_REVENUE)
            told.append((event["asset_key"], event["subject"], event["organisation_id"].int, event["data"]))

        def days(first: int, end: int) -> tuple[datetime, datetime]:
            return MIDNIGHT + timedelta(days=first), MIDNIGHT + timedelta(days=end)

        monkeypatch.setattr("gridloom.settlements.store.owners", owners)
        monkeypatch.setattr(recording, "record_event", record_event)
        nothing: Any = None
        spans = ((7, days(2, 5)), (8, days(0, 1)), (7, days(1, 3)))
        await recording.emit_changed(nothing, [Touched(key, None, *span, 1, 0) for key, span in spans])
        assert told == [
            (
                *(key, f"{kinds[key].lower()}-assets/{UUID(int=key)}", 100 + key),
                dict(zip(("start", "end"), span, strict=True)),
            )
            for key, span in ((7, days(1, 5)), (8, days(0, 1)))
        ]


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


class TestOneTransaction:
    async def test_may_record_facts_of_a_kind_more_than_once(self, world: World) -> None:
        asset = await world.bare_asset()
        async with world.pool.acquire() as db, db.transaction():
            recorder = recording.Recorder(world.by)
            for trade_id in ("T1", "T2"):
                row = trade(asset, trade_id)
                recorded = await recording.record_settlements(db, WHOLESALE_TRADES, [row], recorder)
                assert recorded.counts.inserted == 1
        assert (await day_sheets(world, asset))[date(2026, 3, 29)]["sell_proceeds_eur"] == 200.0


class TestManyDays:
    async def test_are_all_summed_up_though_not_in_one_go(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recording, "DAY_BATCH_SIZE", 2)
        asset, days = await world.bare_asset(), [date(2026, 4, 1) + timedelta(days=n) for n in range(5)]
        await world.record(WHOLESALE_TRADES, [trade(asset, time=utc(day, 12)) for day in days])
        sums = await day_sheets(world, asset)
        assert {day: one["sell_proceeds_eur"] for day, one in sums.items()} == dict.fromkeys(days, 100.0)


class TestATrade:
    async def test_over_four_quarter_hours_is_four_rows_of_one_id(self, world: World) -> None:
        asset = await world.bare_asset()
        hour = [trade(asset, time=MIDNIGHT + timedelta(minutes=15 * n)) for n in range(4)]
        counts = (await world.record(WHOLESALE_TRADES, hour)).counts
        assert counts.inserted == 4
        assert (await day_sheets(world, asset))[date(2026, 3, 29)]["sell_proceeds_eur"] == 400.0
        counts = (await world.record(WHOLESALE_TRADES, [*hour, trade(asset, side="BUY")])).counts
        assert (counts.inserted, counts.replaced, counts.unchanged) == (1, 0, 4)

    async def test_of_a_traders_gives_way_to_the_operators_for_good(self, world: World) -> None:
        asset = await world.bare_asset()

        async def record(price: float, origin: Origin) -> tuple[int, int, int]:
            counts = (await world.record(WHOLESALE_TRADES, [trade(asset, price=price)], origin)).counts
            return counts.inserted, counts.replaced, counts.unchanged

        assert await record(1.0, Origin.TRADER) == (1, 0, 0)
        assert await record(1.0, Origin.TRADER) == (0, 0, 1)
        assert await record(2.0, Origin.TRADER) == (0, 1, 0)
        assert await record(3.0, Origin.OPERATOR) == (0, 1, 0)
        assert await record(4.0, Origin.TRADER) == (0, 0, 1)
        assert (await day_sheets(world, asset))[date(2026, 3, 29)]["sell_proceeds_eur"] == 6.0
        assert await record(5.0, Origin.OPERATOR) == (0, 1, 0)
        rows = await world.pool.fetch(
            """
            select price_eur_mwh::float8 as price, origin from wholesale_trade_version
            where asset_key = $1 order by price
            """,
            await world.key_of(asset),
        )
        known = [(row["price"], row["origin"]) for row in rows]
        assert known == [(1.0, "TRADER"), (2.0, "TRADER"), (3.0, "OPERATOR"), (5.0, "OPERATOR")]

    async def test_that_the_operator_confirms_is_the_operators(self, world: World) -> None:
        asset = await world.bare_asset()
        await world.record(WHOLESALE_TRADES, [trade(asset)], Origin.TRADER)
        await world.record(WHOLESALE_TRADES, [trade(asset)])
        assert (await world.record(WHOLESALE_TRADES, [trade(asset, price=9.0)], Origin.TRADER)).counts.unchanged == 1


class TestAnAward:
    async def test_beyond_the_power_of_its_asset_is_a_markets_result_or_a_mistake(self, world: World) -> None:
        """8 MW can be charged: a result that was accepted holds, also of a battery that was derated since."""
        id = str(await world.virtual_asset(10))
        row = FCRAward(
            asset_id=id, delivery_day=date(2026, 5, 4), product="NEGPOS_00_04", capacity=9.0, settlement_price=10.0
        )
        with pytest.raises(ImplausibleSettlement):
            await world.record(FCR_AWARDS, [row], Origin.OPERATOR)
        recorded = await world.record(FCR_AWARDS, [row], Origin.PROVISIONAL)
        assert recorded.counts.inserted == 1


class TestATradersTrade:
    async def test_is_within_what_its_asset_can_do(self, world: World) -> None:
        asset = await world.virtual_asset(10)
        with pytest.raises(ImplausibleSettlement):
            await world.record(WHOLESALE_TRADES, [trade(asset, volume=20.5)], Origin.TRADER)
        assert (await world.record(WHOLESALE_TRADES, [trade(asset, volume=20.0)], Origin.TRADER)).counts.inserted == 1


class TestCorrection:
    async def test_replaces_the_row_and_keeps_the_old_one(self, world: World) -> None:
        asset = await world.bare_asset()
        await world.record(WHOLESALE_TRADES, [trade(asset)])
        counts = (await world.record(WHOLESALE_TRADES, [trade(asset, price=60.0)])).counts
        assert (counts.inserted, counts.replaced, counts.unchanged) == (0, 1, 0)
        rows = await world.pool.fetch(
            "select * from wholesale_trade_version where asset_key = $1 order by recorded_at, superseded_at",
            await world.key_of(asset),
        )
        assert [float(row["price_eur_mwh"]) for row in rows] == [50.0, 60.0]
        assert rows[0]["superseded_at"] == rows[1]["recorded_at"]
        assert rows[0]["superseded_by"] == world.by
        assert rows[1]["superseded_at"] is None

    async def test_takes_back_what_did_not_happen_by_volume_0(self, world: World) -> None:
        asset = await world.bare_asset()
        await world.record(WHOLESALE_TRADES, [trade(asset)])
        moved = [trade(asset, volume=0.0), trade(asset, time=MIDNIGHT + timedelta(days=3))]
        recorded = await world.record(WHOLESALE_TRADES, moved)
        assert len(recorded.touched) == 2
        days = await day_sheets(world, asset)
        assert days[date(2026, 3, 29)]["sell_volume_mwh"] == 0.0
        assert days[date(2026, 4, 1)]["sell_volume_mwh"] == 2.0


class TestKeptSheets:
    async def test_hold_a_block_at_its_place_and_periods_at_theirs(self, world: World) -> None:
        asset = await world.bare_asset()
        award = FCRAward(
            asset_id=str(asset),
            delivery_day=date(2026, 3, 29),
            product="NEGPOS_04_08",
            capacity=3.0,
            settlement_price=5.525,
        )
        await world.record(FCR_AWARDS, [award])
        await world.record(
            NET_OFFS, [NetOffRow(asset_id=str(asset), time=MIDNIGHT + timedelta(hours=22.75), volume=-1.5)]
        )
        row = await world.pool.fetchrow("select * from settled_periods where asset_key = $1", await world.key_of(asset))
        assert row is not None
        blocks = decode_sheets(FactSource.FCR, [row["fcr"]], [6])
        assert blocks.shape == (4, 6)
        assert blocks[:, 1].tolist() == pytest.approx([66.3, 12.0, 22.1, 4.0])
        assert decode_sheets(FactSource.NET_OFF, [row["net_off"]], [92]).tolist() == [[0.0] * 91 + [-1.5]]
        assert row["wholesale"] is None


class TestTheSumsOfADay:
    async def test_are_those_of_every_kind_of_fact(self, world: World) -> None:
        asset, day = await world.bare_asset(), date(2026, 3, 29)
        facts: list[Fact] = [
            Trade(0, "a", utc(day, 0), "SELL", Fraction(8), Fraction("66.86")),
            Trade(0, "b", utc(day, 9), "BUY", Fraction(2), Fraction(-10)),
            NetOff(0, utc(day, 9), Fraction(1)),
            FCR(0, day, "NEGPOS_00_04", Fraction(7), Fraction("22.286667"), Fraction(3)),
            AFRRCapacity(0, day, "POS_04_08", Fraction(5), Fraction(4), Fraction(3)),
            AFRREnergy(0, utc(day, 12), "POS", Fraction("2.5"), Fraction(50)),
            AFRREnergy(0, utc(day, 12), "NEG", Fraction(3), Fraction(-20)),
            AFRREnergy(0, utc(day, 13), "NEG", Fraction(1), Fraction(7)),
        ]
        await world.record_facts(facts, [asset])
        assert await day_sheets(world, asset) == {
            day: {
                "buy_volume_mwh": 2.0,
                "buy_cost_eur": -20.0,
                "sell_volume_mwh": 8.0,
                "sell_proceeds_eur": 534.88,
                "net_off_volume_mwh": 1.0,
                "fcr_revenue_eur": pytest.approx(468.020007),
                "fcr_capacity_mw_h": 21.0,
                "fcr_price_eur_mw": pytest.approx(66.860001),
                "fcr_delivery_h": 3.0,
                "afrr_capacity_revenue_eur": 60.0,
                "afrr_pos_volume_mwh": 2.5,
                "afrr_pos_revenue_eur": 125.0,
                "afrr_neg_volume_mwh": 4.0,
                "afrr_neg_revenue_eur": -53.0,
            }
        }
        revised = "select revised_at from settled_day where asset_key = $1"
        first = await world.pool.fetchval(revised, await world.key_of(asset))
        await world.pool.execute("select pg_sleep(0.002)")
        await world.record(NET_OFFS, [NetOffRow(asset_id=str(asset), time=utc(day, 9), volume=2.0)])
        assert await world.pool.fetchval(revised, await world.key_of(asset)) > first, "from then on they are others"


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


class TestALongBatch:
    async def test_is_copied_piece_by_piece(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store._Pieces, "SIZE", 100)
        asset = await world.bare_asset()
        counts = (await world.record(WHOLESALE_TRADES, [trade(asset, f"T{number}") for number in range(20)])).counts
        assert counts.inserted == 20


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
