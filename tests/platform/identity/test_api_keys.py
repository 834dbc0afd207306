"""API keys, over HTTP on the real database."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from tests.people import NOTICE_TIMEOUT_S, client_of, wait_for_status

from gridloom.platform.identity.permissions import ROLE_PERMISSIONS, Role
from gridloom.platform.identity.tokens import new_api_key


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


async def make(client, permissions=("Read:monitoring",), **more):
    return await client.post("/auth/api-keys", json={"name": "Gateway", "permissions": list(permissions), **more})


class TestAPIKey:
    async def test_shows_its_secret_once(self, app, organisation):
        secret = (await make(organisation.admin)).json()["secret"]
        listed = await organisation.admin.get("/auth/api-keys")
        assert len(listed.json()) == 1
        assert "secret" not in listed.json()[0]
        assert secret not in listed.text

    async def test_is_not_made_for_more_than_its_creator_may(self, organisation):
        assert (await make(organisation.viewer, ["Create:bids"])).status_code == 403
        assert (await make(organisation.admin, ["Manage:auctions"])).status_code == 403
        refused = await make(organisation.viewer, ["Read:monitoring", "Create:bids", "Create:monitoring"])
        assert refused.json()["detail"].endswith("you do not hold Create:monitoring, Create:bids.")

    async def test_loses_what_its_creator_loses(self, app, organisation):
        secret = (await make(organisation.trader, ["Create:bids", "Read:auctions"])).json()["secret"]
        async with client_of(app, secret) as machine:
            assert "Create:bids" in (await machine.get("/auth/me")).json()["permissions"]
            path = f"/organisations/{organisation.id}/members/{organisation.people[Role.TRADER].id}"
            await organisation.admin.change(path, json={"role": "VIEWER"})
            async with asyncio.timeout(NOTICE_TIMEOUT_S):
                while (await machine.get("/auth/me")).json()["permissions"] != ["Read:auctions"]:
                    await asyncio.sleep(0.02)
            [listed] = (await organisation.trader.get("/auth/api-keys")).json()
            assert listed["permissions"] == ["Read:auctions"], "and is listed so"
            await organisation.admin.delete(path)
            await wait_for_status(machine, 401)

    async def test_stops_working_when_deleted(self, app, organisation):
        made = (await make(organisation.admin)).json()
        async with client_of(app, made["secret"]) as machine:
            assert (await machine.get("/auth/me")).status_code == 200
            assert (await organisation.admin.delete(f"/auth/api-keys/{made['id']}")).status_code == 204
            await wait_for_status(machine, 401)
        assert (await organisation.admin.delete(f"/auth/api-keys/{made['id']}")).status_code == 404

    async def test_stops_working_when_it_expires(self, app, organisation):
        for seconds in (1, 5, 15):  # on a machine so busy that it is over before the key is made, a longer one
            soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds + 1)
            made = await make(organisation.admin, expiresAt=soon.isoformat())
            if made.status_code == 201:
                break
        async with client_of(app, made.json()["secret"]) as machine:
            first = await machine.get("/auth/me")
            assert first.status_code == 200 or datetime.now(UTC) >= soon
            await wait_for_status(machine, 401)
            assert datetime.now(UTC) >= soon

    async def test_is_not_made_for_the_past(self, organisation):
        past = datetime.now(UTC) - timedelta(seconds=1)
        assert (await make(organisation.admin, expiresAt=past.isoformat())).status_code == 422
        assert (await make(organisation.admin, expiresAt="2030-01-01T00:00:00")).status_code == 400

    async def test_belongs_to_its_creator(self, organisation):
        made = (await make(organisation.trader)).json()
        assert (await organisation.admin.get("/auth/api-keys")).json() == []
        assert (await organisation.admin.delete(f"/auth/api-keys/{made['id']}")).status_code == 403
        assert (await organisation.admin.delete(f"/auth/api-keys/{uuid4()}")).status_code == 404
        assert (await organisation.admin.delete("/auth/api-keys/7")).status_code == 400

    async def test_cannot_manage_credentials_or_sessions(self, app, organisation):
        made = (await make(organisation.admin, ["Manage:organisation"])).json()
        async with client_of(app, made["secret"]) as machine:
            assert (await make(machine, ["Manage:organisation"])).status_code == 403
            assert (await machine.get("/auth/api-keys")).status_code == 403
            assert (await machine.delete(f"/auth/api-keys/{made['id']}")).status_code == 403
            assert (await machine.post("/auth/logout")).status_code == 403
            assert (await machine.get(f"/organisations/{organisation.id}/members")).status_code == 200
            body = {"currentPassword": "x", "newPassword": "a-good-new-password-5"}
            assert (await machine.post("/auth/password", json=body)).status_code == 403

    async def test_for_managing_members_cannot_make_itself_a_member_who_may_more(self, app, organisation):
        secret = (await make(organisation.admin, ["Manage:organisation"])).json()["secret"]
        viewer = f"/organisations/{organisation.id}/members/{organisation.people[Role.VIEWER].id}"
        invitations = f"/organisations/{organisation.id}/invitations"
        async with client_of(app, secret) as machine:
            invited = await machine.post(invitations, json={"email": "me@example.org", "role": "ADMIN"})
            assert invited.status_code == 403
            assert (await machine.change(viewer, json={"role": "ADMIN"})).status_code == 403
        reading = ROLE_PERMISSIONS[Role.VIEWER]
        secret = (await make(organisation.admin, ["Manage:organisation", *reading])).json()["secret"]
        async with client_of(app, secret) as machine:
            invited = await machine.post(invitations, json={"email": "you@example.org", "role": "VIEWER"})
            assert invited.status_code == 201

    async def test_of_a_gateway_does_not_learn_who_the_members_are(self, app, organisation):
        made = (await make(organisation.admin, ["Create:monitoring"])).json()
        async with client_of(app, made["secret"]) as machine:
            assert (await machine.get(f"/organisations/{organisation.id}/members")).status_code == 403

    async def test_list_goes_on_where_the_page_ended(self, organisation):
        ids = [(await make(organisation.admin)).json()["id"] for _ in range(5)]
        seen, link = [], "/auth/api-keys?limit=2"
        while link:
            page = await organisation.admin.get(link)
            seen += [key["id"] for key in page.json()]
            link = page.links.get("next", {}).get("url")
        assert seen == ids

    @pytest.mark.parametrize(
        "body",
        [
            {"name": "x", "permissions": []},
            {"name": "x", "permissions": ["Read:everything"]},
            {"name": "", "permissions": ["Read:monitoring"]},
            {"permissions": ["Read:monitoring"]},
            {"name": "x", "permissions": ["Read:monitoring"], "secret": "mine"},
        ],
    )
    async def test_refuses_malformed_requests(self, organisation, body):
        assert (await organisation.admin.post("/auth/api-keys", json=body)).status_code == 400

    async def test_that_was_never_given_out_is_refused(self, app):
        for forged in (new_api_key(), new_api_key()[:-1] + "x", "glk_", "glk_short", "glk_" + "é" * 10):
            async with client_of(app) as machine:
                header = f"Bearer {forged}".encode("latin-1")
                assert (await machine.get("/auth/me", headers={b"Authorization": header})).status_code == 401
