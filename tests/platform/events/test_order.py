"""The order of events: every committed change in it once, none that rolled back, no gap, causes before effects."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from uuid import UUID

import pytest
from tests.platform.events.happening import data_with, number_in, record

from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.platform.database.commit import (
    begin_deferring,
    discard_deferred,
    flush_deferred,
    transaction,
    underlying_connection,
)
from gridloom.platform.events import outbox, store
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.sequencer import Sequencer


async def order_of(pool: Any, organisation_id: UUID) -> list[Any]:
    rows = await pool.fetch(
        "select sequence, id, data from event where organisation_id = $1 order by sequence", organisation_id
    )
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    return list(rows)


class TestAnOrder:
    async def test_has_what_was_committed_and_nothing_that_rolled_back(self, pool, organisation) -> None:
        ours = await organisation()
        async with pool.acquire() as db:
            attempt = db.transaction()
            await attempt.start()
            await record(db, ours, 1)
            await attempt.rollback()
        kept = await record(pool, ours, 2)
        assert await store.sequence_events(pool, 100) == 1
        assert [row["id"] for row in await order_of(pool, ours)] == [kept]

    async def test_follows_the_commits_and_not_the_insertions(self, pool, organisation) -> None:
        ours = await organisation()
        async with pool.acquire() as slow, slow.transaction():
            late = await record(slow, ours)
            early = await record(pool, ours)
            await store.sequence_events(pool, 100)
        await store.sequence_events(pool, 100)
        assert [row["id"] for row in await order_of(pool, ours)] == [early, late]

    async def test_is_gap_free_and_causal_under_concurrent_writers_and_sequencers(self, pool, organisation) -> None:
        organisations = [await organisation() for _ in range(3)]
        await pool.execute("create table counter (organisation_id uuid primary key, n int not null)")
        for ours in organisations:
            await pool.execute("insert into counter values ($1, 0)", ours)
        sequencers = [Sequencer(pool, poll_interval_s=0.05) for _ in range(3)]
        for sequencer in sequencers:
            await sequencer.start()
        dice = random.Random(1)

        async def write() -> None:
            for _ in range(40):
                ours = dice.choice(organisations)
                try:
                    async with transaction(pool) as db:
                        number = await db.fetchval(
                            "update counter set n = n + 1 where organisation_id = $1 returning n", ours
                        )
                        await record(db, ours, number)
                        if dice.random() < 0.2:
                            raise InterruptedError
                except InterruptedError:
                    pass

        await asyncio.gather(*(write() for _ in range(12)))
        while not await store.outbox_is_empty(pool):
            await asyncio.sleep(0.02)
        for sequencer in sequencers:
            await sequencer.stop()
        for ours in organisations:
            numbers = [number_in(row["data"]) for row in await order_of(pool, ours)]
            last = await pool.fetchval("select n from counter where organisation_id = $1", ours)
            # The counter was locked until each commit, so commit order is the order of its values.
            assert numbers == list(range(1, last + 1))


@pytest.fixture(params=[False, True], ids=["plain", "distributed"])
def each_way(request: pytest.FixtureRequest, pool: Any) -> None:
    """A distributed database finds an event's readers by statements of its own."""
    pool.is_distributed = request.param


@pytest.mark.usefixtures("each_way")
class TestTheReadersOfAnEvent:
    async def test_are_its_organisation_and_those_with_a_covering_grant(self, pool, organisation) -> None:
        owner, reader, other = [await organisation() for _ in range(3)]
        key = await pool.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2) returning key", uuid7(), owner
        )
        for grantee, permissions in ((reader, ["Read:schedules"]), (other, ["Read:monitoring"])):
            await pool.execute("insert into asset_grant values ($1, $2, $3, $2)", key, grantee, permissions)
        await record(pool, owner, type="schedule.updated", permission=Permission.READ_SCHEDULES, asset_key=key)
        await store.sequence_events(pool, 100)
        counts = [len(await order_of(pool, who)) for who in (owner, reader, other)]
        assert counts == [1, 1, 0]

    async def test_include_the_operator_except_for_bids(self, pool, organisation) -> None:
        ours, operator = await organisation(), await organisation("OPERATOR")
        await record(pool, ours, type="bid.placed")
        await record(pool, ours, type="auction.cleared")
        await store.sequence_events(pool, 100)
        types = await pool.fetch("select type from event where organisation_id = $1", operator)
        assert [row["type"] for row in types] == ["auction.cleared"]


class TestManyEvents:
    """Many of one transaction are written by a statement of their own."""

    async def test_stand_as_few_do_and_after_what_was_emitted_before_them(self, pool, organisation) -> None:
        ours = await organisation()
        emitted = [
            NewEvent(
                type="auction.opened",
                organisation_id=ours,
                subject=f"auctions/{number}",
                permission=Permission.READ_AUCTIONS,
                asset_key=number,
                data=data_with("auction.opened", number),
            )
            for number in range(outbox.FEW + 4)
        ]
        async with transaction(pool) as db:
            begin_deferring(db)
            ids = await outbox.put_in_outbox(db, emitted[:1])
            ids += await outbox.put_in_outbox(db, emitted[1:-1])
            ids += await outbox.put_in_outbox(db, emitted[-1:])
            await flush_deferred(db)
            discard_deferred(underlying_connection(db))
        rows = await pool.fetch(
            """select event_id, type, organisation_id, subject, permission, asset_key, data ->> 'auctionID' as auction
               from event_outbox order by id"""
        )
        assert [tuple(row) for row in rows] == [
            (id, one.type, ours, one.subject, one.permission, one.asset_key, str(one.data["auctionID"]))
            for id, one in zip(ids, emitted, strict=True)
        ]
        assert await store.sequence_events(pool, 100) == len(emitted)
