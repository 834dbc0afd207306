"""Owners: what is missing of a battery, announced, moved and cancelled."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, exact, next_open_quarter, on_battery, pick_window
from tests.simulation.actors.batteries import disturb
from tests.simulation.actors.books import rooms_met
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    from_text,
    quarter_after,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import Battery, Outage, Told, World
from tests.simulation.oracle.announced import may_be_announced
from tests.simulation.oracle.availability import Amounts, highest_between, lowest_between
from tests.simulation.oracle.book import SLACK
from tests.simulation.oracle.losses import find_losers, preview_loss
from tests.simulation.oracle.shares import available_fraction
from tests.simulation.steps import Pick

KINDS = ("MAINTENANCE", "OUTAGE", "REDISPATCH", "GRID_CONSTRAINT", "CURTAILMENT", "TESTING", "COMMISSIONING", "OTHER")


def choose_outage(world: World, pick: Pick, battery: Battery) -> tuple[dict[str, Any], bool]:
    """A body, and whether it lies within what is rated: at every moment, or at none."""
    first, end = pick_window(world, pick, -1, 4)
    start, stop = start_of_quarter(first), start_of_quarter(end)
    if pick.chance(20):
        start, stop = start + timedelta(minutes=pick.between(1, 14)), stop + timedelta(minutes=pick.between(1, 14))
    part = Fraction(pick.one_of(10, 5, 2, 10, 0, 11), 10)
    rated = (lowest_between if part <= 1 else highest_between)(battery, start, stop)
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


def as_outage(world: World, body: dict[str, Any]) -> Outage:
    power = body["volume"]["powerCapacity"]
    return Outage(
        body["id"],
        from_text(body["start"]),
        from_text(body["end"]),
        exact(power["charge"]),
        exact(power["discharge"]),
        exact(body["volume"]["energyCapacity"]),
        world.now,
    )


def remember_outage(world: World, battery: Battery, body: dict[str, Any]) -> None:
    world.note_outages(battery)
    battery.outages[body["id"]] = as_outage(world, body)
    disturb(world, battery)


def list_left(world: World, battery: Battery, first: int, end: int) -> dict[str, dict[int, Amounts]]:
    """Of virtual assets that a battery backs, by name: what each has left at some moments whose gate is open."""
    found = {}
    for virtual in world.virtuals.values():
        low, high = max(first, virtual.first, next_open_quarter(world, virtual.gate_s)), min(end, virtual.end)
        if low < high and any(name == battery.name for name, _ in virtual.backing):
            chosen = sorted({low, (low + high) // 2, high - 1})
            found[virtual.name] = {quarter: available_fraction(world, virtual, quarter) for quarter in chosen}
    return found


def tell_holders(world: World, battery: Battery, first: int, end: int, before: dict[str, dict[int, Amounts]]) -> None:
    """Whoever holds a virtual asset of which another part is left than before has an event that says how much."""
    for name, now in list_left(world, battery, first, end).items():
        changed = {
            quarter: (left.charge, left.discharge, left.energy)
            for quarter, left in now.items()
            if before.get(name, {}).get(quarter, left) != left
        }
        if changed:
            world.told.append(Told(world.virtuals[name].id, changed))


def _compare_conflicts(world: World, battery: Battery, answer: Answer, first: int, end: int) -> None:
    """Everyone who loses something is named, and no holder of a virtual asset or an auction who does not; nobody does
    by an outage that is over."""
    is_over = from_text(answer.body["end"]) <= world.now
    due = set() if is_over else find_losers(world, battery, max(first, quarter_of(world.now)), end)
    said = {(one["kind"], one["id"]) for one in answer.body["conflicts"] if "id" in one}
    world.compared["conflicts"] += bool(due)
    assert due <= said, f"conflicts of {due - said} named"
    unknown = {one.id for one in world.auctions.values() if one.winner is not None and one.virtual is None}
    wrong = {(kind, name) for kind, name in said - due if kind in ("VIRTUAL_ASSET", "AUCTION") and name not in unknown}
    assert not wrong or unknown, f"no conflict of {wrong}, who lose nothing"


@on_battery(weight=8)
def report_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    body, fits = choose_outage(world, pick, battery)
    if battery.notifications and pick.chance(30):
        body["exchangeNotificationIds"] = [pick.of(list(battery.notifications))]
    return outage_request(world, battery, body, fits=fits)


def outage_request(world: World, battery: Battery, body: dict[str, Any], *, fits: bool) -> Request:
    first, end = quarter_of(from_text(body["start"])), quarter_after(from_text(body["end"]))
    path = f"{battery.path}/unavailability"
    before = list_left(world, battery, first, end)

    def remember(answer: Answer) -> None:
        remember_outage(world, battery, answer.body)
        tell_holders(world, battery, first, end, before)

    return Request(
        "createUnavailability",
        battery.owner.engineer,
        "POST",
        path,
        body,
        expect=201 if fits else 422,
        on_success=remember,
        check=lambda answer: _compare_conflicts(world, battery, answer, first, end),
        met=tuple(f"outage × {room}" for room in rooms_met(battery, first, end, world)),
    )


@on_battery(weight=2)
def preview_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    body, fits = choose_outage(world, pick, battery)
    path = f"{battery.path}/unavailability-previews"
    first, end = quarter_of(from_text(body["start"])), quarter_after(from_text(body["end"]))

    def check(answer: Answer) -> None:
        expected = preview_loss(world, battery, as_outage(world, {**body, "id": "previewed"}), first, end)
        world.compared["previewed losses"] += bool(expected.cut)
        cut, free = (exact(answer.body[name]) for name in ("cut", "free"))
        assert abs(cut - expected.cut) <= SLACK, f"{float(expected.cut)} kW cut, not {float(cut)}"
        frees = sorted(map(float, expected.free))
        assert any(abs(free - one) <= SLACK for one in expected.free), f"{frees} kW of free capacity, not {float(free)}"

    by, expect = battery.owner.engineer, 200 if fits else 422
    return Request("previewUnavailability", by, "POST", path, body, expect=expect, check=check)


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
    first, last = quarter_of(min(start, outage.start)), quarter_after(max(end, outage.end))
    before = list_left(world, battery, first, last)

    def remember(answer: Answer) -> None:
        remember_outage(world, battery, answer.body)
        moved = battery.outages[outage.id]
        if outage.start <= moved.start and moved.end <= outage.end:  # nothing is missing that was not
            moved.recorded_at = outage.recorded_at
        battery.is_rewritten |= is_moved and (may_be_announced(outage) or may_be_announced(moved))
        tell_holders(world, battery, first, last, before)
        world.touch([(battery.name, Fraction(1))], first, last)

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


@action(weight=4)
def cancel_outage(world: World, pick: Pick) -> Request | None:
    """Mostly one that still takes something of a virtual asset."""
    listed = [(battery, outage) for battery in world.batteries.values() for outage in battery.outages]
    touching = [one for one in listed if _touches_virtual(world, *one)]
    if not listed:
        return None
    battery, outage = pick.of(touching if touching and pick.chance(80) else listed)
    first, end = quarter_of(battery.outages[outage].start), quarter_after(battery.outages[outage].end)
    before = list_left(world, battery, first, end)

    def remember(_: Answer) -> None:
        world.note_outages(battery)
        battery.is_rewritten |= may_be_announced(battery.outages.pop(outage))
        disturb(world, battery)
        tell_holders(world, battery, first, end, before)
        world.touch([(battery.name, Fraction(1))], first, end)

    path = f"{battery.path}/unavailability/{outage}"
    return Request("cancelUnavailability", battery.owner.engineer, "DELETE", path, expect=204, on_success=remember)


def _touches_virtual(world: World, battery: Battery, outage: str) -> bool:
    first, end = quarter_of(battery.outages[outage].start), quarter_of(battery.outages[outage].end)
    first = max(first, quarter_of(world.now) + 2)
    return any(
        max(first, virtual.first) < min(end, virtual.end) and any(name == battery.name for name, _ in virtual.backing)
        for virtual in world.virtuals.values()
    )


@on_battery(weight=2)
def list_outages(world: World, pick: Pick, battery: Battery) -> Request | None:
    if battery.outages and pick.chance(50):
        path = f"{battery.path}/unavailability/{pick.of(list(battery.outages))}"
        return Request("readUnavailability", battery.owner.viewer, "GET", path, expect=200)
    path = f"{battery.path}/unavailability"
    return Request("listUnavailabilities", battery.owner.viewer, "GET", path, expect=200)
