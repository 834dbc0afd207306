"""Netting (contract 12): opposite powers of a zone's virtual assets, each asset's part pro rata of its side."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction

from tests.simulation.market import quarter_after, quarter_of
from tests.simulation.model import VirtualAsset, World
from tests.simulation.oracle.energy import is_plain

MWH_OF_KW_QUARTER = Fraction(1, 4000)
LONGEST_GATE = timedelta(hours=1)


def net_off(world: World, virtual: VirtualAsset, quarter: int) -> Fraction:
    """MWh of the asset's schedule that met opposite ones, positive for exporters."""
    powers = {
        one.id: one.schedule.get(quarter, Fraction(0))
        for one in world.virtuals.values()
        if one.zone == virtual.zone and one.first <= quarter < one.end
    }
    exported = sum((power for power in powers.values() if power > 0), Fraction(0))
    imported = sum((-power for power in powers.values() if power < 0), Fraction(0))
    own = powers.get(virtual.id, Fraction(0))
    side = exported if own > 0 else imported
    return own * min(exported, imported) / side * MWH_OF_KW_QUARTER if side else Fraction(0)


def find_netted_volume(world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> Fraction | None:
    """MWh of a bucket: what was recorded, else what was netted at gates that have closed; None where that is open."""
    is_known = is_zone_plain(world, virtual.zone)
    now, closed = quarter_of(world.now), quarter_of(world.now + LONGEST_GATE)
    total = Fraction(0)
    for quarter in range(max(virtual.first, quarter_of(start)), min(virtual.end, quarter_after(end))):
        recorded = world.facts.net_off.get((virtual.id, quarter))
        if recorded is not None:
            total += Fraction(str(recorded["volume"]))
        elif not is_known:
            return None
        elif quarter <= closed:
            netted = net_off(world, virtual, quarter)
            if netted and quarter >= now:
                return None
            total += netted
    return total


def is_zone_plain(world: World, zone: str) -> bool:
    """Whether nothing but schedules moves any virtual asset of a zone, and no battery's store was measured."""
    if any(one.winner is not None and one.virtual is None for one in world.auctions.values()):
        return False
    if any(one.zone == zone and one.samples.get("state_of_charge") for one in world.batteries.values()):
        return False
    return all(is_plain(world, one) for one in world.virtuals.values() if one.zone == zone)


def sum_sides(world: World, zone: str, quarter: int) -> tuple[Fraction, Fraction]:
    """kW that a zone's virtual assets are to export and to import."""
    within = [one for one in world.virtuals.values() if one.zone == zone and one.first <= quarter < one.end]
    powers = [one.schedule.get(quarter, Fraction(0)) for one in within]
    return sum((one for one in powers if one > 0), Fraction(0)), sum((-one for one in powers if one < 0), Fraction(0))
