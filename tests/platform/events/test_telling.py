"""From the commit of an event to who waits for it: what is told when, and what is declared of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from tests.platform.events.happening import record
from tests.stand_ins import replace_for

from gridloom.kernel.problem import Forbidden, Unauthenticated
from gridloom.platform.database.commit.after_commit import transaction
from gridloom.platform.events import hub, outbox, slot_store, store, stream_slots
from gridloom.platform.events.framing import opening_frame
from gridloom.platform.events.outbox import notify_listeners
from gridloom.platform.events.rules import EventFilter
from gridloom.platform.events.stream import stream_events
from gridloom.platform.events.stream_slots import LEASE, StreamSlot, StreamSlots
from gridloom.platform.identity.token_verification.revocations import CACHE_VALID_S


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(outbox, "_listeners", {})
    return []


class TestWhoListens:
    async def _undo(self, pool: asyncpg.Pool, ours: UUID) -> None:
        async with transaction(pool) as db:
            await record(db, ours, 3)
            raise ZeroDivisionError

    async def test_in_another_thread_is_called_there(self, called: list[int]) -> None:
        told: list[Any] = []
        loop: Any = SimpleNamespace(call_soon_threadsafe=told.append)

        def listen() -> None:
            called.append(1)

        outbox._listeners[listen] = loop
        notify_listeners()
        assert (told, called) == ([listen], [])


class TestASlot:
    def test_is_given_back_once(self) -> None:
        given: list[UUID] = []
        slots: Any = SimpleNamespace(give_back=given.append)
        with StreamSlot(slots, UUID(int=7)) as slot:
            assert given == []
        slot.release()
        del slot
        assert given == [UUID(int=7)]
        lost = StreamSlot(slots, UUID(int=8))
        del lost
        assert given == [UUID(int=7), UUID(int=8)]


class TestOpenStreams:
    def test_look_at_their_callers_anew_when_no_cache_believes_the_former_rights(self) -> None:
        assert hub.PERMISSION_CACHE_DELAY_S >= CACHE_VALID_S

    async def test_count_for_as_long_as_they_are_open_though_nothing_else_happens(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is reported is renewed before its lease ends, also after the database was away."""
        assert 3 * timedelta(seconds=stream_slots.RENEWAL_INTERVAL_S) <= LEASE, "one that fails is followed by another"
        monkeypatch.setattr(stream_slots, "RENEWAL_INTERVAL_S", 0.001)
        reported: list[tuple[UUID, int, timedelta]] = []
        outcomes: list[Exception] = [OSError("away")]

        async def put_streams(_: Any, organisation_id: UUID, __: UUID, streams: int, lease: timedelta) -> None:
            if outcomes:
                raise outcomes.pop()
            reported.append((organisation_id, streams, lease))

        async def delete_worker(*_: Any) -> None: ...

        sleeping = asyncio.sleep

        async def sleep(seconds: float) -> None:
            await sleeping(0)

        monkeypatch.setattr(slot_store, "put_streams", put_streams)
        monkeypatch.setattr(slot_store, "delete_worker", delete_worker)
        replace_for(monkeypatch, stream_slots, "asyncio", sleep=sleep)
        nothing: Any = None
        slots, ours, theirs = StreamSlots(nothing, 9), UUID(int=7), UUID(int=8)
        slots._open.update({ours: 2, theirs: 1})
        slots.start()
        async with asyncio.timeout(60):
            while len(reported) < 6:
                await sleeping(0.001)
        await slots.stop()
        assert set(reported) == {(ours, 2, LEASE), (theirs, 1, LEASE)}
        assert reported.count((ours, 2, LEASE)) >= 2, "again and again"


class TestAStream:
    @pytest.mark.parametrize("outcome", [UUID(int=8), Unauthenticated("ended"), Forbidden("no")])
    async def test_ends_where_its_caller_is_of_it_no_more(self, outcome: Any) -> None:
        async def reauthenticate() -> Any:
            if isinstance(outcome, Exception):
                raise outcome
            return SimpleNamespace(organisation_id=outcome, permissions=frozenset(), physical_asset_ids=None)

        @asynccontextmanager
        async def follow(organisation_id: UUID) -> AsyncIterator[Any]:
            assert organisation_id == UUID(int=7)
            yield SimpleNamespace(head=0), asyncio.Event()

        request: Any = SimpleNamespace(
            caller=SimpleNamespace(organisation_id=UUID(int=7)), reauthenticate=reauthenticate
        )
        hub: Any = SimpleNamespace(follow=follow)
        slot: Any = nullcontext()
        async with asyncio.timeout(60), aclosing(stream_events(request, hub, slot, EventFilter(), 5)) as frames:  # type: ignore[type-var]
            assert [frame async for frame in frames] == [opening_frame(5, 2000)]


class TestASequencer:
    async def test_looks_when_it_is_woken_and_now_and_then_outlives_an_error_and_ends(
        self, monkeypatch: pytest.MonkeyPatch, called: list[int]
    ) -> None:
        from gridloom.platform.events import sequencer

        looks: list[bool] = []
        outcomes: list[Any] = [True, OSError("away"), False, True]

        async def outbox_is_empty(pool: Any) -> bool:
            looks.append(True)
            outcome = outcomes.pop(0) if outcomes else True
            if isinstance(outcome, Exception):
                raise outcome
            return bool(outcome)

        async def sequence_events(pool: Any, most: int) -> int:
            called.append(most)
            return 0

        sleeping = asyncio.sleep

        async def sleep(seconds: float) -> None:
            await sleeping(0)

        monkeypatch.setattr(store, "outbox_is_empty", outbox_is_empty)
        monkeypatch.setattr(store, "sequence_events", sequence_events)
        replace_for(monkeypatch, sequencer, "asyncio", sleep=sleep)
        pool: Any = SimpleNamespace(is_distributed=False)
        running = sequencer.Sequencer(pool, poll_interval_s=0.001)
        assert not running.alive()
        await running.start()
        async with asyncio.timeout(120):
            while len(looks) < 5:
                await sleeping(0.001)
        assert running.alive()
        assert called == [500], "only where there was something"
        notify_listeners()
        async with asyncio.timeout(120):
            while len(called) < 2:
                await sleeping(0.001)
        await running.stop()
        assert not running.alive()
        assert outbox._listeners == {}
