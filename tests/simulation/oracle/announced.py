"""What the store and the position of a virtual asset follow: its schedule after cuts that were announced (contract 3.2
and 12). Every other cut counts as delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from fractions import Fraction

from tests.simulation.market import (
    day_of_quarter,
    quarters_of_day,
    start_of_quarter,
    wall_clock,
)
from tests.simulation.model import Battery, Outage, VirtualAsset, World
from tests.simulation.oracle.availability import Amounts
from tests.simulation.oracle.energy import HOURS, find_flow, is_activated
from tests.simulation.oracle.shares import left_of

ONE, ZERO = Fraction(1), Fraction(0)
WHOLE = Amounts(ONE, ONE, ONE)
Outages = dict[str, Outage]


def find_followed(world: World, virtual: VirtualAsset, end: int) -> dict[int, Fraction] | None:
    """kW in each quarter-hour until `end`; None where that depends on more than outages.

    Announced is what was recorded before 12:00 in Berlin of the day before. Power is cut to what is left of it, then
    to the energy in reach: what is missing of the energy capacity takes its content with it, and brings it back.
    """
    batteries = [world.batteries[name] for name, _ in virtual.backing]
    if any(one.is_rewritten or one.versions[1:] or one.own for one in batteries) or virtual.has_cycle_limit:
        return None
    if not virtual.has_one_block or is_activated(world, virtual):
        return None
    if any(may_be_announced(one) for battery in batteries for one in battery.outages.values()):
        backed = {name for auction in world.auctions.values() for name, _ in auction.backing}
        if any(one.bids or one.name in backed for one in batteries):
            return None  # what was left at a gate depends on what was firm then
    left_in = find_announced_left(world, virtual)
    reached, away = virtual.initial * virtual.energy, ZERO
    before, found = ONE, {}
    for quarter in range(virtual.first, min(end, virtual.end)):
        left = left_in(quarter)
        moved = move_out_of_reach(reached, away, before, left.energy)
        reached, away, before = reached + away - moved, moved, left.energy
        power = virtual.schedule.get(quarter, ZERO)
        if power > 0:
            power = min(power, left.discharge * virtual.discharge, reached * virtual.discharge_efficiency / HOURS)
        elif power < 0:
            room = left.energy * virtual.energy - reached
            power = -min(-power, left.charge * virtual.charge, room / virtual.charge_efficiency / HOURS)
        reached += find_flow(virtual, power)
        found[quarter] = power
    return found


def move_out_of_reach(reached: Fraction, away: Fraction, before: Fraction, after: Fraction) -> Fraction:
    """What is out of reach once the available part of the energy capacity goes from one ratio to another."""
    if after < before:
        return away + (1 - after / before) * reached
    if after > before:
        return away - (after - before) / (1 - before) * away
    return away


def find_announced_left(world: World, virtual: VirtualAsset) -> Callable[[int], Amounts]:
    """As ratios, in any quarter-hour: what outages that were announced leave of a virtual asset."""
    batteries = [world.batteries[name] for name, _ in virtual.backing]
    if not any(one.outages for one in batteries):
        return lambda _: WHOLE
    found: dict[object, Amounts] = {}

    def read(quarter: int) -> Amounts:
        known = {one.name: list_announced(one, quarter) for one in batteries}
        if not any(known.values()):
            return WHOLE
        alive = [one.name for one in world.virtuals.values() if one.first <= quarter < one.end]
        key = (*alive, *(name for outages in known.values() for name in outages))
        if key not in found or any(_begins_or_ends(one, quarter) for some in known.values() for one in some.values()):
            with outages_of(world, known):
                found[key] = left_of(world, virtual.backing, quarter)
        return found[key]

    return read


def _begins_or_ends(outage: Outage, quarter: int) -> bool:
    start = start_of_quarter(quarter)
    return any(start < edge < start + timedelta(minutes=15) for edge in (outage.start, outage.end))


def list_announced(battery: Battery, quarter: int) -> Outages:
    """The outages of a battery in a quarter-hour that were announced."""
    start = start_of_quarter(quarter)
    return {
        name: one
        for name, one in battery.outages.items()
        if one.start < start + timedelta(minutes=15) and one.end > start and is_announced(one, quarter)
    }


def is_announced(outage: Outage, quarter: int) -> bool:
    noon = wall_clock(day_of_quarter(quarter) - timedelta(days=1), 12)
    return outage.recorded_at is not None and outage.recorded_at < noon


def may_be_announced(outage: Outage) -> bool:
    """Whether for any of its quarter-hours."""
    last = quarters_of_day(day_of_quarter(int(outage.end.timestamp()) // 900)).start
    return is_announced(outage, last)


@contextmanager
def outages_of(world: World, known: Mapping[str, Outages]) -> Iterator[None]:
    """As if these batteries had these outages alone."""
    before = {name: world.batteries[name].outages for name in known}
    for name, outages in known.items():
        world.batteries[name].outages = outages
    try:
        yield
    finally:
        for name, outages in before.items():
            world.batteries[name].outages = outages


def known_at(battery: Battery, moment: datetime) -> Outages:
    """The outages of a battery as they stood at a moment."""
    return next((outages for until, outages in battery.past if until > moment), battery.outages)
