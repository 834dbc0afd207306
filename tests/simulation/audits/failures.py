"""Batteries that failed: their owners' imbalance, and who is paid for standing in, of zones that can be recomputed."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import exact
from tests.simulation.actors.delivered import dispatch_request
from tests.simulation.actors.statement_lines import holder_request
from tests.simulation.actors.stores import adjustments_request
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.market import from_text, quarter_of
from tests.simulation.model import Battery, VirtualAsset
from tests.simulation.oracle.announced import find_followed
from tests.simulation.oracle.energy import find_store
from tests.simulation.oracle.failures import Failure, ZoneQuarter, find_failure, find_owed, is_zone_simple
from tests.simulation.oracle.payments import CENT, SLACK

if TYPE_CHECKING:
    from tests.simulation.life import Life

ALL = 1000
Failures = dict[str, dict[int, Failure]]
"""By zone, where all of it is known, and quarter-hour."""
Powers = dict[int, float]


def sum_line(answer: Answer, name: str) -> Fraction:
    return sum((exact(line["amount"]) for line in answer.body["lines"] if line["line"] == name), Fraction(0))


async def find_failures(life: Life, first: int, end: int) -> Failures:
    """Of zones of which a battery has, or had, an outage."""
    world, found = life.world, {}
    for zone in {one.zone for one in world.batteries.values() if one.outages or one.past}:
        quarters = await _read_quarters(life, zone, first, end) if is_zone_simple(world, zone) else None
        if quarters is not None:
            found[zone] = {one.quarter: find_failure(world, zone, one) for one in quarters}
    return found


async def _read_quarters(life: Life, zone: str, first: int, end: int) -> list[ZoneQuarter] | None:
    """None where there is more than outages to what a virtual asset was cut to."""
    world = life.world
    behind = [one for one in world.virtuals.values() if one.zone == zone and one.first < end and first < one.end]
    followed, adjusted, stores = {}, {}, {}
    for virtual in behind:
        powers, cuts = find_followed(world, virtual, end), await _read_cuts(life, virtual)
        if powers is None or cuts is None:
            return None
        followed[virtual.name], adjusted[virtual.name] = powers, cuts
        stores[virtual.name] = find_store(virtual, powers)
    given = {one.name: await _read_given(life, one, first, end) for one in world.batteries.values() if one.zone == zone}
    found = []
    for quarter in range(first, end):
        alive = [one.name for one in behind if one.first <= quarter < one.end]
        counted = {name: float(followed[name][quarter]) for name in alive}
        undelivered = {name: counted[name] - adjusted[name].get(quarter, counted[name]) for name in alive}
        stored = {name: float(stores[name][quarter]) for name in alive}
        given_now = {name: powers.get(quarter, 0.0) for name, powers in given.items()}
        found.append(ZoneQuarter(quarter, counted, undelivered, stored, given_now))
    return found


async def _read_cuts(life: Life, virtual: VirtualAsset) -> Powers | None:
    """kW after all cuts, in quarter-hours that were cut."""
    rows: list[dict[str, Any]] = (await life.ask(adjustments_request(life.world, virtual))).body
    if len(rows) == ALL:
        return None
    return {quarter_of(from_text(cut["timestamp"])): float(cut["adjustedSchedule"]) for cut in rows}


async def _read_given(life: Life, battery: Battery, first: int, end: int) -> Powers:
    points = (await life.ask(dispatch_request(life.world, battery, first, end))).body["dispatch"]
    return {
        quarter_of(from_text(point["time"])): sum(part["power"] for part in point["parts"] if part["kind"] == "VIRTUAL")
        for point in points
    }


def list_missed(failures: Failures, battery: Battery) -> Powers | None:
    """kW of a battery by quarter-hour; None where that is not known."""
    known = failures.get(battery.zone)
    return None if known is None else {quarter: one.missed.get(battery.name, 0.0) for quarter, one in known.items()}


async def compare_availability(life: Life, failures: Failures, first: int, end: int) -> None:
    """The holder is paid for what was not there, less what is paid to those who stood in."""
    for virtual in life.world.virtuals.values():
        if virtual.zone not in failures or virtual.end <= first or end <= virtual.first:
            continue
        owed, substituted = _find_payments(life, failures, virtual, first, end)
        expected = sum(owed.values(), Fraction(0)) - sum(substituted.values(), Fraction(0))
        request = holder_request(life.world, virtual, first, end, "daily")
        answer = await life.ask(request)
        life.world.compared["AVAILABILITY less SUBSTITUTION"] += bool(substituted)
        said = sum_line(answer, "AVAILABILITY")
        if abs(said - expected) > _find_slack(len(owed), first, end):
            error = f"AVAILABILITY of {float(expected)}, not {float(said)}"
            raise Finding("substitution", error, request, answer)


def compare_substitution(
    life: Life, failures: Failures, battery: Battery, window: tuple[int, int], said: tuple[Request, Answer]
) -> None:
    """What the owner of a battery that stood in is paid, and that of a failed one pays."""
    if battery.zone not in failures:
        return
    expected, count = Fraction(0), 0
    for virtual in (one for one in life.world.virtuals.values() if one.zone == battery.zone):
        _, substituted = _find_payments(life, failures, virtual, *window)
        for (failed, helper), amount in substituted.items():
            count += battery.name in (failed, helper)
            expected += amount * ((helper == battery.name) - (failed == battery.name))
    life.world.compared["SUBSTITUTION of an owner"] += bool(expected)
    paid = sum_line(said[1], "SUBSTITUTION")
    if abs(paid - expected) > _find_slack(count, *window):
        raise Finding("substitution", f"SUBSTITUTION of {float(expected)}, not {float(paid)}", *said)


def _find_slack(pairs: int, first: int, end: int) -> Fraction:
    """Cents are rounded by market day."""
    return CENT * ((end - first) // 96 + 2) * max(1, pairs) + SLACK


def _find_payments(
    life: Life, failures: Failures, virtual: VirtualAsset, first: int, end: int
) -> tuple[dict[str, Fraction], dict[tuple[str, str], Fraction]]:
    """Euros that owners owe by battery, and what of them goes to which battery that stood in."""
    owed: dict[str, Fraction] = defaultdict(Fraction)
    substituted: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for (name, quarter), amount in find_owed(life.world, virtual, first, end).items():
        owed[name] += amount
        known = failures[virtual.zone][quarter]
        for (failed, helper), power in known.taken_over.items():
            if failed == name:
                substituted[failed, helper] += amount * Fraction(min(1.0, power / known.short[failed]))
    return owed, substituted
