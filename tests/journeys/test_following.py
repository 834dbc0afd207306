"""Follow what happens live, go on after a break, and have it sent to an address of one's own."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from standardwebhooks import Webhook as Verifier
from tests.assets import register_asset
from tests.platform.events.sse import Reader
from tests.platform.webhooks.conftest import receiving


class TestAChange:
    async def test_reaches_the_stream_of_a_grantee_and_a_webhook_and_is_there_after_a_break(
        self, app, new_organisation
    ) -> None:
        owner, trader = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        granted = await owner.admin.put(asset.path(f"/grants/{trader.id}"), json={"permissions": ["Read:schedules"]})
        assert granted.status_code in (200, 201), granted.text
        key = await trader.admin.post("/auth/api-keys", json={"name": "desk", "permissions": ["Read:schedules"]})
        day = (datetime.now(UTC) + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)

        async def schedule(hour: int) -> None:
            period = (day + timedelta(hours=hour)).isoformat()
            put = await owner.admin.put(asset.path("/schedule"), json={"schedule": [{"time": period, "power": 500}]})
            assert put.status_code == 200, put.text

        async with receiving() as receiver:
            body = {"url": receiver.url, "types": ["schedule.updated"]}
            webhook = (await owner.admin.post("/webhooks", json=body)).json()
            async with Reader(app, key.json()["secret"], "/events?subjects=physical-assets") as reader:
                await schedule(1)
                first = await reader.next()
            await schedule(2)
            assert first is not None
            async with Reader(app, key.json()["secret"], last_event_id=first.id) as reader:
                second = await reader.next()
            assert second is not None
            calls = await receiver.wait(2)
        assert (first.data["type"], first.data["subject"]) == ("schedule.updated", f"physical-assets/{asset.id}")
        assert first.data["organisationID"] == str(owner.id)
        assert [told.data["data"]["start"][11:13] for told in (first, second)] == ["01", "02"]
        for call in calls:
            Verifier(webhook["secret"]).verify(call.body, call.headers)
        assert {json.loads(call.body)["id"] for call in calls} == {first.data["id"], second.data["id"]}
