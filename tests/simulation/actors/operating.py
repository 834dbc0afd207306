"""Everything around: organisations and their people, keys, webhooks, logbooks, market messages, metadata, telemetry."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.simulation.actors.acting import action, as_window, pick_battery, pick_window
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.market import from_text, to_text
from tests.simulation.model import Battery, Member, World
from tests.simulation.steps import Pick

PASSWORD = "harbour-spindle-ochre-71"
SIGNALS = ("active_power", "state_of_charge", "available_energy", "temperature")
METADATA: dict[str, dict[str, Any]] = {
    "grid": {"dso": "Netz Nord"},
    "site": {"coordinates": {"latitude": 53.5, "longitude": 9.9}},
    "technical": {"manufacturer": "Voltwerk"},
    "contract": {"extra": {"insurer": "Nordstern"}},
    "market": {"acerCode": "A0000000X.DE"},
}


# --- organisations and people ----------------------------------------------------------------------------------------


@action(weight=1)
def read_organisations(world: World, pick: Pick) -> Request | None:
    kind, one = pick.below(6), pick.of(world.organisations)
    if kind == 0:
        return Request("listOrganisations", world.operator.admin, "GET", "/organisations", expect=200)
    if kind == 1:
        return Request("readMe", one.viewer, "GET", "/auth/me", expect=200)
    if kind == 2:
        return Request("listAuditLog", one.admin, "GET", "/audit-log", expect=200)
    if kind == 3:
        return Request("listApiKeys", one.admin, "GET", "/auth/api-keys", expect=200)
    path = f"/organisations/{one.id}"
    if kind == 4:
        return Request("listMembers", one.admin, "GET", f"{path}/members", expect=200)
    return Request("readOrganisation", one.viewer, "GET", path, expect=200)


@action(weight=1)
def new_organisation(world: World, pick: Pick) -> Request | None:
    body = {"name": f"Organisation {world.number()}", "kind": "PARTICIPANT"}
    return Request("createOrganisation", world.operator.admin, "POST", "/organisations", body, expect=201)


@action(weight=1)
def rename_organisation(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    body = {"name": f"{one.name} {world.number()}"}
    return Request("updateOrganisation", one.admin, "PATCH", f"/organisations/{one.id}", body, expect=200)


@action(weight=1)
def invite(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    path = f"/organisations/{one.id}/invitations"
    if one.invitations and pick.chance(40):
        return Request("listInvitations", one.admin, "GET", path, expect=200)
    body = {"email": f"member{world.number()}@example.org", "role": pick.one_of("VIEWER", "TRADER", "ENGINEER")}

    def remember(answer: Answer) -> None:
        one.invitations[answer.body["id"]] = (answer.body["token"], body["role"])

    return Request("createInvitation", one.admin, "POST", path, body, expect=201, on_success=remember)


@action(weight=1)
def revoke_invitation(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if not one.invitations:
        return None
    invitation = pick.of(list(one.invitations))

    def remember(_: Answer) -> None:
        del one.invitations[invitation]

    path = f"/organisations/{one.id}/invitations/{invitation}"
    return Request("revokeInvitation", one.admin, "DELETE", path, expect=204, on_success=remember)


@action(weight=1)
def accept_invitation(world: World, pick: Pick) -> Request | None:
    """Seldom: a password is slow to hash."""
    one = pick.of(world.owners + world.traders)
    if not one.invitations or len(one.members) > 1:
        return None
    invitation, (token, role) = pick.of(list(one.invitations.items()))
    name = f"member{world.number()}"

    def remember(answer: Answer) -> None:
        del one.invitations[invitation]
        one.members.append(Member(answer.body["id"], f"{name}@example.org", PASSWORD, role))

    body = {"token": token, "username": f"{name}@example.org", "password": PASSWORD, "displayName": name}
    path = "/auth/public/invitations/accept"
    return Request("acceptInvitation", NIL_ID, "POST", path, body, on_success=remember)


NIL_ID = Person("nobody", "operator", "NONE", "")


@action(weight=1)
def make_key(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    body = {"name": f"Key {world.number()}", "permissions": ["Read:physical-assets", "Create:monitoring"]}

    def remember(answer: Answer) -> None:
        secret = next(value for name, value in answer.body.items() if name in ("key", "secret", "token"))
        one.keys[answer.body["id"]] = Person(f"{one.name}_key", one.name, "KEY", secret)

    return Request("createApiKey", one.admin, "POST", "/auth/api-keys", body, expect=201, on_success=remember)


@action(weight=1)
def use_key(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if not one.keys:
        return None
    return Request("listPhysicalAssets", pick.of(list(one.keys.values())), "GET", "/physical-assets", expect=200)


@action(weight=1)
def delete_key(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if not one.keys:
        return None
    key = pick.of(list(one.keys))

    def remember(_: Answer) -> None:
        del one.keys[key]

    return Request("deleteApiKey", one.admin, "DELETE", f"/auth/api-keys/{key}", expect=204, on_success=remember)


# --- webhooks --------------------------------------------------------------------------------------------------------


@action(weight=1)
def make_webhook(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if len(one.webhooks) > 2:
        return None
    body = {
        "url": "http://127.0.0.1:9/hook",
        "types": [pick.one_of("auction.opened", "schedule.updated", "bid.placed")],
    }

    def remember(answer: Answer) -> None:
        one.webhooks[answer.body["id"]] = body

    return Request("createWebhook", one.admin, "POST", "/webhooks", body, expect=201, on_success=remember)


@action(weight=1)
def change_webhook(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if not one.webhooks:
        return None
    webhook, kind = pick.of(list(one.webhooks)), pick.below(6)
    path = f"/webhooks/{webhook}"
    if kind == 0:
        return Request("updateWebhook", one.admin, "PATCH", path, {"description": f"{world.number()}"}, expect=200)
    if kind == 1:
        body = {"overlapSeconds": pick.between(0, 600)}
        return Request("rotateWebhookSecret", one.admin, "POST", f"{path}/secret", body, expect=200)
    if kind == 2:
        return Request("listWebhookDeliveries", one.admin, "GET", f"{path}/deliveries", expect=200)
    if kind == 3:
        return Request("listWebhooks", one.admin, "GET", "/webhooks", expect=200)
    if kind == 4:
        return Request("readWebhook", one.admin, "GET", path, expect=200)

    def remember(_: Answer) -> None:
        del one.webhooks[webhook]

    return Request("deleteWebhook", one.admin, "DELETE", path, expect=204, on_success=remember)


# --- logbook, messages, metadata -------------------------------------------------------------------------------------


@action(weight=2)
def write_logbook(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    body = {
        "title": f"Note {world.number()}",
        "type": pick.one_of("note", "inspection"),
        "start": to_text(world.now - timedelta(hours=pick.between(0, 48))),
        "description": "It hums",
        "tags": ["fan"][: pick.below(2)],
    }
    path = f"{battery.path}/logbook"

    def remember(answer: Answer) -> None:
        battery.entries.append(answer.body["id"])

    if battery.entries and pick.chance(30):
        path, name = f"{path}/{pick.of(battery.entries)}/corrections", "correctLogbookEntry"
    else:
        name = "writeLogbookEntry"
    return Request(name, battery.owner.engineer, "POST", path, body, expect=201, on_success=remember)


@action(weight=1)
def read_logbook(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    path = f"{battery.path}/logbook"
    if battery.entries and pick.chance(50):
        path = f"{path}/{pick.of(battery.entries)}"
        return Request("readLogbookEntry", battery.owner.viewer, "GET", path, expect=200)

    def check(answer: Answer) -> None:
        said = {entry["id"] for entry in answer.body}
        missing = set(battery.entries) - said
        assert not missing or len(answer.body) == 1000, f"entries {missing} in the logbook"

    query = {"limit": "1000"}
    return Request("searchLogbook", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@action(weight=2)
def publish_message(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, 0, 4)
    window = as_window(first, end)
    body: dict[str, Any] = {
        "unavailabilityType": pick.one_of("PLANNED", "UNPLANNED"),
        "eventStart": window["start"],
        "eventEnd": window["end"],
        "unavailableCapacity": 1000,
        "cause": f"Inspection {world.number()}",
    }
    if battery.outages and pick.chance(50):
        body["unavailabilityIDs"] = [pick.of(list(battery.outages))]

    def remember(answer: Answer) -> None:
        battery.notifications[answer.body["id"]] = answer.body["eventStatus"]

    path = f"{battery.path}/exchange-notifications"
    return Request("publishNotification", battery.owner.engineer, "POST", path, body, on_success=remember)


@action(weight=1)
def revise_message(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None or not battery.notifications:
        return None
    message, kind = pick.of(list(battery.notifications)), pick.below(4)
    path = f"{battery.path}/exchange-notifications/{message}"
    if kind == 0:
        return Request("readNotification", battery.owner.viewer, "GET", path, expect=200)
    if kind == 1:
        return Request("listNotifications", battery.owner.viewer, "GET", path.rpartition("/")[0], expect=200)
    if kind == 2:
        return Request(
            "readNotificationDocument", battery.owner.viewer, "GET", f"{path}/document", expect=(200, 409, 422)
        )
    body = pick.one_of({"cause": "Longer"}, {"eventStatus": "DISMISSED"}, {"unavailableCapacity": 500})
    over = battery.notifications[message] != "ACTIVE"

    def remember(answer: Answer) -> None:
        battery.notifications[message] = answer.body["eventStatus"]

    return Request(
        "reviseNotification",
        battery.owner.engineer,
        "POST",
        f"{path}/revisions",
        body,
        expect=(409, 422) if over else 201,
        on_success=remember,
    )


@action(weight=1)
def describe_battery(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    category, kind = pick.of(list(METADATA)), pick.below(4)
    path = f"{battery.path}/metadata/{category}"
    if kind == 0:
        return Request("readMetadata", battery.owner.viewer, "GET", path, expect=(200, 404))
    if kind == 1:
        return Request("readAllMetadata", battery.owner.viewer, "GET", f"{battery.path}/metadata", expect=200)
    if kind == 2:
        return Request("readPhysicalAsset", battery.owner.viewer, "GET", battery.path, expect=200)
    return Request("putMetadata", battery.owner.engineer, "PUT", path, METADATA[category], expect=200)


# --- telemetry -------------------------------------------------------------------------------------------------------


@action(weight=4)
def measure(world: World, pick: Pick) -> Request | None:
    """On time, late, with gaps, over what was there."""
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    signal = pick.of(SIGNALS)
    start = world.now.replace(second=0, microsecond=0) - timedelta(minutes=pick.between(5, 1440))
    step = pick.one_of(60, 300, 20)
    times = [start + timedelta(seconds=step * number) for number in range(pick.between(1, 40))]
    times = [moment for moment in times if moment < world.now]
    values = [float(pick.between(-4000, 4000, 250)) if signal == "active_power" else 50.0 for _ in times]
    if not times:
        return None
    points = {signal: {"time": [to_text(moment) for moment in times], "value": values}}
    kept = battery.samples.setdefault(signal, {})
    overwritten = sum(moment in kept for moment in times)

    def check(answer: Answer) -> None:
        said = answer.body
        expected = (len(times), overwritten)
        assert (said["written"], said["overwritten"]) in (expected, (len(times) - overwritten, overwritten)), (
            f"written and overwritten {expected}, not {said['written']} and {said['overwritten']}"
        )

    def remember(_: Answer) -> None:
        kept.update(zip(times, values, strict=True))

    request = Request(
        "writeDatapoints",
        battery.owner.engineer,
        "POST",
        f"/monitoring/{battery.id}/datapoints",
        points,
        expect=200,
        on_success=remember,
        check=check,
    )
    if pick.chance(20):
        request.operation, request.path, request.body = (
            "writeDatapointsOfMany",
            "/monitoring/datapoints",
            {battery.id: points},
        )
    return request


@action(weight=3)
def read_telemetry(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    kind = pick.below(6)
    path = f"/monitoring/{battery.id}"
    if kind == 0:
        return Request("listSignals", battery.owner.viewer, "GET", f"{path}/signals", expect=200)
    if kind == 1:
        return Request("readLatestDatapoints", battery.owner.viewer, "GET", f"{path}/datapoints/latest", expect=200)
    query = {"start": to_text(world.now - timedelta(days=1)), "end": to_text(world.now)}
    if kind == 2:
        return Request(
            "sumDatapoints", battery.owner.viewer, "GET", f"{path}/datapoints/sum/detailed", query=query, expect=200
        )
    if kind == 3:
        query |= {"resolution": pick.one_of("1-minute", "15-minute", "hourly", "daily")}
        return Request("readDatapoints", battery.owner.viewer, "GET", f"{path}/datapoints", query=query, expect=200)
    return raw_request(world, battery, query)


def raw_request(world: World, battery: Battery, query: dict[str, str]) -> Request:
    """Every sample as it was last written."""
    start, end = from_text(query["start"]), from_text(query["end"])

    def check(answer: Answer) -> None:
        for signal, kept in battery.samples.items():
            expected = {to_text(moment): value for moment, value in kept.items() if start <= moment < end}
            said = {point["time"]: point["value"] for point in answer.body["data"].get(signal, [])}
            assert said == expected, f"{signal}: {dict(expected.items() ^ said.items())}"

    path = f"/monitoring/{battery.id}/datapoints"
    query = {**query, "resolution": "raw"}
    return Request("readDatapoints", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)
