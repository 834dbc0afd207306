"""Tokens, codes and old passwords work once; repeated under its Idempotency-Key an attempt is answered as before."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from tests.people import PASSWORD
from tests.platform.identity.test_second_factor import challenge, enrol

from gridloom.platform.identity.permissions import Role

NEW_PASSWORD = "lantern-meadow-cobalt-58"


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


async def post_twice(client: Any, path: str, body: dict[str, str]) -> Any:
    """The first response, which the second must repeat to the byte."""
    headers = {"Idempotency-Key": uuid4().hex}
    first, second = [await client.post(path, json=body, headers=headers) for _ in range(2)]
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers["idempotency-replayed"] == "true"
    return first


class TestARepeatedAttempt:
    async def test_to_accept_an_invitation_answers_the_user_again(self, anonymous, organisation):
        invited = {"email": f"{uuid4().hex}@example.org", "role": "VIEWER"}
        made = await organisation.admin.post(f"/organisations/{organisation.id}/invitations", json=invited)
        body = {
            "token": made.json()["token"],
            "username": invited["email"],
            "password": NEW_PASSWORD,
            "displayName": "Ada",
        }
        accepted = await post_twice(anonymous, "/auth/public/invitations/accept", body)
        assert accepted.status_code == 201
        again = await anonymous.post("/auth/public/invitations/accept", json={**body, "username": uuid4().hex})
        assert again.json()["type"].endswith("/invitation-spent")

    async def test_to_change_a_password_answers_204_again(self, organisation):
        body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
        changed = await post_twice(organisation.viewer, "/auth/password", body)
        assert changed.status_code == 204
        again = await organisation.viewer.post("/auth/password", json=body)
        assert again.json()["type"].endswith("/wrong-current-password")

    async def test_to_sign_in_with_a_code_answers_the_tokens_again(self, app, anonymous, organisation):
        person = organisation.people[Role.TRADER]
        device = await enrol(app, person)
        body = {"challenge": await challenge(anonymous, person), "code": device.recovery_codes[0]}
        signed_in = await post_twice(anonymous, "/auth/public/second-factor", body)
        assert signed_in.status_code == 200
        again = await anonymous.post("/auth/public/second-factor", json=body)
        assert again.json()["type"].endswith("/challenge-expired")
