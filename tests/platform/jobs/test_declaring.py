"""Kinds of jobs as they are declared, and how one attempt at a job is limited, counted and told of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from prometheus_client import REGISTRY

from gridloom.platform.jobs import JobRun, enqueue, job, jobs_of, register_jobs, runner, store
from gridloom.platform.jobs.attempt import mark_started
from gridloom.platform.jobs.declare import KINDS, JobKind
from gridloom.platform.jobs.runner import JobRunner

pytestmark = pytest.mark.pure

HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 29, 1, tzinfo=UTC)
DB: Any = "db"
CLAIMED = store.ClaimedJob(
    kind="tidy", key="a", payload={}, due=NOW, attempts=5, crashes=2, begun_at=NOW, revision=1, lag_s=0
)


@pytest.fixture(autouse=True)
def without_kinds(kinds: None) -> None:
    """Each test declares its own."""


async def tidy(run: JobRun) -> None: ...


async def another(run: JobRun) -> None: ...


def kind(name: str = "tidy", handler: Any = tidy, **options: Any) -> JobKind:
    async def wrapped(run: JobRun) -> None: ...

    wrapped.__qualname__ = handler.__qualname__
    declared: JobKind = job(name, **options)(wrapped).__job__  # type: ignore[attr-defined]
    return declared


class TestAKindOfJob:
    def test_is_short_and_the_platforms_and_by_the_real_clock_unless_it_says_otherwise(self) -> None:
        plain = kind()
        assert (plain.limit, plain.every, plain.clock) == (timedelta(minutes=1), None, "real")
        assert (plain.bulk, plain.for_organisations, plain.postpone) == (False, False, None)

        async def postpone(*_: Any) -> datetime:
            return NOW

        told = kind(limit=HOUR, every=HOUR, clock="platform", bulk=True, postpone=postpone)
        assert (told.name, told.limit, told.every, told.clock) == ("tidy", HOUR, HOUR, "platform")
        assert (told.bulk, told.for_organisations, told.postpone) == (True, False, postpone)
        assert kind(for_organisations=True).for_organisations

    def test_that_recurs_does_so_after_a_while_and_is_nobodys_but_the_platforms(self) -> None:
        for options in ({"every": timedelta()}, {"every": HOUR, "for_organisations": True}):
            with pytest.raises(AssertionError):
                kind(**options)

    def test_has_one_handler(self) -> None:
        first = kind()
        register_jobs(first, kind("other"))
        register_jobs(kind())
        assert sorted(KINDS) == ["other", "tidy"]
        with pytest.raises(AssertionError, match="two handlers for tidy"):
            register_jobs(kind(handler=another))

    def test_is_of_the_module_that_declares_it(self) -> None:
        here, there = ModuleType("here"), ModuleType("there")
        for module, name in ((here, "one"), (here, "two"), (there, "three")):
            declared = job(name)(_made_for(module.__name__))
            setattr(module, name, declared)
        there.one = here.one  # type: ignore[attr-defined]
        there.value = 7  # type: ignore[attr-defined]
        assert [one.name for one in jobs_of(here, there)] == ["one", "two", "three"]


def _made_for(module: str) -> Any:
    async def handler(run: JobRun) -> None: ...

    handler.__module__ = module
    return handler


class TestAJobThatIsPut:
    async def test_is_an_organisations_where_its_kind_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put: list[Any] = []

        async def note(*of: Any) -> None:
            put.append(of)

        monkeypatch.setattr(store, "put", note)
        register_jobs(kind(), kind("asked-for", for_organisations=True))
        ours = UUID(int=7)
        await enqueue(DB, "tidy", key="a", due=NOW)
        await enqueue(DB, "asked-for", key="b", due=NOW, organisation_id=ours, size=9, restart=False, payload={"n": 1})
        await enqueue(DB, "of-the-next-release", key="c", due=NOW, clock="platform", keep_earlier_due=True)
        assert put == [
            (DB, "tidy", "a", "real", NOW, {}, True, False, None, 0),
            (DB, "asked-for", "b", "real", NOW, {"n": 1}, False, False, ours, 9),
            (DB, "of-the-next-release", "c", "platform", NOW, {}, True, True, None, 0),
        ]
        for name, owner in (("tidy", ours), ("asked-for", None)):
            with pytest.raises(AssertionError, match="whose job"):
                await enqueue(DB, name, key="a", due=NOW, organisation_id=owner)
        with pytest.raises(AssertionError, match="an instant"):
            await enqueue(DB, "tidy", key="a", due=NOW.replace(tzinfo=None))


class TestTheSlotsOfARunner:
    def test_take_the_kinds_that_are_theirs_and_one_bulky_job_at_a_time(self) -> None:
        register_jobs(kind(), kind("bulky", bulk=True), kind("asked-for", for_organisations=True))
        platform, organisations = JobRunner(DB, max_concurrent=5, organisation_slots=4)._groups
        assert (platform.slots, organisations.slots) == (5, 4)
        assert (platform.free_kinds(), organisations.free_kinds()) == (["tidy", "bulky"], ["asked-for"])
        platform.is_bulk_running = True
        assert (platform.free_kinds(), organisations.free_kinds()) == (["tidy"], ["asked-for"])
        assert platform.claim is store.claim_due

    async def test_put_what_recurs_into_the_queue_when_they_begin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put: list[Any] = []

        async def note(*of: Any) -> None:
            put.append(of)

        async def rest(_: JobRunner) -> None: ...

        monkeypatch.setattr(store, "put_recurring", note)
        monkeypatch.setattr(JobRunner, "_keep_running", rest)
        register_jobs(kind(), kind("tick", every=HOUR, clock="platform"))
        runner = JobRunner(DB)
        assert not runner.alive()
        await runner.start()
        assert put == [(DB, "tick", "platform", HOUR)]
        assert runner.alive()
        await runner.stop()
        assert not runner.alive()

    async def test_end_at_once_though_nothing_is_due_for_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def next_due(*_: Any) -> tuple[bool, float | None]:
            return False, None

        monkeypatch.setattr(store, "next_due", next_due)
        runner = JobRunner(DB, poll_interval_s=3600)
        await runner.start()
        await asyncio.sleep(0.01)
        async with asyncio.timeout(60):
            await runner.stop()

    async def test_keep_looking_whatever_a_look_ends_with_and_at_once_where_they_are_woken_meanwhile(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An error is followed by a pause, a notification during a look by the next look."""
        looks: list[list[str]] = []
        register_jobs(kind(), kind("asked-for", for_organisations=True))
        monkeypatch.setattr(runner, "RETRY_DELAY_S", 0.001)
        looking = JobRunner(DB, poll_interval_s=3600)

        async def next_due(_: Any, names: list[str]) -> tuple[bool, float | None]:
            looks.append(names)
            if len(looks) == 1:
                raise ValueError("no such column")
            if len(looks) in (2, 5):
                looking._wake.set()
            if len(looks) == 6:
                return False, 0.001
            if len(looks) == 8:
                looking._stopping = True
                looking._wake.set()
            return False, None

        monkeypatch.setattr(store, "next_due", next_due)
        await looking.start()
        assert looking._task is not None
        async with asyncio.timeout(60):
            await looking._task
        assert looks == [["tidy"], *[["tidy"], ["asked-for"]] * 4]

    async def test_are_dead_where_what_looks_for_jobs_has_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def fall(_: JobRunner) -> None:
            raise RuntimeError

        monkeypatch.setattr(JobRunner, "_keep_running", fall)
        fallen = JobRunner(DB)
        await fallen.start()
        assert fallen._task is not None
        await asyncio.gather(fallen._task, return_exceptions=True)
        assert not fallen.alive()

    async def test_are_closed_to_bulky_jobs_for_as_long_as_one_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many other jobs begin and end meanwhile."""
        seen: list[tuple[str, bool]] = []
        is_well = True

        @asynccontextmanager
        async def transaction(_: Any) -> AsyncIterator[Any]:
            yield DB

        async def begin(*_: Any) -> bool:
            return is_well

        async def run(_pool: Any, _db: Any, claimed: store.ClaimedJob) -> None:
            seen.append((claimed.kind, lanes.is_bulk_running))
            if claimed.kind == "bulky":
                assert await one._run_one(lanes, found)
                seen.append(("bulky", lanes.is_bulk_running))

        async def claim(_: Any, names: list[str]) -> store.ClaimedJob | None:
            name = "bulky" if "bulky" in names else "tidy"
            return store.ClaimedJob(
                kind=name, key="a", payload={}, due=NOW, attempts=0, crashes=0, begun_at=None, revision=1, lag_s=0
            )

        for name, stand_in in (("transaction", transaction), ("mark_started", begin), ("run_claimed", run)):
            monkeypatch.setattr(runner, name, stand_in)
        register_jobs(kind(), kind("bulky", bulk=True))
        one = JobRunner(DB)
        lanes = one._groups[0]
        lanes.claim = claim
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        assert await one._run_one(lanes, found)
        assert found.result()
        assert seen == [("bulky", True), ("tidy", True), ("bulky", True)]
        assert not lanes.is_bulk_running
        is_well = False
        assert await one._run_one(lanes, found), "after one that may not be run now comes the next"
        assert len(seen) == 3
        assert not lanes.is_bulk_running

    def test_are_woken_by_the_channel_of_the_queue(self) -> None:
        heard: dict[str, Any] = {}
        runner = JobRunner(DB)
        runner.attach(SimpleNamespace(subscribe=heard.__setitem__))  # type: ignore[arg-type]
        assert not runner._wake.is_set()
        heard["gridloom_job"](None)
        assert runner._wake.is_set()


class TestARunThatDied:
    async def test_counts_as_such_or_as_the_last_one_and_rests_by_how_many_died(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Failures of the job's own, of which there were more, are none of its deaths."""
        rests: list[Any] = []
        dead = iter((False, True))

        async def record(_db: Any, _claimed: Any, detail: str, rest: timedelta, most_deaths: int) -> bool:
            rests.append((detail, timedelta(seconds=1.6) <= rest <= timedelta(seconds=2.4), most_deaths))
            return next(dead)

        def count(outcome: str) -> float:
            return REGISTRY.get_sample_value("gridloom_job_runs_total", {"kind": "tidy", "outcome": outcome}) or 0

        monkeypatch.setattr(store, "record_crash", record)
        for outcome, other in (("died", "dead"), ("dead", "died")):
            before = count(outcome), count(other)
            assert not await mark_started(DB, DB, CLAIMED)
            assert (count(outcome), count(other)) == (before[0] + 1, before[1])
        detail = (
            "The run that began at 2026-03-29 01:00:00 UTC ended without a trace: "
            "the process that ran it was killed, or lost the database."
        )
        assert rests == [(detail, True, 10)] * 2


class TestTheEndOfARun:
    @pytest.mark.parametrize(("found", "is_ended"), [([True], True), ([None, True], True), ([None, None], False)])
    async def test_leaves_a_job_that_was_put_again_at_the_last_moment(
        self, found: list[bool | None], is_ended: bool
    ) -> None:
        """Between what the first statement has seen and what it waited for."""

        async def fetchval(*_: Any) -> bool | None:
            return found.pop(0)

        db: Any = SimpleNamespace(fetchval=fetchval)
        assert await store.finish(db, CLAIMED) is is_ended
        assert found == []


class TestTheLimitOfARun:
    @pytest.mark.parametrize(("is_walk", "walk"), [(False, "off"), (True, "on")])
    async def test_is_set_in_its_transaction_in_milliseconds(self, is_walk: bool, walk: str) -> None:
        asked: list[Any] = []

        async def execute(statement: str, *arguments: Any) -> None:
            asked.append((" ".join(statement.split()), *arguments))

        db: Any = SimpleNamespace(execute=execute)
        await store.limit_transaction(db, timedelta(seconds=70.0004), is_walk=is_walk)
        [(statement, *arguments)] = asked
        assert arguments == ["70000", walk]
        for name in ("statement_timeout', $1", "idle_in_transaction_session_timeout', $1", "clock_walk', $2"):
            assert name in statement
        assert statement.count(", true)") == 3, "of the transaction, not of the session"
