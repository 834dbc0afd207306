"""A schedule that was in time is delivered, however late it is committed."""

from __future__ import annotations

import asyncio

import pytest
from tests.delivery.conftest import Yard

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


async def test_nobody_who_only_reads_is_waited_for(yard: Yard) -> None:
    battery = await yard.battery()
    await yard.schedule(await yard.virtual(battery), [100.0])
    async with yard.edge.pool.acquire() as db, db.transaction():
        await db.execute("lock table virtual_asset in access share mode")
        await yard.gate_of(0)
    assert await yard.powers(battery, 1) == [100.0]
