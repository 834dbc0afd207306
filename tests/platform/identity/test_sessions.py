"""Sessions of a user, ending them, and what a change of password ends; over HTTP."""

import asyncio
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from tests.people import PASSWORD, client_of, wait_for_status

from gridloom.platform.database.commit import transaction
from gridloom.platform.identity.login.sessions import begin_session
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.store.members import find_account


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


async def log_in(app, username, agent="Robot/1.0", address=None):
    async with client_of(app, address=address) as anonymous:
        body = {"username": username, "password": PASSWORD}
        answer = await anonymous.post("/auth/public/authenticate", json=body, headers={"User-Agent": agent})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def make_key(client, **more):
    body = {"name": "Gateway", "permissions": ["Read:monitoring"], **more}
    return await client.post("/auth/api-keys", json=body)


async def grow_older(app, person, by):
    """As if the person had signed in so long ago."""
    await app.pool.execute(
        "update session set created_at = created_at - $2::interval where id = $1", person.tokens.caller.session_id, by
    )


class TestAPasswordThatChangesWhileItIsChecked:
    async def test_opens_no_session(self, app, organisation):
        """The check takes a while, and what was right at its beginning may be wrong at its end."""
        person = organisation.people[Role.VIEWER]
        account = await find_account(app.pool, person.username)
        assert account is not None
        key = await app.resources[SigningKeyCache].for_signing()
        async with transaction(app.pool) as db:
            assert await begin_session(db, key, account) is not None
            await db.execute("update member set password_hash = 'another' where id = $1", person.id)
            assert await begin_session(db, key, account) is None
            assert await begin_session(db, key, account, is_password_checked=False) is not None

    async def test_is_a_wrong_one(self, app, organisation, monkeypatch):
        async def begin_session(*_, **__):
            return None

        monkeypatch.setattr("gridloom.platform.identity.login.login.begin_session", begin_session)
        body = {"username": organisation.people[Role.VIEWER].username, "password": PASSWORD}
        async with client_of(app) as anonymous:
            assert (await anonymous.post("/auth/public/authenticate", json=body)).status_code == 401


class TestSessions:
    async def test_are_of_the_console_where_a_cookie_stands_for_them(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        async with client_of(app) as browser:
            body = {"username": person.username, "password": PASSWORD}
            headers = {"Origin": "http://gridloom.test", "Sec-Fetch-Site": "same-origin"}
            assert (await browser.post("/console/session", json=body, headers=headers)).status_code == 204
        await log_in(app, person.username)
        listed = (await person.client.get("/auth/sessions")).json()
        assert [one["kind"] for one in listed] == ["TOKEN", "CONSOLE", "TOKEN"]

    async def test_go_on_where_the_page_ended(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        for _ in range(2):
            await log_in(app, person.username)
        first = await person.client.get("/auth/sessions?limit=2")
        rest = await person.client.get(first.links["next"]["url"])
        whole = (await person.client.get("/auth/sessions")).json()
        assert [one["id"] for one in first.json() + rest.json()] == [one["id"] for one in whole]
        assert len(whole) == 3

    async def test_can_be_ended_one_by_one(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        tokens = await log_in(app, person.username)
        other = next(one for one in (await person.client.get("/auth/sessions")).json() if not one["current"])
        async with client_of(app, tokens["access_token"]) as stolen:
            assert (await stolen.get("/auth/me")).status_code == 200
            assert (await person.client.delete(f"/auth/sessions/{other['id']}")).status_code == 204
            await wait_for_status(stolen, 401)
            refresh = {"refresh_token": tokens["refresh_token"]}
            assert (await stolen.post("/auth/public/refresh", json=refresh)).status_code == 401
        assert (await person.client.delete(f"/auth/sessions/{other['id']}")).status_code == 404
        assert [one["current"] for one in (await person.client.get("/auth/sessions")).json()] == [True]

    async def test_end_with_the_reason(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        for _ in range(3):
            await log_in(app, person.username)
        other = next(one for one in (await person.client.get("/auth/sessions")).json() if not one["current"])
        assert (await person.client.delete(f"/auth/sessions/{other['id']}")).status_code == 204
        assert (await person.client.delete("/auth/sessions")).status_code == 204
        await log_in(app, person.username)
        assert (await person.client.post("/auth/password", json=TestAChangeOfPassword.new)).status_code == 204
        assert (await person.client.post("/auth/logout")).status_code == 204
        causes = "select ended_because from session where member_id = $1 and ended_at is not null order by 1"
        assert [row["ended_because"] for row in await app.pool.fetch(causes, person.id)] == [
            *(*["ENDED_BY_USER"] * 3, "LOGOUT", "PASSWORD_CHANGED")
        ]

    async def test_of_others_are_none_of_ones_business(self, app, organisation):
        mine = (await organisation.viewer.get("/auth/sessions")).json()[0]["id"]
        assert (await organisation.admin.delete(f"/auth/sessions/{mine}")).status_code == 403
        assert (await organisation.admin.delete(f"/auth/sessions/{uuid4()}")).status_code == 404
        secret = (await make_key(organisation.admin)).json()["secret"]
        async with client_of(app, secret) as machine:
            assert (await machine.get("/auth/sessions")).status_code == 403
            assert (await machine.delete("/auth/sessions")).status_code == 403

    async def test_tell_when_they_were_used_last(self, app, organisation):
        person = organisation.people[Role.VIEWER]
        await app.pool.execute(
            "update session set last_used_at = last_used_at - interval '1 hour', created_at = created_at - interval "
            "'1 hour' where id = $1",
            person.tokens.caller.session_id,
        )
        assert (await person.client.get("/auth/me")).status_code == 200
        (mine,) = (await person.client.get("/auth/sessions")).json()
        assert datetime.fromisoformat(mine["lastUsedAt"]) > datetime.fromisoformat(mine["createdAt"])


class TestAChangeOfPassword:
    new = {"currentPassword": PASSWORD, "newPassword": "quiet-lantern-forge-88"}

    async def test_revokes_the_keys_that_were_made_before(self, app, organisation):
        secret = (await make_key(organisation.trader)).json()["secret"]
        others = (await make_key(organisation.admin)).json()["secret"]
        assert (await organisation.trader.post("/auth/password", json=self.new)).status_code == 204
        async with client_of(app, secret) as machine, client_of(app, others) as another:
            await wait_for_status(machine, 401)
            assert (await another.get("/auth/me")).status_code == 200
        assert (await organisation.trader.get("/auth/api-keys")).json() == []

    async def test_leaves_keys_where_that_is_asked_for(self, app, organisation):
        secret = (await make_key(organisation.trader)).json()["secret"]
        body = {**self.new, "keepAPIKeys": True}
        assert (await organisation.trader.post("/auth/password", json=body)).status_code == 204
        await asyncio.sleep(0.2)
        async with client_of(app, secret) as machine:
            assert (await machine.get("/auth/me")).status_code == 200


class TestCredentials:
    async def test_are_changed_only_within_ten_minutes_of_signing_in(self, app, organisation):
        key = (await make_key(organisation.admin)).json()
        person = organisation.people[Role.ADMIN]
        await grow_older(app, person, timedelta(minutes=9, seconds=30))
        assert (await make_key(person.client)).status_code == 201
        await grow_older(app, person, timedelta(seconds=30))
        path = f"/organisations/{organisation.id}"
        provider = {"issuer": "https://id.example.org", "clientID": "x", "domains": ["example.org"]}
        for refused in (
            await make_key(person.client),
            await person.client.delete(f"/auth/api-keys/{key['id']}"),
            await person.client.delete(f"{path}/api-keys/{key['id']}"),
            await person.client.post("/auth/totp"),
            await person.client.put("/auth/totp", json={"code": "000000"}),
            await person.client.request("DELETE", "/auth/totp", json={"code": "000000"}),
            await person.client.put(f"{path}/identity-provider", json=provider),
            await person.client.delete(f"{path}/identity-provider"),
            await person.client.delete(f"{path}/members/{organisation.people[Role.VIEWER].id}/second-factor"),
            await person.client.change(path, json={"requireSecondFactor": True}),
            await person.client.change(path, json={"maxKeyAgeDays": 364}),
            await person.client.change(path, json={"allowedNetworks": ["0.0.0.0/0", "::/0"]}),
        ):
            assert refused.status_code == 403, refused.text
            assert refused.json()["type"].endswith("/reauthentication-required")
        assert (await person.client.get("/auth/api-keys")).status_code == 200
        assert (await person.client.change(path, json={"name": "Renamed"})).status_code == 200
        tokens = await log_in(app, person.username)
        async with client_of(app, tokens["access_token"]) as fresh:
            assert (await fresh.delete(f"/auth/api-keys/{key['id']}")).status_code == 204

    async def test_are_not_renewed_by_a_refresh(self, app, organisation):
        person = organisation.people[Role.ADMIN]
        await grow_older(app, person, timedelta(minutes=11))
        async with client_of(app) as anonymous:
            again = await anonymous.post("/auth/public/refresh", json={"refresh_token": person.tokens.refresh})
        async with client_of(app, again.json()["access_token"]) as client:
            assert (await make_key(client)).status_code == 403


class TestMembersKeys:
    async def test_are_seen_and_revoked_by_admins(self, app, organisation):
        made = (await make_key(organisation.trader)).json()
        path = f"/organisations/{organisation.id}/api-keys"
        (listed,) = (await organisation.admin.get(path)).json()
        assert (listed["id"], listed["username"]) == (made["id"], organisation.people[Role.TRADER].username)
        assert listed["userID"] == str(organisation.people[Role.TRADER].id)
        assert "secret" not in listed
        async with client_of(app, made["secret"]) as machine:
            assert (await machine.get("/auth/me")).status_code == 200
            assert (await organisation.admin.delete(f"{path}/{made['id']}")).status_code == 204
            await wait_for_status(machine, 401)
        assert (await organisation.admin.delete(f"{path}/{made['id']}")).status_code == 404

    async def test_are_not_seen_by_others(self, app, organisation, new_organisation, operator):
        made = (await make_key(organisation.trader)).json()
        path = f"/organisations/{organisation.id}/api-keys"
        stranger = await new_organisation()
        for client in (organisation.trader, stranger.admin):
            assert (await client.get(path)).status_code == 403
            assert (await client.delete(f"{path}/{made['id']}")).status_code == 403
        elsewhere = f"/organisations/{stranger.id}/api-keys/{made['id']}"
        assert (await stranger.admin.delete(elsewhere)).status_code == 404
        assert len((await operator.get(path)).json()) == 1

    async def test_are_not_revoked_by_a_key(self, app, organisation):
        made = (await make_key(organisation.admin, permissions=["Manage:organisation"])).json()
        async with client_of(app, made["secret"]) as machine:
            path = f"/organisations/{organisation.id}/api-keys"
            assert (await machine.get(path)).status_code == 200
            refused = await machine.delete(f"{path}/{made['id']}")
            assert (refused.status_code, refused.json()["title"]) == (403, "Only a person can do this")

    async def test_change_nothing_that_the_organisation_demands_of_members_and_keys(self, app, organisation):
        made = (await make_key(organisation.admin, permissions=["Manage:organisation"])).json()
        path = f"/organisations/{organisation.id}"
        async with client_of(app, made["secret"]) as machine:
            for change in ({"requireSecondFactor": True}, {"maxKeyAgeDays": 3000}, {"allowedNetworks": ["::/0"]}):
                refused = await machine.change(path, json={"name": "Renamed", **change})
                assert (refused.status_code, refused.json()["title"]) == (403, "Only a person can do this")
            assert (await machine.change(path, json={"name": "Renamed"})).status_code == 200
