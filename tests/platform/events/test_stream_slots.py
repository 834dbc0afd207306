"""Open streams: so many of an organisation on all replicas together, whichever kind they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.assets import register_asset
from tests.conftest import migrated_database, running
from tests.people import OrganisationUnderTest, People
from tests.platform.events.happening import happen
from tests.platform.events.sse import Reader

from gridloom.kernel.shares import ShareLimits
from gridloom.platform.events import slot_store, waking
from gridloom.platform.events.stream_slots import LEASE
from gridloom.platform.events.waking import Waker
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.settings import Settings


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[tuple[Application, Application, People]]:
    """Two services on one database, which give an organisation four streams."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(migrated_database())
        ours = replace(settings, database_url=url, shares=ShareLimits(event_streams=4))
        one, other = [await stack.enter_async_context(running(ours)) for _ in range(2)]
        yield one, other, await stack.enter_async_context(People(one))


def token_of(organisation: OrganisationUnderTest) -> str:
    return organisation.people[Role.ADMIN].tokens.access


class TestTheShareOfStreams:
    async def test_is_exact_over_two_services_however_requests_race(self, services) -> None:
        one, other, people = services
        crowd, stranger = await people.new_organisation(), await people.new_organisation()
        async with AsyncExitStack() as stack:
            edges = [one, other] * 6
            readers = [Reader(edge, token_of(crowd)) for edge in edges]
            await asyncio.gather(*(stack.enter_async_context(reader) for reader in readers))
            assert sorted(reader.status for reader in readers) == [200] * 4 + [429] * 8
            refused = next(reader for reader in readers if reader.status == 429)
            body = await asyncio.wait_for(refused._heard.get(), 120)
            assert body is not None
            assert b'"share":"event-streams"' in body
            assert (await stack.enter_async_context(Reader(other, token_of(stranger)))).status == 200

    async def test_counts_streams_of_telemetry_too(self, services) -> None:
        one, other, people = services
        ours = await people.new_organisation()
        asset = await register_asset(ours)
        async with AsyncExitStack() as stack:
            for edge in (one, other):
                for target in ("/events", f"/monitoring/{asset.id}/stream"):
                    assert (await stack.enter_async_context(Reader(edge, token_of(ours), target))).status == 200
            refused = await ours.viewer.get(f"/monitoring/{asset.id}/stream")
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 1

    async def test_is_free_again_when_the_lease_of_a_dead_process_has_ended(self, services) -> None:
        one, _, people = services
        ours = await people.new_organisation()
        assert await slot_store.take_slot(one.pool, ours.id, uuid4(), 4, 4, LEASE)
        assert (await ours.admin.get("/events")).status_code == 429
        await one.pool.execute("update stream_lease set leased_until = clock_timestamp() - interval '1 second'")
        assert await slot_store.count_streams(one.pool, ours.id) == 0
        async with Reader(one, token_of(ours)) as reader:
            assert reader.status == 200

    async def test_of_a_worker_that_leaves_is_free_and_no_other(self, services) -> None:
        one, _, people = services
        ours, leaving = await people.new_organisation(), uuid4()
        for worker, streams in ((leaving, 1), (uuid4(), 2)):
            assert await slot_store.take_slot(one.pool, ours.id, worker, streams, 4, LEASE)
        await slot_store.delete_worker(one.pool, leaving)
        assert await slot_store.count_streams(one.pool, ours.id) == 2


class TestWakingManyStreams:
    async def test_goes_by_slices_and_by_turns_of_organisations(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(waking, "SLICE", 4)
        waker, crowd, single = Waker(), [asyncio.Event() for _ in range(20)], asyncio.Event()
        waker.wake("crowd", crowd)
        assert sum(event.is_set() for event in crowd) == 4
        waker.wake("single", [single])
        async with asyncio.timeout(120):
            await single.wait()
            assert sum(event.is_set() for event in crowd) <= 8
            for event in crowd:
                await event.wait()
        waker.wake("crowd", crowd[:1])

    async def test_tells_each_of_them_what_happened(self, app: Application, new_organisation) -> None:
        ours = await new_organisation()
        async with AsyncExitStack() as stack:
            readers = [await stack.enter_async_context(Reader(app, token_of(ours))) for _ in range(60)]
            await happen(app.pool, ours.id, 1)
            told = await asyncio.gather(*(reader.next() for reader in readers))
            assert [one.id for one in told if one is not None] == [1] * 60
