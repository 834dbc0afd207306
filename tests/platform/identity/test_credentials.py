"""What credentials are made of and who is told of them, over HTTP on the real database."""

from __future__ import annotations

import asyncio
from typing import Any

import jwt
import pytest
from tests.assets import register_asset
from tests.people import NOTICE_TIMEOUT_S, PASSWORD, OrganisationUnderTest, client_of

from gridloom.kernel.permission import Permission
from gridloom.platform.database.sealing import Seal
from gridloom.platform.health_checks import HealthChecks
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import OPERATOR_ONLY, Role
from gridloom.platform.identity.signing_key_cache import JWKS_MAX_AGE, rotate_signing_key
from gridloom.platform.identity.token_verification.verification import TokenAuthenticator


@pytest.fixture
async def organisation(new_organisation: Any) -> OrganisationUnderTest:
    made: OrganisationUnderTest = await new_organisation()
    return made


class TestAnAccessToken:
    async def test_names_the_person_the_login_and_the_organisation(
        self, app: Application, anonymous: Any, organisation: OrganisationUnderTest
    ) -> None:
        person = organisation.people[Role.TRADER]
        await person.client.post("/auth/logout")
        credentials = {"username": person.username, "password": PASSWORD}
        token = (await anonymous.post("/auth/public/authenticate", json=credentials)).json()["access_token"]
        async with client_of(app, token) as client:
            (session,) = (await client.get("/auth/sessions")).json()
        claims = jwt.decode(token, options={"verify_signature": False})
        assert {name: claims[name] for name in ("iss", "sub", "sid", "org")} == {
            "iss": "gridloom",
            "sub": str(person.id),
            "sid": session["id"],
            "org": str(organisation.id),
        }


class TestAKey:
    async def test_is_told_as_it_was_wished_and_later_with_what_it_still_may(
        self, organisation: OrganisationUnderTest
    ) -> None:
        asset, trader = await register_asset(organisation), organisation.people[Role.TRADER]
        wish = {
            "name": "Gateway",
            "permissions": ["Create:bids", "Read:monitoring"],
            "physicalAssetIDs": [str(asset.id), str(asset.id)],
            "allowedNetworks": ["2001:0DB8:0::/32", "192.0.2.7", "192.0.2.7/32"],
        }
        made = (await trader.client.post("/auth/api-keys", json=wish)).json()
        assert {name: made[name] for name in wish} == {
            "name": "Gateway",
            "permissions": ["Read:monitoring", "Create:bids"],
            "physicalAssetIDs": [str(asset.id)],
            "allowedNetworks": ["2001:db8::/32", "192.0.2.7/32"],
        }
        told = {name: value for name, value in made.items() if name != "secret"}
        whose = {"userID": str(trader.id), "username": trader.username}
        members = f"/organisations/{organisation.id}"
        assert (await trader.client.get("/auth/api-keys")).json() == [told]
        assert (await organisation.admin.get(f"{members}/api-keys")).json() == [told | whose]
        await organisation.admin.patch(f"{members}/members/{trader.id}", json={"role": "VIEWER"})
        async with asyncio.timeout(NOTICE_TIMEOUT_S):
            while (await trader.client.get("/auth/me")).json()["role"] != "VIEWER":
                await asyncio.sleep(0.02)
        told["permissions"] = ["Read:monitoring"]
        assert (await trader.client.get("/auth/api-keys")).json() == [told]
        assert (await organisation.admin.get(f"{members}/api-keys")).json() == [told | whose]


class TestARightPassword:
    async def test_is_no_attempt_where_it_is_asked_for_again(self, organisation: OrganisationUnderTest) -> None:
        person = organisation.people[Role.VIEWER]
        passwords = [PASSWORD, "entirely-new-lantern-44"]
        for _ in range(7):
            change = {"currentPassword": passwords[0], "newPassword": passwords[1]}
            assert (await person.client.post("/auth/password", json=change)).status_code == 204
            passwords.reverse()


class TestAWrongPassword:
    async def test_is_in_the_audit_log_with_whose_it_would_have_been(
        self, anonymous: Any, organisation: OrganisationUnderTest
    ) -> None:
        person = organisation.people[Role.VIEWER]
        wrong = {"username": person.username.upper(), "password": "not-the-password"}
        assert (await anonymous.post("/auth/public/authenticate", json=wrong)).status_code == 401
        (entry,) = (await organisation.admin.get("/audit-log?action=authenticate")).json()
        told = ("actorKind", "actorID", "actorName", "organisationID", "status", "details")
        assert {name: entry.get(name) for name in told} == {
            "actorKind": "USER",
            "actorID": str(person.id),
            "actorName": person.username,
            "organisationID": str(organisation.id),
            "status": 401,
            "details": {"reason": "wrong credentials"},
        }


class TestAMember:
    async def test_is_removed_against_the_version_that_was_read(self, organisation: OrganisationUnderTest) -> None:
        path = f"/organisations/{organisation.id}/members/{organisation.people[Role.VIEWER].id}"
        tag = (await organisation.admin.patch(path, json={"role": "TRADER"})).headers["etag"]
        assert (await organisation.admin.delete(path, headers={"If-Match": tag})).status_code == 204


class TestAKeyOfTheOperator:
    async def test_gives_every_role_of_a_participant_without_what_is_the_operator_s_alone(
        self, app: Application, operator: Any, organisation: OrganisationUnderTest
    ) -> None:
        held = [word for word in Permission if word not in OPERATOR_ONLY]
        made = await operator.post("/auth/api-keys", json={"name": "People", "permissions": held})
        path = f"/organisations/{organisation.id}/members/{organisation.people[Role.VIEWER].id}"
        async with client_of(app, made.json()["secret"]) as machine:
            changed = await machine.patch(path, json={"role": "TRADER"})
            assert changed.status_code == 200, changed.text
            [founder] = [one for one in (await operator.get("/organisations")).json() if one["kind"] == "OPERATOR"][:1]
            for invited_to, status in ((organisation.id, 201), (founder["id"], 403)):
                invitation = {"email": "ada@example.org", "role": "TRADER"}
                invited = await machine.post(f"/organisations/{invited_to}/invitations", json=invitation)
                assert invited.status_code == status, invited.text
        assert (await operator.delete(f"/auth/api-keys/{made.json()['id']}")).status_code == 204

    async def test_of_which_organisation_was_founded_is_in_the_audit_log(self, operator: Any) -> None:
        made = (await operator.post("/organisations", json={"name": "Founded", "kind": "PARTICIPANT"})).json()
        newest = (await operator.get("/audit-log", params={"action": "createOrganisation"})).json()[0]
        assert newest["details"] == {"organisationID": made["id"]}


class TestANewSigningKey:
    @pytest.mark.parametrize("distrust", [False, True])
    async def test_signs_once_everybody_can_know_it_or_at_once_where_the_former_leaked(
        self, app: Application, distrust: bool
    ) -> None:
        async with app.pool.acquire() as db:
            await (undone := db.transaction()).start()
            kid = await rotate_signing_key(db, Seal(None, "signing-key"), distrust=distrust)
            waits_s = await db.fetchval(
                "select extract(epoch from signs_from - clock_timestamp())::float8 from signing_key where kid = $1", kid
            )
            await undone.rollback()
        whole_s = 0.0 if distrust else JWKS_MAX_AGE.total_seconds()
        assert whole_s - 30 < waits_s <= whole_s + 0.001


class TestAWorkerThatHearsNoRevocations:
    async def test_says_so(self, app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        authenticator = app.resources[TokenAuthenticator]
        told = {}
        for trusted_until in (float("inf"), 0.0):
            with monkeypatch.context() as patched:
                patched.setattr(type(authenticator), "is_listening", trusted_until > 0)
                checks = [await check(app.pool) for check in app.resources[HealthChecks].checks]
            told[trusted_until] = {one.status for one in checks if one.name == "revocations"}
        assert told == {float("inf"): {"OK"}, 0.0: {"DEGRADED"}}
