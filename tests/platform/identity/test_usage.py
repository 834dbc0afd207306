"""Shares that are counted in the database, and what members see of all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from tests.conftest import migrated_database, running
from tests.people import People, client_of
from tests.platform.events.sse import Reader

from gridloom.kernel.permission import Permission
from gridloom.kernel.shares import Share, ShareLimits
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.settings import Settings

KEY = {"name": "gateway", "permissions": [Permission.READ_PHYSICAL_ASSETS.value]}


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[tuple[Application, Application, People]]:
    """Two services on one database, which give a member three API keys and an organisation five."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(migrated_database())
        ours = replace(settings, database_url=url, shares=ShareLimits(api_keys_per_user=3, api_keys=5))
        one, other = [await stack.enter_async_context(running(ours)) for _ in range(2)]
        yield one, other, await stack.enter_async_context(People(one))


class TestApiKeys:
    async def test_are_as_many_as_a_member_and_an_organisation_may_have_however_requests_race(self, services) -> None:
        one, other, people = services
        organisation, stranger = await people.new_organisation(), await people.new_organisation()
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(client_of(edge, organisation.people[role].tokens.access))
                for role in (Role.ADMIN, Role.TRADER)
                for edge in (one, other)
            ]
            answers = await asyncio.gather(*(client.post("/auth/api-keys", json=KEY) for client in clients * 4))
        assert sorted(answer.status_code for answer in answers) == [201] * 5 + [409] * 11
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert refused.json()["type"].endswith("/too-many-keys")
        assert refused.json()["share"] == "api-keys"
        held = [
            len((await one_of.get("/auth/api-keys")).json()) for one_of in (organisation.admin, organisation.trader)
        ]
        assert sorted(held) == [2, 3]
        assert (await stranger.admin.post("/auth/api-keys", json=KEY)).status_code == 201

    async def test_make_room_when_they_are_revoked(self, services) -> None:
        _, _, people = services
        admin = (await people.new_organisation()).admin
        made = [(await admin.post("/auth/api-keys", json=KEY)).json() for _ in range(3)]
        full = await admin.post("/auth/api-keys", json=KEY)
        assert (full.status_code, full.json()["limit"]) == (409, 3)
        assert (await admin.delete(f"/auth/api-keys/{made[0]['id']}")).status_code == 204
        assert (await admin.post("/auth/api-keys", json=KEY)).status_code == 201


class TestUsage:
    async def test_shows_every_share_to_any_member(self, services) -> None:
        one, _, people = services
        ours, stranger = await people.new_organisation(), await people.new_organisation()
        path = f"/organisations/{ours.id}/usage"
        await ours.admin.post("/auth/api-keys", json=KEY)
        async with Reader(one, ours.people[Role.ADMIN].tokens.access):
            answer = await ours.viewer.get(path)
        assert answer.status_code == 200, answer.text
        assert answer.json()["organisationID"] == str(ours.id)
        shares = {share["share"]: share for share in answer.json()["shares"]}
        assert list(shares) == [share.value for share in Share]
        shown = {name: (share["used"], share["limit"], share["counted"]) for name, share in shares.items()}
        in_bytes = {name for name, share in shares.items() if share["unit"] == "BYTES"}
        assert in_bytes == {"body-bytes", "unread-answers", "stored-telemetry"}
        assert {share["unit"] for share in shares.values()} == {"BYTES", "COUNT"}
        assert shown.pop("requests")[1:] == (2000, "REPLICA")
        assert shares["requests"]["perMinute"] == 60_000
        assert shown == {
            "body-bytes": (0, 64 * 1024 * 1024, "REPLICA"),
            "computations": (0, 2, "REPLICA"),
            "jobs": (0, 2, "PLATFORM"),
            "event-streams": (1, 500, "PLATFORM"),
            "reads": (0, 2, "REPLICA"),
            "unread-answers": (0, 64 * 1024 * 1024, "REPLICA"),
            "invitations": (0, 200, "PLATFORM"),
            "api-keys": (1, 5, "PLATFORM"),
            "stored-telemetry": (0, None, "PLATFORM"),
        }
        assert (shares["jobs"]["maxWaiting"], shares["api-keys"]["perUser"]) == (20, 3)
        assert (await stranger.admin.get(path)).status_code == 403
        seen = (await (await people.operator()).client.get(path)).json()
        assert seen["organisationID"] == str(ours.id)
        assert {share["share"]: share["used"] for share in seen["shares"]}["api-keys"] == 1, "not the operator's own"
