"""Webhooks: made, changed, called and called again."""

from __future__ import annotations

from typing import Any

from tests.simulation.actors.acting import (
    action,
    pick_holding,
)
from tests.simulation.calls import Answer, Request
from tests.simulation.model import World
from tests.simulation.steps import Pick


@action(weight=1)
def make_webhook(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if len(one.webhooks) > 2:
        return None
    body: dict[str, Any] = {
        "url": "http://127.0.0.1:9/hook",
        "types": ["schedule.updated", "unavailability.created", "data-points.updated", "bid.placed"],
    }

    def remember(answer: Answer) -> None:
        one.webhooks[answer.body["id"]] = body

    return Request("createWebhook", one.admin, "POST", "/webhooks", body, expect=201, on_success=remember)


@action(weight=1)
def change_webhook(world: World, pick: Pick) -> Request | None:
    one = pick_holding(world, pick, "webhooks")
    if one is None:
        return None
    webhook, kind = pick.of(list(one.webhooks)), pick.below(6)
    path = f"/webhooks/{webhook}"
    if kind == 0:
        return Request("updateWebhook", one.admin, "PATCH", path, {"description": f"{world.number()}"}, expect=200)
    if kind == 1:
        body = {"overlapSeconds": pick.between(0, 600)}
        return Request("rotateWebhookSecret", one.admin, "POST", f"{path}/secret", body, expect=200)
    if kind == 2:

        def note(answer: Answer) -> None:
            one.deliveries |= {delivery["id"]: webhook for delivery in answer.body}

        return Request("listWebhookDeliveries", one.admin, "GET", f"{path}/deliveries", expect=200, on_success=note)
    if kind == 3:
        return Request("listWebhooks", one.admin, "GET", "/webhooks", expect=200)
    if kind == 4:
        return Request("readWebhook", one.admin, "GET", path, expect=200)

    def remember(_: Answer) -> None:
        del one.webhooks[webhook]
        one.deliveries = {key: other for key, other in one.deliveries.items() if other != webhook}

    return Request("deleteWebhook", one.admin, "DELETE", path, expect=204, on_success=remember)


@action(weight=1)
def replay_delivery(world: World, pick: Pick) -> Request | None:
    """Of a webhook that is enabled, or of one that is not."""
    found = [(one, key) for one in world.owners + world.traders for key in one.deliveries]
    if not found:
        return None
    one, delivery = pick.of(found)
    webhook = one.deliveries[delivery]
    path = f"/webhooks/{webhook}/deliveries/{delivery}/replay"
    expect: Any = (409, "webhook-disabled") if one.webhooks[webhook].get("enabled") is False else (201, 202)
    return Request("replayWebhookDelivery", one.admin, "POST", path, expect=expect)


@action(weight=1)
def switch_webhook(world: World, pick: Pick) -> Request | None:
    found = [(one, webhook) for one in world.owners + world.traders for webhook in one.webhooks]
    if not found:
        return None
    one, webhook = pick.of(found)
    enabled = pick.chance(50)

    def remember(answer: Answer) -> None:
        assert answer.body["enabled"] == enabled, f"enabled {enabled}, not {answer.body['enabled']}"
        one.webhooks[webhook]["enabled"] = enabled

    path = f"/webhooks/{webhook}"
    return Request("updateWebhook", one.admin, "PATCH", path, {"enabled": enabled}, expect=200, on_success=remember)
