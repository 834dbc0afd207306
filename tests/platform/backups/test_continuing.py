"""A service on a restored database goes on where the copy ended, and does nothing a second time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import migrated_database, running
from tests.database_server import empty_database
from tests.people import OrganisationUnderTest, People, Person, client_of
from tests.platform.events.happening import happen, number_in
from tests.platform.webhooks.asking import set_up, until_attempts, until_state
from tests.platform.webhooks.conftest import OK, Receiver, answer, receiving

from gridloom.platform.backups.dump import back_up, restore
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.settings import Settings


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as one:
        yield one


async def live_before_the_copy(edge: Application, people: People, receiver: Receiver) -> Person:
    """One event that was delivered, one whose delivery failed once, and a clock that was moved."""
    operator = await people.operator()
    moved = await operator.client.put("/sandbox/clock", json={"advance": "P3D"})
    assert moved.status_code == 200, moved.text
    ours: OrganisationUnderTest = await people.new_organisation()
    webhook = await set_up(ours, receiver.url)
    await happen(edge.pool, ours.id, 1)
    await until_state(ours, webhook, "DELIVERED")
    receiver.answering = lambda _call: answer(503)
    await happen(edge.pool, ours.id, 2)
    await until_attempts(ours, webhook, 1)
    return ours.people[Role.ADMIN]


def _read_json(data: Any) -> Any:
    return json.loads(data) if isinstance(data, str) else data


class TestAServiceOnARestoredDatabase:
    async def test_goes_on_where_the_copy_ended_and_repeats_nothing(
        self, settings: Settings, receiver: Receiver, tmp_path: Path
    ):
        async with migrated_database() as original, empty_database() as copy:
            before = replace(settings, database_url=original)
            async with running(before) as edge, People(edge) as people:
                admin = await live_before_the_copy(edge, people, receiver)
            await asyncio.to_thread(back_up, before, tmp_path / "dump")
            after = replace(settings, database_url=copy)
            await asyncio.to_thread(restore, after, tmp_path / "dump")
            receiver.calls.clear()
            receiver.answering = lambda _call: OK
            async with running(after) as edge, client_of(edge, admin.tokens.access) as client:
                assert (await client.get("/auth/me")).status_code == 200, "sessions go on"
                ahead = await edge.pool.fetchval("select platform_now() - clock_timestamp()")
                await happen(edge.pool, admin.member.organisation_id, 3)
                called = [number_in(json.loads(call.body)) for call in await receiver.wait(2, 60)]
                listed = await edge.pool.fetch(
                    "select data from event where organisation_id = $1 and type = 'auction.opened' order by sequence",
                    admin.member.organisation_id,
                )
        assert sorted(called) == [2, 3]
        assert ahead > timedelta(days=2, hours=23)
        assert [number_in(_read_json(row["data"])) for row in listed] == [1, 2, 3]
