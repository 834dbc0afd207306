"""Owners: batteries, their parameters and their state."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, choose_eic, exact, on_battery
from tests.simulation.actors.books import rooms_met
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    from_text,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import ZONES, Battery, Organisation, Parameters, World
from tests.simulation.steps import Pick

MAX_BATTERIES = 6


def read_parameters(body: dict[str, Any]) -> Parameters:
    """As answered; a number is taken as it is written."""
    since = body.get("validFrom")
    cycles = body.get("dailyCycleLimit")
    return Parameters(
        since=None if since is None else from_text(since),
        charge=exact(body["ratedChargePower"]),
        discharge=exact(body["ratedDischargePower"]),
        energy=exact(body["energyCapacity"]),
        charge_efficiency=exact(body["chargeEfficiency"]),
        discharge_efficiency=exact(body["dischargeEfficiency"]),
        lowest=exact(body.get("minStateOfCharge", 0)),
        highest=exact(body.get("maxStateOfCharge", 1)),
        fcr_ratio=exact(body.get("fcrLimitRatio", 0.8)),
        daily_cycles=None if cycles is None else exact(cycles),
    )


def choose_parameters(pick: Pick) -> dict[str, Any]:
    power = pick.between(4, 20, 2) * 1000
    body: dict[str, Any] = {
        "ratedChargePower": power,
        "ratedDischargePower": power + pick.one_of(0, 0, 2000),
        "energyCapacity": power * pick.one_of(2, 1, 4),
        "chargeEfficiency": pick.one_of(0.95, 0.95, 1, 0.9),
        "dischargeEfficiency": pick.one_of(0.95, 0.95, 1, 0.9),
    }
    if pick.chance(25):
        body |= {"minStateOfCharge": 0.1, "maxStateOfCharge": 0.9}
    if pick.chance(15):
        body["dailyCycleLimit"] = pick.one_of(2, 1.5, 3)
    return body


@action(weight=3)
def register_battery(world: World, pick: Pick) -> Request | None:
    if len(world.batteries) >= MAX_BATTERIES:
        return None
    owner, zone = pick.of(world.owners), pick.one_of(ZONES[0], ZONES[0], ZONES[1])
    parameters = choose_parameters(pick)
    eic = choose_eic(world.number()) if pick.chance(70) else None
    by = owner if pick.below(5) == 4 else world.operator
    return registration_request(world, owner, zone, parameters, by, eic)


def registration_request(
    world: World,
    owner: Organisation,
    zone: str,
    parameters: dict[str, Any],
    by: Organisation,
    eic: str | None = None,
) -> Request:
    name = f"battery{world.number()}"
    body: dict[str, Any] = {
        "name": name,
        "organisationID": owner.id,
        "deliveryZone": zone,
        "parameters": parameters,
    }
    if eic is not None:
        body["eicCode"] = eic

    def remember(answer: Answer) -> None:
        made = answer.body
        first = read_parameters({**made["parameters"], "validFrom": None})
        world.batteries[name] = Battery(name, made["id"], owner, zone, made["status"], [first])
        if by is world.operator:  # who registers for another is granted everything, until the owner takes it back
            world.batteries[name].grants["operator"] = ["*"]

    return Request("registerPhysicalAsset", by.admin, "POST", "/physical-assets", body, expect=201, on_success=remember)


def may_promise(battery: Battery) -> bool:
    """Whether the operator may allocate of it."""
    return bool({"*", "Update:schedules"} & set(battery.grants.get("operator", ())))


@on_battery(weight=2)
def rename_battery(world: World, pick: Pick, battery: Battery) -> Request | None:
    body = {"name": f"{battery.name} {world.number()}"}
    return Request("updatePhysicalAsset", battery.owner.engineer, "PATCH", battery.path, body, expect=200)


@on_battery(weight=1)
def retire_battery(world: World, pick: Pick, battery: Battery) -> Request | None:
    """Or take it into service again."""
    status = pick.one_of("ACTIVE", "INACTIVE", "ACTIVE")

    def remember(answer: Answer) -> None:
        battery.status = answer.body["status"]
        disturb(world, battery)

    return Request(
        "updatePhysicalAsset", battery.owner.admin, "PATCH", battery.path, {"status": status}, on_success=remember
    )


@on_battery(weight=3)
def change_parameters(world: World, pick: Pick, battery: Battery) -> Request | None:
    """Lower or higher, from a moment to come, from now, or from within a quarter-hour."""
    last = battery.versions[-1]
    factor = Fraction(pick.one_of(10, 8, 5, 12), 10)
    body: dict[str, Any] = {
        "ratedChargePower": float(last.charge * factor),
        "ratedDischargePower": float(last.discharge * factor),
        "energyCapacity": float(last.energy * factor),
        "chargeEfficiency": float(last.charge_efficiency),
        "dischargeEfficiency": float(last.discharge_efficiency),
        "minStateOfCharge": float(last.lowest),
        "maxStateOfCharge": float(last.highest),
        "fcrLimitRatio": float(last.fcr_ratio),
    }
    if last.charge * factor > 100_000 or last.charge * factor < 1000:
        return None
    if last.daily_cycles is not None:
        body["dailyCycleLimit"] = float(last.daily_cycles)
    if pick.chance(80):
        minutes = pick.between(15, 4 * 1440, 15) + pick.one_of(0, 0, 7)
        start = start_of_quarter(quarter_of(world.now))
        body["validFrom"] = to_text(start + timedelta(minutes=minutes))

    def remember(answer: Answer) -> None:
        battery.versions.append(read_parameters(answer.body))
        disturb(world, battery)

    path = f"{battery.path}/parameters"
    first = quarter_of(from_text(body["validFrom"]) if "validFrom" in body else world.now)
    return Request(
        "putParameters",
        battery.owner.engineer,
        "PUT",
        path,
        body,
        expect=200,
        on_success=remember,
        met=tuple(f"parameters × {room}" for room in rooms_met(battery, first, first + 96, world)),
    )


def disturb(world: World, battery: Battery) -> None:
    """What stands on it may be cut from now on."""
    world.note_change([(battery.name, Fraction(1))])
    for virtual in world.virtuals.values():
        if any(name == battery.name for name, _ in virtual.backing):
            virtual.is_disturbed = True


@on_battery(weight=2)
def read_parameters_history(world: World, pick: Pick, battery: Battery) -> Request | None:
    if pick.chance(50):
        return Request("readParameters", battery.owner.viewer, "GET", f"{battery.path}/parameters", expect=200)
    path = f"{battery.path}/parameters/history"
    return Request("listParametersHistory", battery.owner.viewer, "GET", path, expect=200)


@on_battery(weight=1)
def read_health(world: World, pick: Pick, battery: Battery) -> Request | None:
    return Request("readHealth", battery.owner.viewer, "GET", f"{battery.path}/health", expect=200)


def list_owned(world: World, owner: Organisation) -> list[Battery]:
    return [one for one in world.batteries.values() if one.owner is owner]


@action(weight=1)
def list_batteries(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)

    def check(answer: Answer) -> None:
        said = {one["id"] for one in answer.body}
        missing = {one.id for one in list_owned(world, owner)} - said
        assert not missing, f"the owner's batteries {missing} in the list"

    return Request("listPhysicalAssets", owner.viewer, "GET", "/physical-assets", expect=200, check=check)
