"""What an API key may do about people, and what ADMINs hear of it; open invitations over two services."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from tests.assets import register_asset
from tests.conftest import migrated_database, running
from tests.emitted import events_of
from tests.people import People, client_of
from tests.platform.identity.test_mail import Postbox, wait_for

from gridloom.commands import operator as operator_commands
from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.shares import ShareLimits
from gridloom.platform.database.service_database import CommandError
from gridloom.platform.identity.permissions import ROLE_PERMISSIONS, Role

OPERATORS = {Permission.MANAGE_AUCTIONS, Permission.CREATE_SETTLEMENTS, Permission.CREATE_REFERENCE_PRICES}


async def invite(client: Any, organisation: Any, email: str = "ada@example.org", role: str = "VIEWER") -> Any:
    return await client.post(f"/organisations/{organisation.id}/invitations", json={"email": email, "role": role})


class TestAKeyWithEveryPermission:
    @pytest.fixture
    async def scene(self, app: Any, new_organisation: Any) -> Any:
        organisation = await new_organisation()
        held = sorted(ROLE_PERMISSIONS[Role.ADMIN] - OPERATORS)
        made = await organisation.admin.post("/auth/api-keys", json={"name": "All", "permissions": held})
        async with client_of(app, made.json()["secret"]) as machine:
            yield organisation, machine

    async def test_makes_no_admin_and_removes_no_member(self, app: Any, people: Any, scene: Any) -> None:
        organisation, machine = scene
        second = await people.add_member(organisation.id, Role.ADMIN)
        path = f"/organisations/{organisation.id}/members"
        for refused in (
            await invite(machine, organisation, role="ADMIN"),
            await machine.change(f"{path}/{organisation.people[Role.VIEWER].id}", json={"role": "ADMIN"}),
            await machine.change(f"{path}/{second.id}", json={"role": "VIEWER"}),
            await machine.delete(f"{path}/{organisation.people[Role.VIEWER].id}"),
        ):
            assert (refused.status_code, refused.json()["type"]) == (403, "/docs/problems/person-needed")
        assert (await organisation.admin.get(f"/organisations/{organisation.id}/invitations")).json() == []
        roles = [one["role"] for one in (await organisation.admin.get(path)).json()]
        assert roles == [*Role, "ADMIN"]

    async def test_and_people_who_signed_in_long_ago_are_refused_alike(self, app: Any, scene: Any) -> None:
        organisation, _ = scene
        await app.pool.execute(
            "update session set created_at = created_at - interval '11 minutes' where id = $1",
            organisation.people[Role.ADMIN].tokens.caller.session_id,
        )
        path = f"/organisations/{organisation.id}/members/{organisation.people[Role.VIEWER].id}"
        for refused in (
            await invite(organisation.admin, organisation, role="ADMIN"),
            await organisation.admin.change(path, json={"role": "ADMIN"}),
            await organisation.admin.delete(path),
        ):
            assert refused.json()["type"] == "/docs/problems/reauthentication-required"
        assert (await invite(organisation.admin, organisation)).status_code == 201

    async def test_is_named_to_every_admin_who_hears_of_changes_of_members(self, app: Any, scene: Any) -> None:
        organisation, machine = scene
        viewer = organisation.people[Role.VIEWER]
        path = f"/organisations/{organisation.id}/members/{viewer.id}"
        assert (await invite(machine, organisation)).status_code == 201
        assert (await machine.change(path, json={"role": "TRADER"})).status_code == 200
        assert (await organisation.admin.delete(path)).status_code == 204
        heard = await events_of(app.pool, organisation.id, subject="organisations/")
        assert {one.permission for one in heard} == {"Manage:organisation"}
        admin = organisation.people[Role.ADMIN].username
        assert [(one.type, one.data["authorKind"], one.data["authorName"]) for one in heard] == [
            ("member.invited", "API_KEY", admin),
            ("member.role-changed", "API_KEY", admin),
            ("member.removed", "USER", admin),
        ]
        assert (heard[0].data["email"], heard[0].data["role"]) == ("ada@example.org", "VIEWER")
        assert [heard[1].data[name] for name in ("username", "previousRole", "role")] == [
            *(viewer.username, "VIEWER", "TRADER")
        ]


class TestACommandOfTheOperator:
    async def test_invites_and_is_named_as_the_author(self, app: Any, settings: Any, new_organisation: Any) -> None:
        organisation = await new_organisation()
        path = f"/organisations/{organisation.id}"
        invitation, token, name = await asyncio.to_thread(
            operator_commands.invite_member, settings, "ada@example.org", "VIEWER", organisation.id
        )
        assert name == organisation.name
        assert token.startswith("gli_")
        listed = (await organisation.admin.get(f"{path}/invitations")).json()
        assert [(one["id"], one["email"], one["role"]) for one in listed] == [
            *((str(invitation.id), "ada@example.org", "VIEWER"),)
        ]
        [heard] = await events_of(app.pool, organisation.id, subject=path[1:])
        assert (heard.type, heard.data["authorKind"], heard.data["authorID"]) == ("member.invited", "COMMAND", None)
        [entry] = (await organisation.admin.get("/audit-log", params={"action": "inviteFromCommandLine"})).json()
        assert (entry["resource"], entry["status"]) == (f"{path[1:]}/invitations", 201)
        with pytest.raises(CommandError, match="no such organisation"):
            await asyncio.to_thread(operator_commands.invite_member, settings, "ada@x.org", "VIEWER", uuid7())


class TestAKeyForOneBattery:
    async def test_grants_on_it_what_it_holds_itself_and_nothing_else(self, app: Any, new_organisation: Any) -> None:
        owner, friend = await new_organisation(), await new_organisation()
        asset, other = await register_asset(owner), await register_asset(owner)
        held = ["Manage:organisation", "Read:physical-assets"]
        key = {"name": "One", "permissions": held, "physicalAssetIDs": [asset.id]}
        secret = (await owner.admin.post("/auth/api-keys", json=key)).json()["secret"]
        async with client_of(app, secret) as machine:
            wanted = {"permissions": ["Read:physical-assets", "Update:schedules"]}
            refused = await machine.put(asset.path(f"/grants/{friend.id}"), json=wanted)
            assert refused.status_code == 403
            assert [one["pointer"] for one in refused.json()["errors"]] == ["/permissions/1"]
            given = {"permissions": ["Read:physical-assets"]}
            assert (await machine.put(other.path(f"/grants/{friend.id}"), json=given)).status_code == 403
            assert (await machine.put(asset.path(f"/grants/{friend.id}"), json=given)).status_code == 200
        assert (await friend.viewer.get(asset.path("/schedule"))).status_code == 403

    async def test_overwrites_no_grant_that_was_taken_back_and_given_again(self, new_organisation: Any) -> None:
        owner, friend = await new_organisation(), await new_organisation()
        path = (await register_asset(owner)).path(f"/grants/{friend.id}")
        body = {"permissions": ["Read:schedules"]}
        seen = (await owner.admin.put(path, json=body)).headers["etag"]
        assert (await owner.admin.delete(path)).status_code == 204
        assert (await owner.admin.put(path, json=body)).headers["etag"] != seen
        assert (await owner.admin.put(path, json=body, headers={"If-Match": seen})).status_code == 412


class TestOpenInvitations:
    @pytest.fixture
    async def services(self, settings: Any) -> Any:
        """Two services on one database, where an organisation has four open invitations and mail goes to a postbox."""
        postbox = Postbox()
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(migrated_database())
            ours = replace(settings, database_url=url, shares=ShareLimits(invitations=4), smtp_url=postbox.url)
            one, other = [await stack.enter_async_context(running(ours)) for _ in range(2)]
            yield one, other, await stack.enter_async_context(People(one)), postbox
        postbox.close()

    async def test_are_one_to_an_address_and_as_many_as_an_organisation_may_have(self, services: Any) -> None:
        one, other, people, _ = services
        organisation = await people.new_organisation()
        async with client_of(other, organisation.people[Role.ADMIN].tokens.access) as elsewhere:
            clients = [organisation.admin, elsewhere] * 4
            answers = await asyncio.gather(
                *(invite(client, organisation, f"p{number}@x.org") for number, client in enumerate(clients))
            )
        assert sorted(answer.status_code for answer in answers) == [201] * 4 + [409] * 4
        refused = next(answer.json() for answer in answers if answer.status_code == 409)
        assert (refused["type"], refused["share"], refused["limit"]) == (
            *("/docs/problems/too-many-invitations", "invitations", 4),
        )
        first = next(answer.json() for answer in answers if answer.status_code == 201)
        again = await invite(organisation.admin, organisation, first["email"].upper(), role="TRADER")
        assert (again.status_code, again.json()["id"], again.json()["role"]) == (201, first["id"], "TRADER")
        listed = (await organisation.admin.get(f"/organisations/{organisation.id}/invitations")).json()
        assert sorted(one["status"] for one in listed) == ["PENDING"] * 4
        usage = (await organisation.viewer.get(f"/organisations/{organisation.id}/usage")).json()["shares"]
        assert [(one["used"], one["limit"], one["counted"]) for one in usage if one["share"] == "invitations"] == [
            *((4, 4, "PLATFORM"),)
        ]
        acceptance = {"username": "newcomer", "password": "quarry-violet-thimble-9", "displayName": "Ada"}
        async with client_of(one) as anonymous:
            for token, status in ((first["token"], 404), (again.json()["token"], 201)):
                accepted = await anonymous.post("/auth/public/invitations/accept", json={**acceptance, "token": token})
                assert accepted.status_code == status, accepted.text
        assert (await invite(organisation.admin, organisation, "new@x.org")).status_code == 201, "one has left"

    async def test_are_mailed_five_times_an_hour_to_one_address(self, services: Any) -> None:
        one, _, people, postbox = services
        organisation = await people.new_organisation()
        await one.pool.execute(
            "update member set email = 'boss@x.org' where id = $1", organisation.people[Role.ADMIN].id
        )
        answers = [await invite(organisation.admin, organisation) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [201] * 5 + [429]
        assert int(answers[5].headers["retry-after"]) > 600
        wait_for(lambda: len(postbox.letters) == 10)
        assert sum("To: boss@x.org" in letter for letter in postbox.letters) == 5
        assert sum("ada@example.org was invited" in letter for letter in postbox.letters) == 5
