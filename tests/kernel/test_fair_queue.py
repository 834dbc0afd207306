"""Turns at a few slots: by organisation, short before long, within the limits of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.fair_queue import FairQueue
from gridloom.kernel.shares import Share, ShareExceeded


def queue_of(slots: int = 2, max_running: int = 1, max_waiting: int = 100, max_long: int | None = None) -> FairQueue:
    return FairQueue(
        Share.COMPUTATIONS, slots=slots, max_running=max_running, max_waiting=max_waiting, max_long=max_long
    )


class Work:
    """Pieces of work that each end when told to; `started` is the order in which they had their turn."""

    def __init__(self, queue: FairQueue) -> None:
        self.queue = queue
        self.started: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, name: str, holder: str | None, *, is_long: bool = False) -> asyncio.Task[None]:
        self._ends[name] = asyncio.Event()

        async def run() -> None:
            async with self.queue.slot(holder, is_long=is_long):
                self.started.append(name)
                await self._ends[name].wait()

        self._tasks[name] = asyncio.create_task(run())
        await asyncio.sleep(0)
        return self._tasks[name]

    async def end(self, name: str) -> None:
        assert name in self.started, f"{name} has not had its turn"
        self._ends[name].set()
        await self._tasks[name]
        await asyncio.sleep(0)

    async def end_all(self) -> None:
        """What has no turn although all others have ended is given up: it would be waited for without end."""
        for _ in range(5 * len(self._tasks)):
            for name in list(self.started):
                self._ends[name].set()
            await asyncio.sleep(0)
        left = [task for task in self._tasks.values() if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


@asynccontextmanager
async def work_at(queue: FairQueue) -> AsyncIterator[Work]:
    work = Work(queue)
    try:
        yield work
    finally:
        await work.end_all()


class TestACursor:
    async def test_goes_to_short_work_before_long(self) -> None:
        async with work_at(queue_of(slots=2)) as work:
            await work.ask("x", "x")
            await work.ask("y", "y")
            await work.ask("long", "a", is_long=True)
            await work.ask("short", "a")
            await work.ask("of another", "b")
            await work.end("x")
            await work.end("short")
            await work.end("of another")
            assert work.started[2:] == ["short", "of another", "long"]

    async def test_passes_by_long_work_beyond_its_limit_for_its_holder_alone(self) -> None:
        async with work_at(queue_of(slots=4, max_running=2, max_long=1)) as work:
            for name, holder, is_long in (("1", "a", True), ("2", "a", True), ("3", "a", False), ("4", "b", True)):
                await work.ask(name, holder, is_long=is_long)
            assert work.started == ["1", "3", "4"]
            await work.end("3")
            assert work.started == ["1", "3", "4"]
            await work.end("1")
            assert work.started == ["1", "3", "4", "2"]

    async def test_has_no_limit_for_exempt_callers(self) -> None:
        async with work_at(queue_of(slots=3, max_running=1, max_waiting=1)) as work:
            for number in range(9):
                await work.ask(f"{number}", None)
            assert len(work.started) == 3


class TestWaiting:
    async def test_is_refused_beyond_the_share_by_name_and_with_a_time(self) -> None:
        async with work_at(queue_of(max_waiting=2)) as work:
            for number in range(3):
                await work.ask(f"a{number}", "a")
            with pytest.raises(ShareExceeded) as refusal:
                await (await work.ask("too many", "a"))
            assert refusal.value.members == {"share": "computations", "limit": 1}
            assert int(refusal.value.headers["Retry-After"]) >= 1
            await work.ask("b", "b")
            assert work.started == ["a0", "b"]
            assert (work.queue.count_running("a"), work.queue.count_waiting("a")) == (1, 2)

    async def test_that_is_given_up_holds_nothing(self) -> None:
        async with work_at(queue_of()) as work:
            await work.ask("a1", "a")
            given_up = await work.ask("a2", "a")
            await work.ask("a3", "a")
            given_up.cancel()
            await asyncio.wait([given_up])
            assert given_up.cancelled()
            await work.end("a1")
            assert work.started == ["a1", "a3"]

    async def test_that_is_given_up_with_its_turn_passes_it_on(self) -> None:
        async with work_at(queue_of()) as work:
            await work.ask("a1", "a")
            given_up = await work.ask("a2", "a")
            await work.ask("a3", "a")
            work._ends["a1"].set()
            await asyncio.sleep(0)  # the turn is given; its task has not gone on yet
            given_up.cancel()
            await asyncio.wait([given_up])
            await asyncio.sleep(0)
            assert "a3" in work.started
            assert work.queue.count_running("a") == 1


class TestTheQueue:
    @given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=40))
    def test_runs_everything_and_never_more_than_its_limits(self, asked: list[tuple[str, bool]]) -> None:
        async def run() -> None:
            queue, now, done = queue_of(slots=3, max_running=2), dict.fromkeys("abc", 0), 0

            async def work(holder: str, is_long: bool) -> None:
                nonlocal done
                async with queue.slot(holder, is_long=is_long):
                    now[holder] += 1
                    assert now[holder] <= 2
                    assert sum(now.values()) <= 3
                    await asyncio.sleep(0)
                    now[holder] -= 1
                done += 1

            await asyncio.gather(*(work(*one) for one in asked))
            assert done == len(asked)
            assert not queue._lines
            assert queue._free == 3

        asyncio.run(run())
