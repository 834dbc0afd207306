"""The store of a virtual asset: E' = E + Δt·(charge·η_c − discharge/η_d), exactly (contract 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise

from tests.simulation.market import start_of_quarter
from tests.simulation.model import VirtualAsset, World

HOURS = Fraction(1, 4)
SLACK = Fraction(1, 1000)


def find_store(
    virtual: VirtualAsset,
    schedule: Mapping[int, Fraction] | None = None,
    activated: Mapping[int, Fraction] | None = None,
) -> dict[int, Fraction]:
    """kWh at the start of every quarter-hour of its life, and at its end; `activated` has kWh that came in besides."""
    powers = virtual.schedule if schedule is None else schedule
    energy = virtual.initial * virtual.energy
    found = {virtual.first: energy}
    moved = {power: find_flow(virtual, power) for power in set(powers.values())}
    for quarter in range(virtual.first, virtual.end):
        if quarter in powers:
            energy += moved[powers[quarter]]
        if activated and quarter in activated:
            energy += activated[quarter]
        found[quarter + 1] = energy
    return found


def find_flow(virtual: VirtualAsset, power: Fraction) -> Fraction:
    """kWh that come in within a quarter-hour at a power."""
    if power > 0:
        return -HOURS * power / virtual.discharge_efficiency
    return HOURS * -power * virtual.charge_efficiency


def find_activated(world: World, virtual: VirtualAsset) -> dict[int, Fraction]:
    """kWh that settled balancing energy brought into the store: grid-side volumes, ÷ η_d upward, × η_c downward."""
    found: dict[int, Fraction] = {}
    for (asset, quarter, direction), row in world.facts.afrr_energy.items():
        if asset == virtual.id:
            volume = 1000 * Fraction(str(row["volume"]))
            moved = -volume / virtual.discharge_efficiency if direction == "POS" else volume * virtual.charge_efficiency
            found[quarter] = found.get(quarter, Fraction(0)) + moved
    return found


def stays_within(virtual: VirtualAsset, points: Mapping[int, Fraction]) -> bool:
    """Whether power and store keep their bounds with these points in place."""
    if any(not -virtual.charge - SLACK <= power <= virtual.discharge + SLACK for power in points.values()):
        return False
    store = find_store(virtual, {**virtual.schedule, **points})
    return all(-SLACK <= energy <= virtual.energy + SLACK for energy in store.values())


def is_plain(world: World, virtual: VirtualAsset) -> bool:
    """Whether nothing but its schedule moves its store."""
    return is_uncut(virtual) and not is_activated(world, virtual)


def is_uncut(virtual: VirtualAsset) -> bool:
    return not (virtual.is_disturbed or virtual.has_cycle_limit)


def may_be_out_of_bounds(world: World, backing: Iterable[tuple[str, Fraction]], first: int, end: int) -> bool:
    """Whether a battery may store more, or less, than is allowed: an outage or new parameters leave less room."""
    begin, last = start_of_quarter(first), start_of_quarter(end)
    for battery in (world.batteries[name] for name, _ in backing):
        if any(one.energy and one.start < last and one.end > begin for one in battery.outages.values()):
            return True
        bounds = [(one.lowest * one.energy, one.highest * one.energy) for one in battery.versions]
        if any(later[0] > earlier[0] or later[1] < earlier[1] for earlier, later in pairwise(bounds)):
            return True
    return False


def is_activated(world: World, virtual: VirtualAsset) -> bool:
    return any(asset == virtual.id and row["volume"] for (asset, _, _), row in world.facts.afrr_energy.items())
