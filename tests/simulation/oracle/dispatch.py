"""What a battery's dispatch must keep (contract 12): limits, a store that follows from it, fair parts of a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.simulation.market import QUARTER, from_text, quarter_after, quarter_of, start_of_quarter
from tests.simulation.model import Battery, Parameters, World
from tests.simulation.oracle.availability import find_available, parameters_at
from tests.simulation.oracle.energy import is_activated
from tests.simulation.oracle.netting import sum_sides

LONGEST_GATE = timedelta(hours=1)
SLACK_KW = 1e-3
SLACK_PERCENT = 0.02
HOURS = 0.25
DAY = 96
FAIR_SHARE = 0.1
"""How far discharged energy may be from the fair part, where nothing failed."""
LEVELLED_SHARE = 0.1
"""Of the energy a battery has promised: what levelling may move in a day besides."""


def find_broken_limit(world: World, battery: Battery, points: Sequence[dict[str, Any]]) -> str | None:
    """The first quarter-hour beyond what the battery had when its gate closed, or whose store does not follow."""
    now, available_in = quarter_of(world.now), find_available(battery)
    quarters = [quarter_of(from_text(point["time"])) for point in points]
    known_from = None if battery.changed_at is None else quarter_after(battery.changed_at + LONGEST_GATE)
    for quarter, point in zip(quarters, points, strict=True):
        rated, available = available_in(quarter)
        is_known = known_from is None or known_from <= quarter
        most = available if is_known and quarter <= now else rated
        world.compared["limits of dispatch"] += bool(point["power"])
        if not -float(most.charge) - SLACK_KW <= point["power"] <= float(most.discharge) + SLACK_KW:
            bounds = f"{-float(most.charge)} and {float(most.discharge)}"
            return f"power between {bounds} at {point['time']}, not {point['power']}"
    if battery.samples.get("state_of_charge") or _is_called(world, battery):
        return None  # more is known of its store than its dispatch
    for (quarter, before), (next_quarter, after) in pairwise(zip(quarters, points, strict=True)):
        start = start_of_quarter(quarter)
        found = parameters_at(battery, start)
        # What closed before a change of parameters is as it was planned.
        around = (start - LONGEST_GATE - QUARTER, start + 2 * QUARTER)
        is_next = next_quarter == quarter + 1 and all(parameters_at(battery, one) == found for one in around)
        if next_quarter <= now and is_next and not _follows(world, found, before, after):
            return f"a store after {before} that follows from it, not {after['stateOfChargePercentage']} %"
    return None


def _follows(world: World, found: Parameters, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """E' = E + Δt·(charge·η_c − discharge/η_d)."""
    power = before["power"]
    world.compared["store of a battery"] += bool(power)
    flow = -power * float(found.charge_efficiency) if power < 0 else -power / float(found.discharge_efficiency)
    expected = before["stateOfChargePercentage"] + 100 * HOURS * flow / float(found.energy)
    return bool(abs(expected - after["stateOfChargePercentage"]) <= SLACK_PERCENT)


def _is_called(world: World, battery: Battery) -> bool:
    """Whether balancing energy of a virtual asset behind it was settled."""
    behind = [one for one in world.virtuals.values() if any(name == battery.name for name, _ in one.backing)]
    return any(is_activated(world, one) for one in behind)


def find_unfair_day(world: World, zone: str, done: dict[str, dict[int, float]], first: int, end: int) -> str | None:
    """Over a day of a zone in which nothing was netted and nothing failed: the battery whose discharged energy is far
    from Σ share × what its virtual assets discharged. `done` has kW by battery's name and quarter-hour.

    Where a battery came to back another asset, or no longer backs one, the zone's drift is shared anew first.
    """
    sides = [sum_sides(world, zone, quarter) for quarter in range(first, end)]
    if any(exported and imported for exported, imported in sides):
        return None
    if len(done) < 2 or any(_is_new_in_zone(world, name, first, end) for name in done):
        return None
    for name, powers in done.items():
        fair, promised = Fraction(0), Fraction(0)
        for virtual in world.virtuals.values():
            share = sum((part for other, part in virtual.backing if other == name), Fraction(0))
            sold = [virtual.schedule.get(quarter, Fraction(0)) for quarter in range(first, end)]
            fair += share * sum((power for power in sold if power > 0), Fraction(0)) * Fraction(1, 4)
            promised += share * virtual.energy
        given = sum(max(powers.get(quarter, 0.0), 0.0) for quarter in range(first, end)) * HOURS
        world.compared["fair parts"] += fair > 0
        allowed = FAIR_SHARE * float(fair) + LEVELLED_SHARE * float(promised) + 1
        if abs(given - float(fair)) > allowed:
            return f"{name} discharges {float(fair)} kWh, its fair part, give or take {allowed:.0f}, not {given:.0f}"
    return None


def _is_new_in_zone(world: World, name: str, first: int, end: int) -> bool:
    """Whether the life of a virtual asset behind which it stands begins or ends in these days, or the day before."""
    behind = [one for one in world.virtuals.values() if any(other == name for other, _ in one.backing)]
    return any(first - DAY <= edge < end for one in behind for edge in (one.first, one.end))
