"""Webhooks: signed calls, at least once for each event, retried, logged, and told only what may be read."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier
from tests.people import OrganisationUnderTest, People
from tests.platform.events.happening import assert_cloud_event, happen, number_in
from tests.platform.webhooks.asking import deliveries, set_up, until_attempts, until_state
from tests.platform.webhooks.conftest import Receiver, answer
from tests.stand_ins import replace_for

from gridloom.kernel.ids import uuid7
from gridloom.platform.database.commit import transaction
from gridloom.platform.http.application import Application
from gridloom.platform.webhooks import delivery_store, http_client, store


class TestACall:
    async def test_carries_the_event_and_a_signature_that_verifies(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id, 7)
        call = (await receiver.wait(1))[0]
        event = Verifier(webhook["secret"]).verify(call.body, call.headers)
        assert set(event) == {"id", "type", "time", "organisationID", "subject", "data"}
        assert number_in(event) == 7
        assert call.headers["webhook-id"] == event["id"]
        assert call.headers["content-type"] == "application/json"

    async def test_carries_a_signed_cloud_event_where_that_is_its_format(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url, format="CLOUDEVENTS")
        await happen(app.pool, ours.id, 7)
        await receiver.wait(1)
        changed = await ours.admin.change(f"/webhooks/{webhook['id']}", json={"format": "GRIDLOOM"})
        assert (webhook["format"], changed.json()["format"]) == ("CLOUDEVENTS", "GRIDLOOM")
        (delivery,) = await until_state(ours, webhook, "DELIVERED")
        await ours.admin.post(f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}/replay")
        await happen(app.pool, ours.id, 8)
        first, *others = await receiver.wait(3)
        event = Verifier(webhook["secret"]).verify(first.body, first.headers)
        assert_cloud_event(event, ours.id)
        assert (event["id"], number_in(event)) == (first.headers["webhook-id"], 7)
        bodies = {call.headers["content-type"]: number_in(json.loads(call.body)) for call in others}
        assert bodies == {"application/cloudevents+json": 7, "application/json": 8}, "a replay keeps its format"

    async def test_is_logged_with_request_and_answer(self, app, new_organisation, receiver, monkeypatch) -> None:
        replace_for(monkeypatch, http_client, "time", perf_counter=count(step=0.25).__next__)
        ours = await new_organisation()
        receiver.answering = lambda call: answer(200, b"thanks" + b"x" * 10_000, X_Receiver="here")
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        (delivery,) = await until_state(ours, webhook, "DELIVERED")
        (attempt,) = delivery["attempts"]
        assert json.loads(delivery["requestBody"])["id"] == delivery["eventID"]
        assert attempt["requestHeaders"]["webhook-id"] == delivery["eventID"]
        assert (attempt["status"], attempt["answerBody"]) == (200, "thanks" + "x" * 4090), "the first 4 KiB"
        assert attempt["answerHeaders"]["x-receiver"] == "here"
        assert delivery["nextAttemptAt"] is None
        assert attempt["tookMilliseconds"] >= 250
        times = [delivery["createdAt"], attempt["startedAt"], delivery["endedAt"]]
        assert times == sorted(times, key=datetime.fromisoformat)


class TestAWebhookThatFailsForThreeDays:
    async def give_up(self, app: Application, ours: OrganisationUnderTest, receiver: Receiver) -> dict[str, Any]:
        receiver.answering = lambda call: answer(500)
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        await until_attempts(ours, webhook, 1)
        await app.pool.execute(
            """
            update webhook_delivery set due = clock_timestamp(), give_up_at = clock_timestamp()
            where organisation_id = $1
            """,
            ours.id,
        )
        async with transaction(app.pool) as db:
            await store.wake(db)
        await until_state(ours, webhook, "FAILED")
        return webhook

    async def test_is_disabled_with_an_event_and_shows_in_health(self, fresh_app, receiver) -> None:
        app = await fresh_app()
        async with People(app) as people:
            ours = await people.new_organisation()
            webhook = await self.give_up(app, ours, receiver)
            read = (await ours.admin.get(f"/webhooks/{webhook['id']}")).json()
            assert (read["enabled"], read["disabledBecause"]) == (False, "the receiver answered 500")
            ready = (await ours.admin.get("/health/ready")).json()
            assert {"DEGRADED"} == {check["status"] for check in ready["checks"] if check["name"] == "webhooks"}
            async with asyncio.timeout(120):
                while not await app.pool.fetchval("select exists (select from event where type = 'webhook.disabled')"):
                    await asyncio.sleep(0.02)


class TestASecret:
    async def test_is_shown_once_and_never_again(self, new_organisation) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, "http://127.0.0.1:9/")
        secret = webhook["secret"]
        assert secret.startswith("whsec_")
        for path in ("/webhooks", f"/webhooks/{webhook['id']}", f"/webhooks/{webhook['id']}/deliveries", "/audit-log"):
            assert secret not in (await ours.admin.get(path)).text

    async def test_is_answered_again_to_a_safe_retry_without_being_stored_readable(self, app, new_organisation) -> None:
        ours = await new_organisation()
        body, headers = {"url": "http://127.0.0.1:9/", "types": []}, {"Idempotency-Key": uuid7().hex}
        first = await ours.admin.post("/webhooks", json=body, headers=headers)
        again = await ours.admin.post("/webhooks", json=body, headers=headers)
        assert again.json() == first.json()
        assert again.headers["Idempotency-Replayed"] == "true"
        assert len((await ours.admin.get("/webhooks")).json()) == 1
        stored = await app.pool.fetch("select body from idempotency")
        assert all(first.json()["secret"].encode() not in bytes(row["body"]) for row in stored)

    async def test_overlaps_with_the_one_before_it(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        rotated = await ours.admin.post(f"/webhooks/{webhook['id']}/secret", json={"overlapSeconds": 60})
        assert rotated.status_code == 200
        assert rotated.json()["secret"] != webhook["secret"]
        until, since = (
            datetime.fromisoformat(rotated.json()[name]) for name in ("previousSecretExpiresAt", "updatedAt")
        )
        assert abs(until - since - timedelta(seconds=60)) < timedelta(seconds=5)
        await happen(app.pool, ours.id)
        call = (await receiver.wait(1))[0]
        for secret in (webhook["secret"], rotated.json()["secret"]):
            Verifier(secret).verify(call.body, call.headers)

    async def test_overlaps_with_the_last_one_alone_for_the_time_asked_for_last(
        self, app, new_organisation, receiver
    ) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        secrets = [webhook["secret"]]
        for overlap in (60, 3600, 120):
            body = {"overlapSeconds": overlap}
            rotated = (await ours.admin.post(f"/webhooks/{webhook['id']}/secret", json=body)).json()
            until, since = (datetime.fromisoformat(rotated[name]) for name in ("previousSecretExpiresAt", "updatedAt"))
            assert abs(until - since - timedelta(seconds=overlap)) < timedelta(seconds=5)
            secrets.append(rotated["secret"])
        await happen(app.pool, ours.id)
        call = (await receiver.wait(1))[0]
        for secret in secrets[-2:]:
            Verifier(secret).verify(call.body, call.headers)
        for secret in secrets[:-2]:
            with pytest.raises(Exception, match="No matching signature"):
                Verifier(secret).verify(call.body, call.headers)

    async def test_without_overlap_replaces_the_one_before_it_at_once(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        rotated = await ours.admin.post(f"/webhooks/{webhook['id']}/secret", json={"overlapSeconds": 0})
        assert rotated.json()["previousSecretExpiresAt"] is None
        await happen(app.pool, ours.id)
        call = (await receiver.wait(1))[0]
        Verifier(rotated.json()["secret"]).verify(call.body, call.headers)
        with pytest.raises(Exception, match="No matching signature"):
            Verifier(webhook["secret"]).verify(call.body, call.headers)


class TestAReplay:
    async def test_sends_the_same_event_again(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        (delivery,) = await until_state(ours, webhook, "DELIVERED")
        path = f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}/replay"
        replayed = await ours.admin.post(path)
        assert replayed.status_code == 201
        assert replayed.json()["replaysID"] == delivery["id"]
        first, again = await receiver.wait(2)
        assert first.body == again.body
        assert first.headers["webhook-id"] == again.headers["webhook-id"]
        assert (await ours.admin.post(path.replace(delivery["id"], str(uuid7())))).status_code == 404
        another = await set_up(ours, receiver.url)
        assert (await ours.admin.post(path.replace(webhook["id"], another["id"]))).status_code == 404
        once_more = await ours.admin.post(path.replace(delivery["id"], replayed.json()["id"]))
        assert once_more.json()["replaysID"] == replayed.json()["id"]
        assert await deliveries(ours, another) == [], "a replay is in the log of its own webhook alone"
        shown = [one["id"] for one in await deliveries(ours, webhook)]
        assert shown == [once_more.json()["id"], replayed.json()["id"], delivery["id"]]

    async def test_and_the_log_outlive_the_event(self, app, new_organisation, receiver) -> None:
        """Events are kept for a shorter time than deliveries are."""
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        (delivery,) = await until_state(ours, webhook, "DELIVERED")
        await app.pool.execute("delete from event where organisation_id = $1", ours.id)
        assert [one["id"] for one in await deliveries(ours, webhook)] == [delivery["id"]]
        replayed = await ours.admin.post(f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}/replay")
        assert replayed.status_code == 201, replayed.text
        assert replayed.json()["requestBody"] == delivery["requestBody"]

    async def test_of_what_is_from_before_permissions_were_kept_is_refused(
        self, app, new_organisation, receiver
    ) -> None:
        """It may be anything, so nobody sees it either."""
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        (delivery,) = await until_state(ours, webhook, "DELIVERED")
        await app.pool.execute("update webhook_delivery set permission = null where organisation_id = $1", ours.id)
        assert await deliveries(ours, webhook) == []
        replayed = await ours.admin.post(f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}/replay")
        assert replayed.status_code == 403

    async def test_of_a_disabled_webhook_is_refused(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        (delivery,) = await until_state(ours, webhook, "DELIVERED")
        await ours.admin.change(f"/webhooks/{webhook['id']}", json={"enabled": False})
        refused = await ours.admin.post(f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}/replay")
        assert (refused.status_code, refused.json()["type"]) == (409, "/docs/problems/webhook-disabled")


class TestTheResource:
    async def test_is_paged_changed_and_removed(self, new_organisation) -> None:
        ours = await new_organisation()
        made = [await set_up(ours, f"http://127.0.0.1:9/{n}") for n in range(3)]
        first = await ours.admin.get("/webhooks", params={"limit": 2})
        assert [one["id"] for one in first.json()] == [one["id"] for one in made[:2]]
        rest = await ours.admin.get(first.links["next"]["url"])
        assert [one["id"] for one in rest.json()] == [made[2]["id"]]
        path = f"/webhooks/{made[0]['id']}"
        read = await ours.admin.get(path)
        stale = await ours.admin.change(path, json={"enabled": False}, headers={"If-Match": '"other"'})
        assert stale.status_code == 412
        changed = await ours.admin.change(
            path, json={"types": ["bid.placed", "bid.placed"]}, headers={"If-Match": read.headers["ETag"]}
        )
        assert changed.json()["types"] == ["bid.placed"]
        unknown = await ours.admin.change(path, json={"types": ["bid.placed", "nonsense"]})
        assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (400, "/types/1")
        private = await ours.admin.change(path, json={"url": "http://10.0.0.1/"})
        assert private.status_code == 422
        assert (await ours.admin.post(f"{path}/secret", json={})).status_code == 200
        assert (await ours.admin.delete(path)).status_code == 204
        assert (await ours.admin.get(path)).status_code == 404
        assert (await ours.admin.get("/webhooks")).json() == first.json()[1:] + rest.json(), "the others are as before"

    @pytest.mark.parametrize(
        ("body", "status", "pointer"),
        [
            ({"types": []}, 400, "/url"),
            ({"url": "http://127.0.0.1/"}, 400, "/types"),
            ({"url": "http://127.0.0.1/", "types": ["nonsense"]}, 400, "/types/0"),
            ({"url": "http://127.0.0.1/", "types": None}, 400, "/types"),
            ({"url": 5, "types": []}, 400, "/url"),
            ({"url": "http://127.0.0.1/", "types": [], "secret": "mine"}, 400, "/secret"),
            ({"url": "http://127.0.0.1/", "types": [], "description": "x" * 501}, 400, "/description"),
            ({"url": "http://10.0.0.1/", "types": []}, 422, None),
        ],
    )
    async def test_refuses_bad_bodies(self, new_organisation, body, status, pointer) -> None:
        answer = await (await new_organisation()).admin.post("/webhooks", json=body)
        assert answer.status_code == status
        if pointer is not None:
            assert answer.json()["errors"][0]["pointer"] == pointer

    async def test_is_for_those_who_manage_the_organisation_and_for_no_other_organisation(
        self, new_organisation
    ) -> None:
        ours, theirs = await new_organisation(), await new_organisation()
        webhook = await set_up(ours, "http://127.0.0.1:9/")
        assert (await ours.trader.get("/webhooks")).status_code == 403
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/deliveries"),
            ("POST", f"/deliveries/{uuid7()}/replay"),
        ):
            answer = await theirs.admin.request(method, f"/webhooks/{webhook['id']}{path}")
            assert answer.status_code == 404, path
        assert (await theirs.admin.change(f"/webhooks/{webhook['id']}", json={})).status_code == 404
        assert (await theirs.admin.post(f"/webhooks/{webhook['id']}/secret", json={})).status_code == 404

    async def test_gets_nothing_after_a_grant_was_revoked(self, app, new_organisation, receiver) -> None:
        owner, ours = await new_organisation(), await new_organisation()
        webhook = await set_up(ours, receiver.url)
        key = await app.pool.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2) returning key", uuid7(), owner.id
        )
        await app.pool.execute("insert into asset_grant values ($1, $2, $3, $2)", key, ours.id, ["Read:schedules"])
        schedules: Any = {"type": "schedule.updated", "permission": "Read:schedules", "asset_key": key}
        await happen(app.pool, owner.id, 1, **schedules)
        await receiver.wait(1)
        await app.pool.execute("delete from asset_grant where asset_key = $1", key)
        await happen(app.pool, owner.id, 2, **schedules)
        await happen(app.pool, ours.id, 3)
        calls = await receiver.wait(2)
        assert [number_in(json.loads(call.body)) for call in calls] == [1, 3]
        (shown,) = await until_state(ours, webhook, "DELIVERED")
        assert number_in(json.loads(shown["requestBody"])) == 3, "what may be read no more is not shown"
        first = await app.pool.fetchval(
            "select min(id::text) from webhook_delivery where organisation_id = $1", ours.id
        )
        refused = await ours.admin.post(f"/webhooks/{webhook['id']}/deliveries/{first}/replay")
        assert refused.status_code == 403, "nor sent again"


class TestTheLog:
    async def test_is_read_page_by_page_and_by_state_the_newest_first(self, app, new_organisation, receiver) -> None:
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        for number in range(5):
            await happen(app.pool, ours.id, number)
        whole = [one["id"] for one in await until_state(ours, webhook, "DELIVERED", 5)]
        assert whole == sorted(whole, reverse=True)
        seen, link = [], f"/webhooks/{webhook['id']}/deliveries?limit=2"
        while link:
            page = await ours.admin.get(link)
            seen += [one["id"] for one in page.json()]
            link = page.links.get("next", {}).get("url")
        assert seen == whole
        for state in ("PENDING", "FAILED"):
            assert await deliveries(ours, webhook, state=state) == []
        assert await deliveries(ours, await set_up(ours, receiver.url)) == []

    @pytest.fixture
    async def aged(self, app, new_organisation, receiver) -> tuple[OrganisationUnderTest, dict[str, Any]]:
        """An organisation and its webhook, which delivered an event 31 days ago."""
        ours = await new_organisation()
        webhook = await set_up(ours, receiver.url)
        await happen(app.pool, ours.id)
        await until_state(ours, webhook, "DELIVERED")
        await app.pool.execute(
            "update webhook_delivery set created_at = created_at - interval '31 days' where organisation_id = $1",
            ours.id,
        )
        return ours, webhook

    async def test_forgets_what_has_ended_and_is_old(self, app, aged) -> None:
        ours, webhook = aged
        assert await delivery_store.delete_deliveries_before(app.pool, timedelta(days=30), 1000) >= 1
        assert await deliveries(ours, webhook) == []
        left = await app.pool.fetchval("select count(*) from webhook_attempt where organisation_id = $1", ours.id)
        assert left == 0

    async def test_keeps_what_is_yet_to_be_delivered_however_old_it_is(self, app, aged) -> None:
        ours, webhook = aged
        await app.pool.execute(
            """
            update webhook_delivery set state = 'PENDING', ended_at = null, due = now() + interval '1 day'
            where organisation_id = $1
            """,
            ours.id,
        )
        await delivery_store.delete_deliveries_before(app.pool, timedelta(days=30), 1000)
        assert [one["state"] for one in await deliveries(ours, webhook)] == ["PENDING"]
