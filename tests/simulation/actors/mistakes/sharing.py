"""Mistakes in what others may do with a battery, and in fleets."""

from __future__ import annotations

from tests.simulation.actors.mistakes.making import UNKNOWN, mistake, on_battery
from tests.simulation.calls import Request
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick


@on_battery(422, "owner-needs-no-grant")
def grant_to_owner(world: World, pick: Pick, battery: Battery) -> Request | None:
    path = f"{battery.path}/grants/{battery.owner.id}"
    return Request("putGrant", battery.owner.admin, "PUT", path, {"permissions": ["Read:monitoring"]})


@on_battery(422, "not-grantable")
def grant_too_much(world: World, pick: Pick, battery: Battery) -> Request | None:
    path = f"{battery.path}/grants/{pick.of(world.traders).id}"
    return Request("putGrant", battery.owner.admin, "PUT", path, {"permissions": ["Manage:organisation"]})


@mistake(409, "revenue-would-tell-price")
def grant_revenue(world: World, pick: Pick) -> Request | None:
    auctions = [one for one in world.auctions.values() if one.participants and not one.is_cancelled]
    if not auctions:
        return None
    auction = pick.of(auctions)
    battery = world.batteries[auction.backing[0][0]]
    path = f"{battery.path}/grants/{world.find_organisation(auction.participants[0]).id}"
    return Request("putGrant", battery.owner.admin, "PUT", path, {"permissions": ["Read:revenue"]})


@mistake(422, "not-assets-of-the-organisation")
def take_others_into_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    body = {"name": f"Fleet {world.number()}", "organisationID": owner.id, "physicalAssetIDs": [UNKNOWN]}
    return Request("createFleet", owner.admin, "POST", "/fleets", body)
