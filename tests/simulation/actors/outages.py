"""Owners: what is missing of a battery, announced, moved and cancelled."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import exact, on_battery, pick_window
from tests.simulation.actors.batteries import disturb
from tests.simulation.actors.books import rooms_met
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    from_text,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import Battery, Outage, World
from tests.simulation.oracle.availability import lowest_between
from tests.simulation.oracle.shares import left_of
from tests.simulation.steps import Pick

KINDS = ("MAINTENANCE", "OUTAGE", "REDISPATCH", "GRID_CONSTRAINT", "CURTAILMENT", "TESTING", "COMMISSIONING", "OTHER")


def choose_outage(world: World, pick: Pick, battery: Battery) -> tuple[dict[str, Any], bool]:
    """A body, and whether it lies within what is rated at every moment."""
    first, end = pick_window(world, pick, -1, 4)
    start, stop = start_of_quarter(first), start_of_quarter(end)
    if pick.chance(20):
        start, stop = start + timedelta(minutes=pick.between(1, 14)), stop + timedelta(minutes=pick.between(1, 14))
    rated = lowest_between(battery, start, stop)
    part = Fraction(pick.one_of(10, 5, 2, 10, 0, 11), 10)
    energy_part = Fraction(pick.one_of(0, 5, 10, 2), 10)
    volume = {
        "energyCapacity": float(rated.energy * energy_part),
        "powerCapacity": {"charge": float(rated.charge * part), "discharge": float(rated.discharge * part)},
    }
    body = {
        "description": f"Outage {world.number()}",
        "type": pick.of(KINDS),
        "start": to_text(start),
        "end": to_text(stop),
        "volume": volume,
    }
    return body, part <= 1


def remember_outage(world: World, battery: Battery, body: dict[str, Any]) -> None:
    power = body["volume"]["powerCapacity"]
    battery.outages[body["id"]] = Outage(
        body["id"],
        from_text(body["start"]),
        from_text(body["end"]),
        exact(power["charge"]),
        exact(power["discharge"]),
        exact(body["volume"]["energyCapacity"]),
        world.now,
    )
    disturb(world, battery)


def available_parts(world: World, battery: Battery, first: int, end: int) -> dict[str, Fraction]:
    """Of virtual assets that a battery backs: how much of each is left at the worst of some moments to come."""
    now, found = quarter_of(world.now) + 1, {}
    for virtual in world.virtuals.values():
        low, high = max(first, virtual.first, now), min(end, virtual.end)
        if low < high and any(name == battery.name for name, _ in virtual.backing):
            lefts = [left_of(world, virtual.backing, quarter) for quarter in {low, (low + high) // 2, high - 1}]
            found[virtual.name] = min(min(one.charge, one.discharge, one.energy) for one in lefts)
    return found


@on_battery(weight=8)
def report_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    body, fits = choose_outage(world, pick, battery)
    if battery.notifications and pick.chance(30):
        body["exchangeNotificationIds"] = [pick.of(list(battery.notifications))]
    return outage_request(world, battery, body, fits=fits)


def outage_request(world: World, battery: Battery, body: dict[str, Any], *, fits: bool) -> Request:
    first, end = quarter_of(from_text(body["start"])), quarter_of(from_text(body["end"])) + 1
    path = f"{battery.path}/unavailability"
    whole = available_parts(world, battery, first, end)

    def remember(answer: Answer) -> None:
        remember_outage(world, battery, answer.body)
        for name, part in available_parts(world, battery, first, end).items():
            if part < whole[name]:
                world.due_events.add((world.virtuals[name].holder.name, "virtual-asset.availability-changed"))

    return Request(
        "createUnavailability",
        battery.owner.engineer,
        "POST",
        path,
        body,
        expect=201 if fits else 422,
        on_success=remember,
        met=tuple(f"outage × {room}" for room in rooms_met(battery, first, end, world)),
    )


@on_battery(weight=2)
def preview_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    body, fits = choose_outage(world, pick, battery)
    path = f"{battery.path}/unavailability-previews"
    return Request("previewUnavailability", battery.owner.engineer, "POST", path, body, expect=200 if fits else 422)


@on_battery(weight=4)
def move_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    if not battery.outages:
        return None
    outage = pick.of(list(battery.outages.values()))
    body: dict[str, Any] = {}
    if pick.chance(50):
        body["end"] = to_text(outage.end + timedelta(minutes=pick.between(-120, 240, 15)))
    if pick.chance(40):
        body["start"] = to_text(outage.start + timedelta(minutes=pick.between(-120, 120, 15)))
    if not body:
        body["description"] = f"Moved {world.number()}"
    start, end = from_text(body.get("start", to_text(outage.start))), from_text(body.get("end", to_text(outage.end)))
    is_moved = (start, end) != (outage.start, outage.end)
    rated = lowest_between(battery, start, end) if start < end else None
    fits = rated is not None and (
        outage.charge <= rated.charge and outage.discharge <= rated.discharge and outage.energy <= rated.energy
    )
    expect = 400 if start >= end else 200 if fits else (200, 422)
    path = f"{battery.path}/unavailability/{outage.id}"

    def remember(answer: Answer) -> None:
        remember_outage(world, battery, answer.body)
        battery.is_rewritten |= is_moved

    return Request(
        "updateUnavailability",
        battery.owner.engineer,
        "PATCH",
        path,
        body,
        expect=expect,
        on_success=remember,
        causes=((battery.owner.name, "unavailability.changed", ""),) if is_moved else (),
    )


@on_battery(weight=2)
def cancel_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    if not battery.outages:
        return None
    outage = pick.of(list(battery.outages))

    def remember(_: Answer) -> None:
        del battery.outages[outage]
        battery.is_rewritten = True
        disturb(world, battery)

    path = f"{battery.path}/unavailability/{outage}"
    return Request("cancelUnavailability", battery.owner.engineer, "DELETE", path, expect=204, on_success=remember)


@on_battery(weight=2)
def list_outages(world: World, pick: Pick, battery: Battery) -> Request | None:
    if battery.outages and pick.chance(50):
        path = f"{battery.path}/unavailability/{pick.of(list(battery.outages))}"
        return Request("readUnavailability", battery.owner.viewer, "GET", path, expect=200)
    path = f"{battery.path}/unavailability"
    return Request("listUnavailabilities", battery.owner.viewer, "GET", path, expect=200)
