"""What the audit log says of each change of people and their credentials, besides who did it and when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.people import PASSWORD, OrganisationUnderTest, People

from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role


@pytest.fixture
async def organisation(new_organisation: Any) -> OrganisationUnderTest:
    made: OrganisationUnderTest = await new_organisation()
    return made


async def details_of(organisation: OrganisationUnderTest, action: str) -> Any:
    """Of the newest entry of an operation."""
    found = (await organisation.admin.get("/audit-log", params={"action": action})).json()
    return found[0]["details"]


class TestTheAuditLog:
    async def test_says_what_became_of_an_organisation_and_its_members(
        self, organisation: OrganisationUnderTest, people: People
    ) -> None:
        admin, path = organisation.admin, f"/organisations/{organisation.id}"
        assert (await admin.change(path, json={"name": "New", "maxKeyAgeDays": 30})).status_code == 200
        changed = await details_of(organisation, "updateOrganisation")
        assert changed["before"] == {"name": organisation.name, "maxKeyAgeDays": 365}
        assert changed["after"] == {"name": "New", "maxKeyAgeDays": 30}
        member = await people.add_member(organisation.id, Role.ENGINEER)
        assert (await admin.change(f"{path}/members/{member.id}", json={"role": "TRADER"})).status_code == 200
        assert await details_of(organisation, "updateMember") == {
            "before": {"role": "ENGINEER"},
            "after": {"role": "TRADER"},
        }
        assert (await admin.delete(f"{path}/members/{member.id}")).status_code == 204
        assert await details_of(organisation, "deleteMember") == {"username": member.username, "role": "TRADER"}

    async def test_says_which_credentials_were_made_and_revoked(
        self, app: Application, organisation: OrganisationUnderTest
    ) -> None:
        admin, trader = organisation.admin, organisation.people[Role.TRADER]
        wish = {"name": "Gateway", "permissions": ["Read:monitoring", "Read:schedules"]}
        keys = [(await trader.client.post("/auth/api-keys", json=wish)).json() for _ in range(3)]
        assert await details_of(organisation, "createApiKey") == {
            "apiKeyID": keys[-1]["id"],
            "permissions": keys[-1]["permissions"],
        }
        assert (await admin.delete(f"/organisations/{organisation.id}/api-keys/{keys[0]['id']}")).status_code == 204
        assert await details_of(organisation, "deleteOrganisationApiKey") == {"username": trader.username}
        password = {"currentPassword": PASSWORD, "newPassword": "quiet-lantern-forge-88"}
        assert (await trader.client.post("/auth/password", json=password)).status_code == 204
        assert await details_of(organisation, "updatePassword") == {"revokedAPIKeys": 2}
        await app.pool.execute("insert into second_factor (member_id, sealed_secret) values ($1, 'x')", trader.id)
        reset = await admin.delete(f"/organisations/{organisation.id}/members/{trader.id}/second-factor")
        assert reset.status_code == 204, reset.text
        assert await details_of(organisation, "resetSecondFactor") == {"username": trader.username}
