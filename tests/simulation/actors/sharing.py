"""Owners: who else may do what with a battery, and fleets."""

from __future__ import annotations

from tests.simulation.actors.acting import action, as_window, on_battery
from tests.simulation.actors.batteries import list_owned
from tests.simulation.calls import Answer, Request
from tests.simulation.market import quarter_of
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick

GRANTABLE = (
    "Read:physical-assets",
    "Update:physical-assets",
    "Read:schedules",
    "Update:schedules",
    "Create:ancillary-bids",
    "Create:ancillary-results",
    "Create:unavailabilities",
    "Create:logbook",
    "Create:exchange-notifications",
    "Read:monitoring",
    "Create:monitoring",
)


@on_battery(weight=4)
def grant(world: World, pick: Pick, battery: Battery) -> Request | None:
    other = pick.of([one for one in world.organisations if one is not battery.owner])
    words = sorted({pick.of(GRANTABLE) for _ in range(pick.between(1, 4))})
    if other is world.operator:
        words = sorted({*words, pick.one_of("Update:schedules", "Update:schedules", "Read:schedules")})

    def remember(_: Answer) -> None:
        battery.grants[other.name] = words

    path = f"{battery.path}/grants/{other.id}"
    body = {"permissions": words}
    return Request("putGrant", battery.owner.admin, "PUT", path, body, expect=200, on_success=remember)


@on_battery(weight=1)
def withdraw_grant(world: World, pick: Pick, battery: Battery) -> Request | None:
    if not battery.grants:
        return None
    name = pick.of(sorted(battery.grants))

    def remember(_: Answer) -> None:
        del battery.grants[name]

    path = f"{battery.path}/grants/{world.find_organisation(name).id}"
    return Request("deleteGrant", battery.owner.admin, "DELETE", path, expect=204, on_success=remember)


NEEDED = {
    "Read:physical-assets": ("readPhysicalAsset", "{path}"),
    "Read:schedules": ("readPhysicalAssetSchedule", "{path}/schedule"),
    "Read:monitoring": ("listSignals", "/monitoring/{id}/signals"),
    "Create:unavailabilities": ("previewUnavailability", "{path}/unavailability-previews"),
    "Update:physical-assets": ("updatePhysicalAsset", "{path}"),
}
"""Operations on a battery by the permission that they need."""


@action(weight=6)
def use_grant(world: World, pick: Pick) -> Request | None:
    """By an organisation with a grant: what it covers, and what it does not."""
    others = [one for one in world.organisations if one is not world.operator]
    granted = [(battery, one) for battery in world.batteries.values() for one in others if one.name in battery.grants]
    if not granted:
        return None
    battery, one = pick.of(granted)
    word = pick.of(list(NEEDED))
    operation, path = NEEDED[word]
    path = path.format(path=battery.path, id=battery.id)
    is_granted = word in battery.grants[one.name]
    query = as_window(quarter_of(world.now), quarter_of(world.now) + 8)
    if operation == "updatePhysicalAsset":
        body = {"name": f"{battery.name} {world.number()}"}
        return Request(operation, one.admin, "PATCH", path, body, expect=200 if is_granted else 403)
    if operation == "previewUnavailability":
        volume = {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 0}}
        preview = {"description": "Inverter", "type": "OUTAGE", **query, "volume": volume}
        return Request(operation, one.admin, "POST", path, preview, expect=200 if is_granted else 403)
    query = query if operation == "readPhysicalAssetSchedule" else {}
    return Request(operation, one.admin, "GET", path, query=query, expect=200 if is_granted else 403)


@on_battery(weight=1)
def read_grants(world: World, pick: Pick, battery: Battery) -> Request | None:
    if battery.grants and pick.chance(50):
        name = pick.of(sorted(battery.grants))

        def check(answer: Answer) -> None:
            said = sorted(answer.body["permissions"])
            assert battery.grants[name] in (said, ["*"]), f"grant {battery.grants[name]}, not {said}"

        path = f"{battery.path}/grants/{world.find_organisation(name).id}"
        return Request("readGrant", battery.owner.admin, "GET", path, expect=200, check=check)
    return Request("listGrants", battery.owner.admin, "GET", f"{battery.path}/grants", expect=200)


@action(weight=1)
def make_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    free = [one.id for one in list_owned(world, owner) if not any(one.id in fleet for fleet in owner.fleets.values())]
    chosen = free[: pick.between(0, 2)]

    def remember(answer: Answer) -> None:
        owner.fleets[answer.body["id"]] = chosen

    body = {"name": f"Fleet {world.number()}", "organisationID": owner.id, "physicalAssetIDs": chosen}
    return Request("createFleet", owner.admin, "POST", "/fleets", body, expect=201, on_success=remember)


@action(weight=1)
def change_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    if not owner.fleets:
        return None
    fleet = pick.of(list(owner.fleets))
    chosen = [one.id for one in list_owned(world, owner) if pick.chance(50)]

    def remember(_: Answer) -> None:
        for other in owner.fleets:
            owner.fleets[other] = [one for one in owner.fleets[other] if one not in chosen]
        owner.fleets[fleet] = chosen

    return Request(
        "updateFleet", owner.admin, "PATCH", f"/fleets/{fleet}", {"physicalAssetIDs": chosen}, on_success=remember
    )


@action(weight=1)
def remove_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    if len(owner.fleets) < 2:
        return None
    fleet = pick.of(list(owner.fleets))

    def remember(_: Answer) -> None:
        del owner.fleets[fleet]

    return Request("deleteFleet", owner.admin, "DELETE", f"/fleets/{fleet}", expect=204, on_success=remember)


@action(weight=1)
def read_fleets(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    if owner.fleets and pick.chance(50):
        fleet = pick.of(list(owner.fleets))

        def check(answer: Answer) -> None:
            said = sorted(answer.body["physicalAssetIDs"])
            assert said == sorted(owner.fleets[fleet]), f"fleet of {owner.fleets[fleet]}, not {said}"

        return Request("readFleet", owner.viewer, "GET", f"/fleets/{fleet}", expect=200, check=check)
    return Request("listFleets", owner.viewer, "GET", "/fleets", expect=200)
