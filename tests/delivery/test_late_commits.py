"""A schedule that was in time is delivered, however late it is committed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.delivery.conftest import Yard
from tests.delivery.test_dispatch import lose
from tests.stand_ins import replace_for
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.inputs.zone_status_store import advance_final_until
from gridloom.delivery.performance.store import lock_measured
from gridloom.delivery.runs import due_gates
from gridloom.delivery.runs.run import read_one_zone_status

HELD_UP = "select count(*) from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))"


@pytest.mark.parametrize("has_other_news", [False, True], ids=["at a gate without news", "at a gate with a run"])
async def test_a_schedule_that_was_in_time_is_delivered_though_it_is_committed_after_its_gate(
    yard: Yard, has_other_news: bool
) -> None:
    one, two = await yard.battery(), await yard.battery()
    late, other = await yard.virtual(one), await yard.virtual(two)
    await yard.schedule(late, [100.0, 100.0])
    await yard.gate_of(-1)
    if has_other_news:
        await yard.schedule(other, [50.0])
    async with yard.edge.pool.acquire() as db:
        holding = db.transaction()
        await holding.start()
        # What a change writes after its gate was found open, so that it stops there.
        await db.execute("select 1 from virtual_schedule where power_kw[1] is not null for update")
        putting = asyncio.create_task(yard.schedule(late, [300.0, 300.0]))
        while not await db.fetchval(HELD_UP):
            await asyncio.sleep(0.01)
        closing = asyncio.create_task(yard.gate_of(0))
        # Long enough for a run that does not wait to be over.
        await asyncio.wait({closing}, timeout=1.5)
        await holding.rollback()
    await asyncio.gather(putting, closing)
    assert await yard.powers(one, 2) == [300.0, 300.0]
    assert await yard.powers(two, 1) == [50.0 if has_other_news else 0.0]


async def test_no_transaction_that_only_reads_is_waited_for(yard: Yard) -> None:
    battery = await yard.battery()
    await yard.schedule(await yard.virtual(battery), [100.0])
    async with yard.edge.pool.acquire() as db, db.transaction():
        await db.execute("lock table virtual_asset in access share mode")
        await yard.gate_of(0)
    assert await yard.powers(battery, 1) == [100.0]


async def test_no_gate_is_missed_for_a_session_that_hangs(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open transaction, say, in which a virtual asset was touched: it is waited for once, and not long."""
    battery = await yard.battery()
    virtual = await yard.virtual(battery)
    await yard.schedule(virtual, [100.0, 100.0])
    async with yard.edge.pool.acquire() as db, db.transaction():
        await db.execute("lock table virtual_asset in row exclusive mode")
        replace_for(monkeypatch, due_gates, "time", monotonic=lambda: 30 * time.monotonic())
        async with asyncio.timeout(120):
            await yard.gate_of(0)
        assert await yard.powers(battery, 2) == [100.0, 100.0]
        await yard.schedule(virtual, [200.0], offset=1)
        replace_for(monkeypatch, due_gates, "time", monotonic=lambda: 0.0)
        async with asyncio.timeout(120):
            await yard.gate_of(1)
    assert await yard.powers(battery, 2) == [100.0, 200.0]


async def test_a_change_that_takes_longer_than_gates_wait_is_undone(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would stand though its period was made final without it."""
    battery = await yard.battery()
    virtual = await yard.virtual(battery)
    await yard.schedule(virtual, [100.0])
    monkeypatch.setattr("gridloom.virtual_assets.schedule.change.apply.MAX_LOCK_S", 0.0)
    answer = await yard.trader.trader.put(
        f"{yard.url(virtual)}/blocks/{virtual['blockIDs'][0]}",
        json={"schedule": [{"time": wire(yard.start), "power": 300.0}]},
    )
    assert answer.status_code == 503
    assert "Nothing was changed" in answer.json()["detail"]
    await yard.gate_of(0)
    assert await yard.powers(battery, 1) == [100.0]


async def test_no_gate_is_missed_for_a_virtual_asset_that_another_transaction_has_locked(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is to be cut, and that cannot be written now: the plan counts the cut, and a later run records it."""
    replace_for(monkeypatch, due_gates, "time", monotonic=lambda: 75 * time.monotonic())
    monkeypatch.setattr("gridloom.delivery.runs.finalisation.LOCK_TIMEOUT_S", 0.5)
    one, two = await yard.battery(), await yard.battery()
    held, other = await yard.virtual(one), await yard.virtual(two)
    await yard.schedule(held, [400.0, 400.0])
    await yard.gate_of(-2)
    await lose(yard, one, 1000.0)
    await yard.gate_of(-1)
    async with yard.edge.pool.acquire() as db, db.transaction():
        await db.execute("set local idle_in_transaction_session_timeout = 0")
        await db.execute(
            "select 1 from virtual_asset where asset_key = (select key from asset where id = $1) for update", held["id"]
        )
        await yard.schedule(other, [50.0])
        await yard.gate_of(0)
        assert await yard.powers(two, 1) == [50.0]
        assert await yard.powers(one, 1) == [0.0]
    await yard.gate_of(1)
    answer = await yard.trader.trader.get(
        f"{yard.url(held)}/adjustments",
        params={"start": wire(yard.start), "end": wire(yard.start + 2 * QUARTER)},
    )
    assert [entry["adjustedSchedule"] for entry in answer.json()] == [0.0, 0.0]


async def test_what_was_measured_of_a_battery_is_recorded_by_one_process_at_a_time(app: Any) -> None:
    held = "select count(*) from pg_locks where locktype = 'advisory' and granted and pid = $1"
    async with app.pool.acquire() as one, one.transaction():
        await lock_measured(one, 7)
        assert await one.fetchval(held, one.get_server_pid()) == 1


async def test_a_gate_that_was_looked_at_before_a_run_makes_nothing_final_after_it(yard: Yard) -> None:
    virtual = await yard.virtual(await yard.battery())
    await yard.schedule(virtual, [100.0, 100.0])
    await yard.gate_of(0)
    pool = yard.edge.pool
    zone = await pool.fetchval("select delivery_zone from delivery_zone")
    seen = await read_one_zone_status(pool, zone, await yard.now())
    await yard.schedule(virtual, [200.0], offset=1)
    await yard.gate_of(1)
    after = await read_one_zone_status(pool, zone, await yard.now())
    assert seen is not None
    assert after is not None
    assert after.final_until is not None
    for status, final_until in ((seen, after.final_until), (after, after.final_until + 1)):
        await advance_final_until(pool, [status], [after.final_until + 1])
        found = await pool.fetchval("select settled_until from delivery_zone where delivery_zone = $1", zone)
        assert found == final_until
