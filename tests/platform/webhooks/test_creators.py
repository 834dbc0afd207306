"""The creator of a webhook: it delivers what they may read, and ends with them."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from tests.people import OrganisationUnderTest, client_of
from tests.platform.events.happening import happen
from tests.platform.webhooks.asking import set_up, until_state
from tests.platform.webhooks.conftest import answer

from gridloom.platform.database.commit import transaction
from gridloom.platform.http.application import Application
from gridloom.platform.webhooks import store
from gridloom.platform.webhooks.delivery_store import disable_orphans, readable_by_maker


async def key_of(ours: OrganisationUnderTest, app: Application, *permissions: str) -> Any:
    made = await ours.admin.post("/auth/api-keys", json={"name": "k", "permissions": list(permissions)})
    assert made.status_code == 201, made.text
    return made.json(), client_of(app, made.json()["secret"])


class TestWhoeverManagesTheOrganisationAlone:
    """An API key with `Manage:organisation` and nothing else."""

    async def test_sees_no_delivery_of_what_it_may_not_read(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        await receiver.wait(1)
        await until_state(ours, webhook, "DELIVERED")
        _, client = await key_of(ours, app, "Manage:organisation")
        async with client:
            assert (await client.get(f"/webhooks/{webhook['id']}/deliveries")).json() == []

    async def test_neither_redirects_nor_replays_nor_signs(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        delivery = (await until_state(ours, webhook, "DELIVERED"))[0]
        path = f"/webhooks/{webhook['id']}"
        _, client = await key_of(ours, app, "Manage:organisation")
        async with client:
            for change in ({"url": f"{receiver.url}/mine"}, {"types": ["bid.placed"]}):
                assert (await client.change(path, json=change)).status_code == 403
            assert (await client.post(f"{path}/deliveries/{delivery['id']}/replay")).status_code == 403
            assert (await client.post(f"{path}/secret", json={})).status_code == 403
            for harmless in ({"description": "seen"}, {"enabled": True}):
                assert (await client.change(path, json=harmless)).status_code == 200, "it is enabled"
            webhook_id = UUID(webhook["id"])
            assert "Read:auctions" in await readable_by_maker(app.pool, ours.id, webhook_id), "its creator stays"
            assert (await client.change(path, json={"enabled": False})).status_code == 200
            assert (await client.change(path, json={"enabled": True})).status_code == 403
        assert (await ours.admin.change(path, json={"enabled": True})).status_code == 200


class TestAMakerWhoIsGone:
    async def test_takes_the_webhook_along(self, app, people, new_organisation, receiver) -> None:
        ours = await new_organisation()
        other = await people.add_member(ours.id, "ADMIN")
        made = await other.client.post("/webhooks", json={"url": receiver.url, "types": []})
        path = f"/webhooks/{made.json()['id']}"
        await happen(app.pool, ours.id)
        await receiver.wait(1)
        removed = await ours.admin.delete(f"/organisations/{ours.id}/members/{other.id}")
        assert removed.status_code == 204, removed.text
        await happen(app.pool, ours.id)
        async with asyncio.timeout(120):
            while (await ours.admin.get(path)).json()["enabled"]:
                await asyncio.sleep(0.05)
        assert "no longer a member" in (await ours.admin.get(path)).json()["disabledBecause"]
        assert len(receiver.calls) == 1
        assert (await ours.admin.change(path, json={"enabled": True})).status_code == 200
        await receiver.wait(2)

    async def test_leaves_nothing_to_be_tried_again(self, app, people, new_organisation, receiver) -> None:
        """A role that shrinks, or a key that is deleted, also ends what still waits to be delivered."""
        ours = await new_organisation()
        key, client = await key_of(ours, app, "Manage:organisation", "Read:auctions", "Read:physical-assets")
        async with client:
            made = await client.post("/webhooks", json={"url": receiver.url, "types": []})
        receiver.answering = lambda _call: answer(503)
        await happen(app.pool, ours.id)
        calls = len(await receiver.wait(1))
        assert (await ours.admin.delete(f"/auth/api-keys/{key['id']}")).status_code == 204
        await app.pool.execute("update webhook_delivery set due = clock_timestamp() where state = 'PENDING'")
        async with transaction(app.pool) as db:
            await store.wake(db)
        async with asyncio.timeout(120):
            while (await ours.admin.get(f"/webhooks/{made.json()['id']}")).json()["enabled"]:
                await asyncio.sleep(0.05)
        assert len(receiver.calls) == calls

    async def test_is_a_key_that_has_expired_as_well(self, app, new_organisation) -> None:
        ours = await new_organisation()
        key, client = await key_of(ours, app, "Manage:organisation", "Read:auctions")
        async with client:
            made = await client.post("/webhooks", json={"url": "http://127.0.0.1:9/", "types": []})
        webhook_id = UUID(made.json()["id"])
        await disable_orphans(app.pool, "nobody is left")
        assert (await ours.admin.get(f"/webhooks/{webhook_id}")).json()["enabled"], "as long as its key is there"
        assert "Read:auctions" in await readable_by_maker(app.pool, ours.id, webhook_id)
        await app.pool.execute(
            "update api_key set created_at = clock_timestamp(), expires_at = clock_timestamp() - interval '1 second'"
            " where id = $1",
            UUID(key["id"]),
        )
        assert await readable_by_maker(app.pool, ours.id, webhook_id) == []
