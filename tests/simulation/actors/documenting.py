"""What is written down about a battery: logbook, market messages, metadata."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.simulation.actors.acting import as_window, on_battery, pick_window
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    to_text,
)
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick

METADATA: dict[str, dict[str, Any]] = {
    "grid": {"dso": "Netz Nord"},
    "site": {"coordinates": {"latitude": 53.5, "longitude": 9.9}},
    "technical": {"manufacturer": "Voltwerk"},
    "contract": {"extra": {"insurer": "Nordstern"}},
    "market": {"acerCode": "A0000000X.DE"},
}


@on_battery(weight=2)
def write_logbook(world: World, pick: Pick, battery: Battery) -> Request | None:
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


@on_battery(weight=1)
def read_logbook(world: World, pick: Pick, battery: Battery) -> Request | None:
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


@on_battery(weight=2)
def publish_message(world: World, pick: Pick, battery: Battery) -> Request | None:
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
        battery.messages.append(answer.body["messageID"])

    path = f"{battery.path}/exchange-notifications"
    return Request("publishNotification", battery.owner.engineer, "POST", path, body, on_success=remember)


@on_battery(weight=1)
def revise_message(world: World, pick: Pick, battery: Battery) -> Request | None:
    if not battery.notifications:
        return None
    closed = [one for one, status in battery.notifications.items() if status != "ACTIVE"]
    message = pick.of(closed if closed and pick.chance(50) else list(battery.notifications))
    kind = pick.below(6)
    path = f"{battery.path}/exchange-notifications/{message}"
    if kind == 0:
        return Request("readNotification", battery.owner.viewer, "GET", path, expect=200)
    if kind == 1:
        return Request("listNotifications", battery.owner.viewer, "GET", path.rpartition("/")[0], expect=200)
    if kind == 2:
        return Request(
            "readNotificationDocument", battery.owner.viewer, "GET", f"{path}/document", expect=(200, 409, 422)
        )
    dismissed = {"eventStatus": "DISMISSED"}
    body = pick.one_of({"cause": "Longer"}, dismissed, {"unavailableCapacity": 500} if closed else dismissed)
    over = battery.notifications[message] != "ACTIVE"

    def remember(answer: Answer) -> None:
        battery.notifications[message] = answer.body["eventStatus"]

    return Request(
        "reviseNotification",
        battery.owner.engineer,
        "POST",
        f"{path}/revisions",
        body,
        expect=(409, "notification-closed") if over else 201,
        on_success=remember,
    )


@on_battery(weight=1)
def describe_battery(world: World, pick: Pick, battery: Battery) -> Request | None:
    category, kind = pick.of(list(METADATA)), pick.below(4)
    path = f"{battery.path}/metadata/{category}"
    if kind == 0:
        return Request("readMetadata", battery.owner.viewer, "GET", path, expect=(200, 404))
    if kind == 1:
        return Request("readAllMetadata", battery.owner.viewer, "GET", f"{battery.path}/metadata", expect=200)
    if kind == 2:
        return Request("readPhysicalAsset", battery.owner.viewer, "GET", battery.path, expect=200)
    return Request("putMetadata", battery.owner.engineer, "PUT", path, METADATA[category], expect=200)


def system_entries_request(battery: Battery) -> Request:
    """The platform writes one entry for each result that says something new."""

    def check(answer: Answer) -> None:
        said = sum(entry["type"] == "ANCILLARY_RESULT" for entry in answer.body)
        assert said == battery.results or len(answer.body) == 1000, f"{battery.results} entries of results, not {said}"

    path, query = f"{battery.path}/logbook", {"limit": "1000"}
    return Request("searchLogbook", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)
