"""Statements, positions and performance as of a moment answer the same for ever, whatever is learnt later."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.delivery.conftest import Yard
from tests.delivery.test_position import publish, trade
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.performance import store as measured_store
from gridloom.delivery.performance.recording import record_measured_days
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.monitoring.compaction import day_compaction
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.settlements.as_of import MEASURED, PRICES


async def measure(yard: Yard, battery: dict[str, Any], powers: list[float]) -> None:
    minute = timedelta(minutes=1)
    times = [wire(yard.start + place * QUARTER + n * minute) for place in range(len(powers)) for n in range(15)]
    values = [power for power in powers for _ in range(15)]
    body = {"active_power": {"time": times, "value": values}, "state_of_charge": {"time": times[:1], "value": [49]}}
    answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
    assert answer.status_code == 200, answer.text


async def fold(yard: Yard) -> None:
    """As the job does, without waiting for writers to come to rest."""
    async with yard.edge.pool.acquire() as db, db.transaction():
        for pending in await compaction_store.read_pending(db, settle=timedelta(0), closed_for=timedelta(0)):
            await day_compaction.run_step(db, pending)


async def moment(yard: Yard) -> datetime:
    now: datetime = await yard.edge.pool.fetchval("select date_trunc('milliseconds', platform_now())")
    await asyncio.sleep(0.005)
    return now


async def read_all(yard: Yard, virtual: dict[str, Any], battery: dict[str, Any], as_of: datetime | None) -> list[bytes]:
    window = {"start": wire(yard.start), "end": wire(yard.start + timedelta(days=2))}
    known = {} if as_of is None else {"as-of": as_of.isoformat()}
    owner, trader = yard.owner.admin, yard.trader.admin
    answers = [
        await trader.get(f"{yard.url(virtual)}/position", params={**window, **known}),
        await owner.get(f"/physical-assets/{battery['id']}/performance", params={**window, **known}),
        *[
            await reader.get(f"/revenue-reporting/{path}/statement", params={**window, **known})
            for reader, path in (
                (trader, f"virtual-assets/{virtual['id']}"),
                (owner, f"physical-assets/{battery['id']}"),
                (trader, f"organisations/{yard.trader.id}"),
                (owner, f"organisations/{yard.owner.id}"),
            )
        ],
    ]
    assert [answer.status_code for answer in answers] == [200] * len(answers), [answer.text for answer in answers]
    return [answer.content for answer in answers]


class TestAsOf:
    async def test_answers_what_was_known_then_byte_for_byte(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, 200.0, -100.0])
        await trade(yard, virtual, 0, "SELL", 0.12)
        hours = [
            {"series": "REBAP_DE", "start": wire(yard.start + place * QUARTER), "price": 50.0}
            | {"end": wire(yard.start + (place + 1) * QUARTER)}
            for place in range(192)
        ]
        assert (await yard.operator.post("/reference-prices", json=hours)).status_code == 200
        await yard.advance(yard.start + timedelta(days=3))
        await measure(yard, battery, [400.0, 150.0])
        await fold(yard)
        seen: list[tuple[datetime, list[bytes]]] = []

        async def see() -> None:
            at = await moment(yard)
            seen.append((at, await read_all(yard, virtual, battery, None)))
            assert await read_all(yard, virtual, battery, at) == seen[-1][1]

        await see()
        await trade(yard, virtual, 0, "SELL", 0.13, price=90)  # a correction
        await see()
        await publish(yard, 1, 60.0)  # the final price of a quarter-hour
        await see()
        await measure(yard, battery, [400.0, 150.0, -60.0])  # late telemetry
        await fold(yard)
        await see()
        await measure(yard, battery, [380.0])  # and corrected
        await fold(yard)
        await see()
        assert len({tuple(answers) for _, answers in seen}) == len(seen)
        for at, answers in seen:
            assert await read_all(yard, virtual, battery, at) == answers

    async def test_is_a_new_version_only_where_something_has_changed(self, yard: Yard) -> None:
        battery = await yard.battery()
        await yard.advance(yard.start + timedelta(days=2))
        day, versions = market_day_of(yard.start), []
        for powers in ([100.0], [100.0], [100.0, 50.0], [100.0, 50.0]):
            await measure(yard, battery, powers)
            await fold(yard)
            versions.append(await yard.edge.pool.fetchval("select max(version) from measured_day"))
        assert versions == [1, 1, 2, 2]
        key = await yard.edge.pool.fetchval("select key from asset where id = $1::text::uuid", battery["id"])
        assert list(await measured_store.read_measured_days(yard.edge.pool, key, day, day)) == [day]

    async def test_is_an_instant_before_now(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        later = wire(await yard.now() + timedelta(days=1))
        window = {"start": wire(yard.start), "end": wire(yard.start + timedelta(days=1)), "as-of": later}
        for reader, path in (
            (yard.trader.admin, f"{yard.url(virtual)}/position"),
            (yard.owner.admin, f"/physical-assets/{battery['id']}/performance"),
            (yard.trader.admin, f"/revenue-reporting/virtual-assets/{virtual['id']}/statement"),
            (yard.trader.admin, f"/revenue-reporting/virtual-assets/{virtual['id']}/data-points"),
        ):
            answer = await reader.get(path, params=window)
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "query:as-of"), path

    async def test_is_one_since_versions_are_kept_of_what_is_asked_for(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        since = await yard.now() - timedelta(days=1)
        window = {"start": wire(yard.start), "end": wire(yard.start + timedelta(days=1))}
        paths = {
            PRICES: (yard.trader.admin, f"{yard.url(virtual)}/position"),
            MEASURED: (yard.owner.admin, f"/physical-assets/{battery['id']}/performance"),
        }
        for what in paths:
            await yard.edge.pool.execute("delete from version_start")
            await yard.edge.pool.execute("insert into version_start (what, since) values ($1, $2)", what, since)
            for asked, (reader, path) in paths.items():
                early = {**window, "as-of": (since - timedelta(hours=1)).isoformat()}
                answer = await reader.get(path, params=early)
                assert answer.status_code == (422 if asked == what else 200), (what, path)
                assert asked != what or answer.json()["type"] == "/docs/problems/as-of-too-early"


class TestADayThatAnEarlierReleaseFolded:
    async def test_is_still_to_be_recorded_until_it_is(self, yard: Yard) -> None:
        """Two of them in one block, each with another signal; no block is of two months."""
        battery = await yard.battery()
        first = market_day_of(yard.start)
        if (first + timedelta(days=2)).month != first.month:
            first += timedelta(days=2)
        pool, days = yard.edge.pool, [first + timedelta(days=n) for n in range(3)]
        await yard.advance(market_day_window(days[2]).end + timedelta(hours=1))
        times = [wire(market_day_window(day).start) for day in days]
        body = {
            "active_power": {"time": times[:1], "value": [400.0]},
            "state_of_charge": {"time": times[1:2], "value": [49]},
        }
        answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
        assert answer.status_code == 200, answer.text
        key = await pool.fetchval("select key from asset where id = $1", UUID(battery["id"]))
        assert await measured_store.read_unrecorded_days(pool, key, days[0], days[2]) == days[:2], "not folded yet"
        await fold(yard)
        assert await measured_store.read_unrecorded_days(pool, key, days[0], days[2]) == []
        async with pool.acquire() as db, db.transaction():
            await day_compaction.rewrite_days(db, key, days[0], days[2])
        await pool.execute("delete from measured_day where asset_key = $1", key)
        assert await measured_store.read_unrecorded_days(pool, key, days[0], days[2]) == days[:2]
        assert await measured_store.read_unrecorded_days(pool, key, days[1], days[2]) == [days[1]]
        async with pool.acquire() as db, db.transaction():
            assert await record_measured_days(db, key, days[:1], await moment(yard)) == 1
        assert await measured_store.read_unrecorded_days(pool, key, days[0], days[2]) == [days[1]]


class TestAMeasuredDay:
    async def test_is_read_from_its_record_once_it_is_compacted(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, 200.0])
        await publish(yard, 0, 50.0)
        await yard.advance(yard.start + timedelta(days=3))
        await measure(yard, battery, [300.0, 200.0])
        before = await read_all(yard, virtual, battery, None)
        assert b'"measuredPower":300' in before[1]
        await fold(yard)
        assert await read_all(yard, virtual, battery, None) == before
        at = await moment(yard)
        as_of = await read_all(yard, virtual, battery, at)
        await yard.edge.pool.execute("delete from telemetry_block")
        assert await read_all(yard, virtual, battery, None) == before
        assert await read_all(yard, virtual, battery, at) == as_of

    async def test_counts_points_that_came_later_at_once(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, 200.0])
        await yard.advance(yard.start + timedelta(days=3))
        await measure(yard, battery, [300.0, 200.0])
        await fold(yard)
        await measure(yard, battery, [310.0])
        late = await read_all(yard, virtual, battery, None)
        assert b'"measuredPower":310' in late[1]
        assert b'"measuredPower":200' in late[1]
        await fold(yard)
        assert await read_all(yard, virtual, battery, None) == late

    async def test_is_completed_by_its_record_where_its_telemetry_is_gone(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, 200.0])
        await yard.advance(yard.start + timedelta(days=3))
        await measure(yard, battery, [300.0, 200.0])
        await fold(yard)
        await yard.edge.pool.execute("delete from telemetry_block")
        await measure(yard, battery, [310.0])
        late = await read_all(yard, virtual, battery, None)
        assert b'"measuredPower":310' in late[1]
        assert b'"measuredPower":200' in late[1]

    async def test_begins_with_a_state_of_charge_of_the_day_before_that_came_later(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0])
        await yard.advance(yard.start + timedelta(days=4))
        await measure(yard, battery, [300.0] * 100)
        await fold(yard)
        midnight = market_day_window(market_day_of(yard.start)).end
        body = {"state_of_charge": {"time": [wire(midnight - timedelta(minutes=1))], "value": [37.5]}}
        answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
        assert answer.status_code == 200, answer.text
        late = await read_all(yard, virtual, battery, None)
        assert b"37.5" in late[1]
        await fold(yard)
        assert await read_all(yard, virtual, battery, None) == late
