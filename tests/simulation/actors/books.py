"""Owners: a battery's own schedule, what is available of it, and its book."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import as_window, exact, on_battery, pick_window
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    from_text,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import Battery, World
from tests.simulation.oracle.availability import ZERO, find_available
from tests.simulation.oracle.book import SLACK, Page, find_turning_points, read_page
from tests.simulation.steps import Pick


def rooms_met(battery: Battery, first: int, end: int, world: World) -> tuple[str, ...]:
    """Which other rooms have something on a battery within a window."""
    met = set()
    for quarter in {first, (first + end) // 2, end - 1}:
        page = read_page(world, battery, quarter)
        met |= {
            name
            for name, amounts in (
                ("promise", page.promised),
                ("auction", page.offered),
                ("FCR", page.fcr),
                ("aFRR capacity", page.afrr_capacity),
                ("aFRR energy", page.afrr_energy),
                ("own schedule", page.own),
            )
            if amounts.charge or amounts.discharge
        }
        if page.available != page.rated:
            met.add("outage")
    return tuple(sorted(met))


@on_battery(weight=5)
def schedule_battery(world: World, pick: Pick, battery: Battery) -> Request | None:
    """Some quarter-hours in a row; judged by the book as it would be without those."""
    first, end = pick_window(world, pick, 0, 4)
    end = min(end, first + 48)
    powers = [exact(pick.between(-4000, 4000, 500)) for _ in range(2)]
    points = {quarter: powers[(quarter - first) // 4 % 2] for quarter in range(first, end)}
    started = start_of_quarter(first) <= world.now
    expect: Any = 409 if started else _judge_own(world, battery, points)
    if battery.status != "ACTIVE":
        expect = None
    body = {"schedule": [{"time": to_text(start_of_quarter(q)), "power": float(p)} for q, p in points.items()]}

    def remember(_: Answer) -> None:
        battery.own = battery.own | points

    path = f"{battery.path}/schedule"
    return Request(
        "putPhysicalAssetSchedule",
        battery.owner.trader,
        "PUT",
        path,
        body,
        expect=expect,
        on_success=remember,
        hints=((battery.owner.name, "schedule.updated"),) if any(points.values()) else (),
        met=tuple(f"own schedule × {room}" for room in rooms_met(battery, first, end, world)),
    )


def _judge_own(world: World, battery: Battery, points: dict[int, Fraction]) -> int | tuple[int, ...]:
    before = battery.own
    taken, unavailable = False, False
    battery.own = before | points
    try:
        for quarter, power in points.items():
            page = read_page(world, battery, quarter)
            side = page.available.charge if power < 0 else page.available.discharge
            unavailable |= abs(power) > side + SLACK
            missing = page.missing
            taken |= (power < 0 and missing.charge > SLACK) or (power > 0 and missing.discharge > SLACK)
            taken |= missing.energy > SLACK
    finally:
        battery.own = before
    if unavailable:
        return (409, 422)
    return (200, 409, 422) if taken else (200, 409)


@on_battery(weight=2)
def read_schedule(world: World, pick: Pick, battery: Battery) -> Request | None:
    return own_schedule_request(world, battery, *pick_window(world, pick, -1, 3))


def own_schedule_request(world: World, battery: Battery, first: int, end: int) -> Request:
    def check(answer: Answer) -> None:
        world.compared["own schedule"] += any(point["power"] for point in answer.body["schedule"])
        for point in answer.body["schedule"]:
            power = battery.own.get(quarter_of(from_text(point["time"])), ZERO)
            assert exact(point["power"]) == power, f"own schedule at {point['time']}: {power} kW, not {point['power']}"

    path = f"{battery.path}/schedule"
    query = as_window(first, end)
    return Request("readPhysicalAssetSchedule", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@on_battery(weight=4)
def read_availability(world: World, pick: Pick, battery: Battery) -> Request | None:
    return availability_request(world, battery, *pick_window(world, pick, -1, 4))


def availability_request(world: World, battery: Battery, first: int, end: int) -> Request:
    def check(answer: Answer) -> None:
        available_in = find_available(battery)
        for point in answer.body["availability"]:
            rated, available = available_in(quarter_of(from_text(point["time"])))
            world.compared["availability"] += rated != available
            for name, expected in (
                ("ratedChargePower", rated.charge),
                ("availableChargePower", available.charge),
                ("ratedDischargePower", rated.discharge),
                ("availableDischargePower", available.discharge),
                ("ratedEnergy", rated.energy),
                ("availableEnergy", available.energy),
            ):
                said = exact(point[name])
                assert abs(said - expected) <= SLACK, f"{name} {float(expected)} at {point['time']}, not {point[name]}"

    path = f"{battery.path}/availability"
    query = as_window(first, end)
    return Request("readAvailability", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@on_battery(weight=6)
def read_commitments(world: World, pick: Pick, battery: Battery) -> Request | None:
    first, end = pick_window(world, pick, -1, 6)
    return book_request(world, battery, first, end)


def book_request(world: World, battery: Battery, first: int, end: int) -> Request:
    """A battery's book over a window, compared line by line."""
    path = f"{battery.path}/commitments"
    return Request(
        "readCommitments",
        battery.owner.viewer,
        "GET",
        path,
        query=as_window(first, end),
        expect=200,
        check=lambda answer: compare_book(world, battery, answer),
    )


def compare_book(world: World, battery: Battery, answer: Answer) -> None:
    """The book is added up anew where it may change, and nothing differs between two such quarter-hours."""
    said = answer.body["commitments"]
    if not said:
        return
    quarters = [quarter_of(from_text(line["time"])) for line in said]
    turns = set(find_turning_points(world, battery, quarters[0], quarters[-1] + 1))
    expected: dict[str, float] = {}
    for quarter, line in zip(quarters, said, strict=True):
        if quarter in turns or not expected:
            expected = show_page(read_page(world, battery, quarter))
            world.compared["book"] += expected["dischargefree"] != expected["dischargeavailable"]
        for side in ("charge", "discharge", "energy"):
            found = line[side] | line[side]["ancillary"]
            for name in LINES:
                value = expected[side + name]
                assert abs(found[name] - value) <= max(1e-6, abs(value) * 1e-9), (
                    f"book at {line['time']}: {side}/{name} is {value}, not {found[name]}"
                )


LINES = (
    "rated",
    "available",
    "promised",
    "offered",
    "ownSchedule",
    "free",
    "missing",
    "fcr",
    "afrrCapacity",
    "afrrEnergy",
)


def show_page(page: Page) -> dict[str, float]:
    """The figures of a page by side and line, worked out exactly and then as they are written."""
    amounts = (
        page.rated,
        page.available,
        page.promised,
        page.offered,
        page.own,
        page.free,
        page.missing,
        page.fcr,
        page.afrr_capacity,
        page.afrr_energy,
    )
    return {
        side + name: float(getattr(one, side))
        for name, one in zip(LINES, amounts, strict=True)
        for side in ("charge", "discharge", "energy")
    }
