"""Jobs that organisations ask for: so many of each run on all replicas together, by turns, beside the platform's."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.platform.jobs.known import known_job
from tests.platform.jobs.running import note, now, running, until

from gridloom.platform.database.commit import transaction
from gridloom.platform.database.pool import create_pool
from gridloom.platform.jobs import JobRun, enqueue, store
from gridloom.platform.jobs.attempt import mark_started

pytestmark = pytest.mark.usefixtures("kinds")
KIND = "asked-for"


async def ask(pool: Any, organisation: UUID, key: str, *, size: int = 1) -> None:
    await enqueue(pool, KIND, key=key, due=now(), organisation_id=organisation, size=size)


class Runs:
    """Claims that stay open, as runs do, each on a connection of its own."""

    def __init__(self, pool: Any, max_running: int = 2) -> None:
        self.pool, self.max_running = pool, max_running
        self.stacks: dict[str, AsyncExitStack] = {}

    async def claim(self) -> str | None:
        stack = AsyncExitStack()
        db = await stack.enter_async_context(transaction(self.pool))
        claimed = await store.claim_due_of_organisation(db, [KIND], self.max_running)
        if claimed is None:
            await stack.aclose()
            return None
        assert await mark_started(self.pool, db, claimed)
        self.stacks[claimed.key] = stack
        return claimed.key

    async def end(self, *keys: str) -> None:
        for key in keys or list(self.stacks):
            await self.pool.execute("delete from job where key = $1", key)
            await self.stacks.pop(key).aclose()


@pytest.fixture
def asked_for() -> None:
    known_job(KIND, for_organisations=True)(note)


@pytest.mark.usefixtures("asked_for")
class TestATurn:
    async def test_goes_round_by_organisation(self, dsn) -> None:
        async with await create_pool(dsn, size=10) as pool:
            runs, (a, b, c) = Runs(pool, max_running=1), [uuid4() for _ in range(3)]
            for organisation, name in ((a, "a"), (b, "b"), (c, "c")):
                for number in range(2):
                    await ask(pool, organisation, f"{name}{number}")
            order = []
            for _ in range(6):
                key = await runs.claim()
                assert key is not None
                order.append(key[0])
                await runs.end(key)
            assert sorted(order[:3]) == sorted(order[3:]) == ["a", "b", "c"]

    async def test_is_given_to_the_shortest_of_an_organisation(self, dsn) -> None:
        async with await create_pool(dsn, size=10) as pool:
            runs, organisation = Runs(pool), uuid4()
            for name, size in (("year", 300), ("week", 2), ("month", 9)):
                await ask(pool, organisation, name, size=size)
            assert [await runs.claim(), await runs.claim(), await runs.claim()] == ["week", "month", None]
            await runs.end()

    async def test_leaves_nothing_locked_where_an_organisation_is_passed_over(self, dsn) -> None:
        async with await create_pool(dsn, size=10) as pool:
            runs, busy, other = Runs(pool), uuid4(), uuid4()
            for number in range(4):
                await ask(pool, busy, f"busy {number}")
            first, second = await runs.claim(), await runs.claim()
            assert first is not None
            assert second is not None
            await ask(pool, other, "other")
            assert await runs.claim() == "other"
            await runs.end(first)
            assert (await runs.claim() or "").startswith("busy")
            await runs.end()


@pytest.mark.usefixtures("asked_for")
class TestTheShare:
    async def test_holds_over_all_replicas_however_they_race(self, dsn) -> None:
        """Two services, many runners each: never more than two of an organisation at a time, and all get done."""
        max_concurrent: Counter[str] = Counter()
        most: Counter[str] = Counter()

        @known_job("counted", for_organisations=True)
        async def counted(run: JobRun) -> None:
            whose = run.key.partition(" ")[0]
            max_concurrent[whose] += 1
            most[whose] = max(most[whose], max_concurrent[whose])
            await asyncio.sleep(0.02)
            max_concurrent[whose] -= 1
            await note(run)

        one, other = [await create_pool(dsn, size=10) for _ in range(2)]
        await one.execute("create table if not exists done (key text, attempt int, at timestamptz default now())")
        for whose in ("a", "b"):
            organisation = uuid4()
            for number in range(12):
                await enqueue(one, "counted", key=f"{whose} {number}", due=now(), organisation_id=organisation, size=1)
        async with running(one, dsn, 2), running(other, dsn, 2):
            await until(lambda: one.fetchval("select count(*) = 24 from done"), seconds=20)
        await one.close()
        await other.close()
        assert most["a"] <= 2
        assert most["b"] <= 2
        assert max(most.values()) == 2

    async def test_counts_what_runs_and_what_waits_and_nothing_that_was_given_up(self, pool) -> None:
        ours = uuid4()
        for organisation, key in ((ours, "a"), (ours, "b"), (ours, "c"), (ours, "dead"), (uuid4(), "other")):
            await ask(pool, organisation, key)
        await pool.execute("update job set state = 'DEAD' where key = 'dead'")
        await pool.execute("update job set begun_at = now() where key = 'a'")
        assert await store.count_jobs(pool, ours) == (1, 2)

    async def test_is_free_again_when_a_process_dies(self, dsn) -> None:
        organisation = uuid4()
        async with await create_pool(dsn, size=10) as pool:
            runs = Runs(pool)
            for number in range(3):
                await ask(pool, organisation, str(number))
            async with await create_pool(dsn, size=2) as doomed:
                dying = Runs(doomed)
                assert await dying.claim() is not None
                assert await runs.claim() is not None
                assert await runs.claim() is None
                doomed.terminate()
                dying.stacks.clear()

            async def can_claim() -> bool:
                async with transaction(pool) as db:
                    return await store.claim_due_of_organisation(db, [KIND], 2) is not None

            await until(can_claim)
            await runs.end()
