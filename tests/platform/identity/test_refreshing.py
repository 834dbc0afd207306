"""A refresh token continues its session, once, for thirty days, and while the session lasts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx2
import pytest
from tests.people import client_of

from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role


async def refresh(client: httpx2.AsyncClient, token: str) -> httpx2.Response:
    return await client.post("/auth/public/refresh", json={"refresh_token": token})


async def age_tokens(app: Application, member_id: Any, days: float) -> None:
    await app.pool.execute(
        """
        update refresh_token set expires_at = expires_at - make_interval(secs => $2)
        where session_id in (select id from session where member_id = $1)
        """,
        member_id,
        days * 86_400,
    )


class TestARefreshToken:
    async def test_works_for_thirty_days_and_no_longer(
        self, app: Application, anonymous: httpx2.AsyncClient, new_organisation: Any
    ) -> None:
        ours = await new_organisation()
        lasting, late = ours.people[Role.TRADER], ours.people[Role.VIEWER]
        await age_tokens(app, lasting.id, 29.9)
        await age_tokens(app, late.id, 30)
        assert (await refresh(anonymous, lasting.tokens.refresh)).status_code == 200
        assert (await refresh(anonymous, late.tokens.refresh)).status_code == 401
        [entry] = (await ours.admin.get("/audit-log", params={"action": "refreshTokens"})).json()
        assert (entry["actorID"], entry["status"]) == (str(lasting.id), 200)

    async def test_has_the_thirty_days_of_its_session_start_again(
        self, app: Application, anonymous: httpx2.AsyncClient, new_organisation: Any
    ) -> None:
        person = (await new_organisation()).people[Role.TRADER]
        aged = """
            update session set created_at = created_at - interval '29 days',
                               expires_at = expires_at - interval '29 days',
                               last_used_at = last_used_at - interval '29 days'
            where id = $1
        """
        await app.pool.execute(aged, person.tokens.caller.session_id)
        assert (await refresh(anonymous, person.tokens.refresh)).status_code == 200
        left = """
            select expires_at > now() + interval '29 days' and last_used_at > now() - interval '1 day'
            from session where id = $1
        """
        assert await app.pool.fetchval(left, person.tokens.caller.session_id)

    async def test_gives_a_pair_that_works_and_is_spent_then(
        self, app: Application, anonymous: httpx2.AsyncClient, new_organisation: Any
    ) -> None:
        person = (await new_organisation()).people[Role.TRADER]
        renewed = (await refresh(anonymous, person.tokens.refresh)).json()
        async with client_of(app, renewed["access_token"]) as client:
            assert (await client.get("/auth/me")).json()["id"] == str(person.id)
        assert (await refresh(anonymous, renewed["refresh_token"])).status_code == 200, "and so on"
        assert (await refresh(anonymous, person.tokens.refresh)).status_code == 401
        assert (await refresh(anonymous, renewed["refresh_token"])).status_code == 401, "the whole family is revoked"


class TestKeys:
    async def test_are_counted_per_member_and_over_the_organisation(
        self, app: Application, new_organisation: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(app.shares, "limits", replace(app.shares.limits, api_keys_per_user=2, api_keys=3))
        ours, others = await new_organisation(), await new_organisation()

        async def make(client: httpx2.AsyncClient) -> httpx2.Response:
            return await client.post("/auth/api-keys", json={"name": "k", "permissions": ["Read:monitoring"]})

        assert [(await make(ours.admin)).status_code for _ in range(3)] == [201, 201, 409]
        assert (await make(ours.trader)).status_code == 201
        full = await make(ours.viewer)
        assert (full.status_code, full.json()["type"]) == (409, "/docs/problems/too-many-keys")
        assert full.json()["limit"] == 3
        assert (await make(others.admin)).status_code == 201
        usage = (await ours.viewer.get(f"/organisations/{ours.id}/usage")).json()
        [keys] = [one for one in usage["shares"] if one["share"] == "api-keys"]
        assert keys["used"] == 3
