"""The store of a virtual asset: E' = E + Δt·(charge·η_c − discharge/η_d), exactly (contract 5)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tests.simulation.model import VirtualAsset

HOURS = Fraction(1, 4)
SLACK = Fraction(1, 1000)


def find_store(virtual: VirtualAsset, schedule: Mapping[int, Fraction] | None = None) -> dict[int, Fraction]:
    """kWh at the start of every quarter-hour of its life, and at its end."""
    powers = virtual.schedule if schedule is None else schedule
    energy = virtual.initial * virtual.energy
    found = {virtual.first: energy}
    for quarter in range(virtual.first, virtual.end):
        power = powers.get(quarter, 0)
        if power > 0:
            energy -= HOURS * power / virtual.discharge_efficiency
        elif power < 0:
            energy += HOURS * -power * virtual.charge_efficiency
        found[quarter + 1] = energy
    return found


def stays_within(virtual: VirtualAsset, points: Mapping[int, Fraction]) -> bool:
    """Whether power and store keep their bounds with these points in place."""
    if any(not -virtual.charge - SLACK <= power <= virtual.discharge + SLACK for power in points.values()):
        return False
    store = find_store(virtual, {**virtual.schedule, **points})
    return all(-SLACK <= energy <= virtual.energy + SLACK for energy in store.values())
