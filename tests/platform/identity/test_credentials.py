"""What credentials are made of and who is told of them, over HTTP on the real database."""

from __future__ import annotations

from typing import Any

import pytest
from tests.people import PASSWORD, OrganisationUnderTest, client_of

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


class TestARightPassword:
    async def test_is_no_attempt_where_it_is_asked_for_again(self, organisation: OrganisationUnderTest) -> None:
        person = organisation.people[Role.VIEWER]
        passwords = [PASSWORD, "entirely-new-lantern-44"]
        for _ in range(7):
            change = {"currentPassword": passwords[0], "newPassword": passwords[1]}
            assert (await person.client.post("/auth/password", json=change)).status_code == 204
            passwords.reverse()


class TestAKeyOfTheOperator:
    async def test_gives_every_role_of_a_participant_without_what_is_the_operator_s_alone(
        self, app: Application, operator: Any, organisation: OrganisationUnderTest
    ) -> None:
        held = [word for word in Permission if word not in OPERATOR_ONLY]
        made = await operator.post("/auth/api-keys", json={"name": "People", "permissions": held})
        path = f"/organisations/{organisation.id}/members/{organisation.people[Role.VIEWER].id}"
        async with client_of(app, made.json()["secret"]) as machine:
            changed = await machine.change(path, json={"role": "TRADER"})
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
