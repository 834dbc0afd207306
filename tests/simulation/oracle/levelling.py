"""Levelling (contract 12): a difference between a battery's drift and its target that nothing adds to is below a tenth
after 96 quarter-hours in which the zone's net is not zero."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.energy import find_store
from tests.simulation.oracle.netting import is_zone_plain, sum_sides

NEEDED_NETS = 96
FORESEEN = 40
"""Quarter-hours: netting to come counts already."""
LEFT = 0.1
LEAST_KWH = 40.0
SLACK_KWH = 2.0
Energies = dict[str, dict[int, float]]
"""kWh by battery's name and quarter-hour."""


@dataclass(frozen=True, slots=True)
class LevelZone:
    """Batteries alike and the virtual assets behind which they stand, from their first quarter-hour on."""

    batteries: list[Battery]
    virtuals: list[VirtualAsset]
    first: int

    def share(self, virtual: VirtualAsset, battery: Battery) -> float:
        return float(sum(share for name, share in virtual.backing if name == battery.name))


def find_level_zone(world: World, zone: str) -> LevelZone | None:
    """Where drift can be known from outside: nothing failed, nothing was measured, and losses are alike."""
    virtuals = [one for one in world.virtuals.values() if one.zone == zone]
    batteries = [one for one in world.batteries.values() if one.zone == zone]
    behind = [one for one in batteries if any(name == one.name for virtual in virtuals for name, _ in virtual.backing)]
    losses = {(one.charge_efficiency, one.discharge_efficiency) for one in virtuals}
    losses |= {(one.versions[0].charge_efficiency, one.versions[0].discharge_efficiency) for one in behind}
    is_quiet = not any(one.outages or one.versions[1:] or one.own or one.bids for one in batteries)
    if not (is_quiet and len(behind) > 1 and len(losses) == 1 and is_zone_plain(world, zone)):
        return None
    if len({one.first for one in virtuals}) > 1:
        return None
    return LevelZone(behind, virtuals, virtuals[0].first)


def list_windows(world: World, zone: str, known: LevelZone, now: int) -> list[tuple[int, int]]:
    """After each time that something was netted: the next 96 nets, where nothing is netted in them or foreseen at their
    end, and all virtual assets live."""
    end, found = min([now, *(one.end for one in known.virtuals)]), []
    start, reached, nets = known.first, 0, 0
    for quarter in range(known.first, end + FORESEEN):
        exported, imported = sum_sides(world, zone, quarter)
        if exported and imported:
            start, reached, nets = quarter + 1, 0, 0
            continue
        nets += exported != imported
        if nets == NEEDED_NETS and not reached:
            reached = quarter + 1
        if reached and quarter + 1 == reached + FORESEEN and reached <= end:
            found.append((start, reached))
    return found


def find_gaps(known: LevelZone, energies: Energies, quarter: int) -> dict[str, float]:
    """By battery: its drift less its part, by promised energy, of the zone's drift, in kWh."""
    stores = {one.name: find_store(one) for one in known.virtuals}
    drift, promised = {}, {}
    for battery in known.batteries:
        moved = sum(
            known.share(one, battery) * float(stores[one.name][quarter] - stores[one.name][known.first])
            for one in known.virtuals
        )
        held = energies[battery.name]
        drift[battery.name] = held[quarter] - held[known.first] - moved
        promised[battery.name] = sum(known.share(one, battery) * float(one.energy) for one in known.virtuals)
    whole, total = sum(drift.values()), sum(promised.values())
    return {name: amount - whole * promised[name] / total for name, amount in drift.items()}


def find_unlevelled(world: World, zone: str, known: LevelZone, energies: Energies) -> str | None:
    for window in list_windows(world, zone, known, min(max(held) for held in energies.values())):
        if any(not {known.first, *window} <= held.keys() for held in energies.values()):
            continue
        before, after = (find_gaps(known, energies, quarter) for quarter in window)
        largest, left = (max(abs(gap) for gap in gaps.values()) for gaps in (before, after))
        world.compared["levelling"] += largest > LEAST_KWH
        if left > LEFT * largest + SLACK_KWH:
            return f"a tenth left of {before} kWh after {NEEDED_NETS} nets, not {after}"
    return None
