"""Webhooks are changed by one at a time, and an organisation has so many of them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from tests.concurrency import answer_after_change, assert_etag_follows, await_blocked

from gridloom.platform.http.application import Application
from gridloom.platform.webhooks import routes, store

URL = "https://example.org/hook"


async def make(ours: Any, **body: Any) -> Any:
    answer = await ours.admin.post("/webhooks", json={"url": URL, "types": ["bid.placed"], **body})
    assert answer.status_code == 201, answer.text
    return answer


class TestAChange:
    async def test_keeps_what_it_leaves_out(self, new_organisation: Any) -> None:
        ours = await new_organisation()
        path = f"/webhooks/{(await make(ours, description='first')).json()['id']}"
        changed = (await ours.admin.change(path, json={"url": f"{URL}/moved"})).json()
        assert (changed["url"], changed["types"], changed["description"]) == (f"{URL}/moved", ["bid.placed"], "first")
        changed = (await ours.admin.change(path, json={"description": "second"})).json()
        assert (changed["url"], changed["description"], changed["enabled"]) == (f"{URL}/moved", "second", True)

    async def test_of_a_disabled_webhook_leaves_when_it_was_disabled(
        self, app: Application, new_organisation: Any
    ) -> None:
        ours = await new_organisation()
        path = f"/webhooks/{(await make(ours)).json()['id']}"
        disabled = (await ours.admin.change(path, json={"enabled": False})).json()
        await app.pool.execute("update webhook set disabled_because = 'x' where organisation_id = $1", ours.id)
        for change in ({"description": "later"}, {"enabled": False}):
            changed = (await ours.admin.change(path, json=change)).json()
            assert changed["disabledAt"] == disabled["disabledAt"] is not None
            assert changed["disabledBecause"] == "x"
        enabled = (await ours.admin.change(path, json={"enabled": True})).json()
        assert (enabled["enabled"], enabled.get("disabledAt"), enabled.get("disabledBecause")) == (True, None, None)

    async def test_of_an_enabled_webhook_leaves_what_waits_to_be_tried_again(
        self, app: Application, new_organisation: Any
    ) -> None:
        ours = await new_organisation()
        webhook_id = UUID((await make(ours)).json()["id"])
        await app.pool.execute(
            """
            insert into webhook_delivery
              (organisation_id, id, webhook_id, sequence, event_id, type, body, attempts, due, give_up_at, permission)
            values ($1, $2, $2, 1, $2, 'bid.placed', '{}', 3, clock_timestamp() + interval '1 day',
                    clock_timestamp() + interval '2 days', 'Read:auctions')
            """,
            ours.id,
            webhook_id,
        )
        for change in ({"description": "x"}, {"enabled": True}):
            assert (await ours.admin.change(f"/webhooks/{webhook_id}", json=change)).status_code == 200
        attempts = "select attempts from webhook_delivery where organisation_id = $1"
        assert await app.pool.fetchval(attempts, ours.id) == 3

    async def test_answers_the_etag_of_what_is_read_then(self, new_organisation: Any) -> None:
        ours = await new_organisation()
        made = await make(ours)
        path = f"/webhooks/{made.json()['id']}"
        await assert_etag_follows(ours.admin, path, made)
        assert made.headers["location"] == path
        (entry,) = (await ours.admin.get("/audit-log?action=createWebhook")).json()
        assert entry["details"] == {"webhookID": made.json()["id"]}
        seen, times = [made.headers["etag"]], [made.json()["updatedAt"]]
        for change in ({"description": "x"}, {"enabled": False}, {"enabled": True}):
            changed = await ours.admin.change(path, json=change)
            await assert_etag_follows(ours.admin, path, changed)
            seen.append(changed.headers["etag"])
            times.append(changed.json()["updatedAt"])
        read = await ours.admin.get(path)
        rotated = await ours.admin.post(f"{path}/secret", json={})
        await assert_etag_follows(ours.admin, path, rotated)
        seen.append(rotated.headers["etag"])
        assert len(set(seen)) == len(seen), "none stands for two states"
        times.append(rotated.json()["updatedAt"])
        instants = [datetime.fromisoformat(time) for time in times]
        assert instants == sorted(set(instants)), "and each tells when it was made"
        stale = {"If-Match": read.headers["etag"]}
        assert (await ours.admin.delete(path, headers=stale)).status_code == 412
        assert (await ours.admin.delete(path, headers={"If-Match": rotated.headers["etag"]})).status_code == 204

    async def test_overwrites_no_change_that_it_did_not_see(self, app: Application, new_organisation: Any) -> None:
        ours = await new_organisation()
        made = await make(ours)
        path = f"/webhooks/{made.json()['id']}"
        late = await answer_after_change(
            app,
            ours.admin.change(path, json={"description": "late"}, headers={"If-Match": made.headers["etag"]}),
            "update webhook set description = 'early', version = version + 1 where id = $1",
            UUID(made.json()["id"]),
        )
        assert late.status_code == 412
        assert (await ours.admin.get(path)).json()["description"] == "early"


async def test_an_organisation_has_so_many_and_no_more(new_organisation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MAX_WEBHOOKS", 2)
    ours, others = await new_organisation(), await new_organisation()
    for _ in range(2):
        await make(ours)
    refused = await ours.admin.post("/webhooks", json={"url": URL, "types": []})
    assert (refused.status_code, refused.json()["type"]) == (409, "/docs/problems/too-many-webhooks")
    await make(others)


async def test_webhooks_of_an_organisation_are_counted_one_after_the_other(
    app: Application, new_organisation: Any
) -> None:
    ours = await new_organisation()
    async with app.pool.acquire() as connection:
        async with connection.transaction():
            await store.lock_count(connection, ours.id)
            asked = asyncio.ensure_future(make(ours))
            await await_blocked(app, connection, asked)
            assert not asked.done()
        assert (await asked).status_code == 201
