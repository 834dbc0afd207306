"""How fast levelling closes gaps between batteries, read from their dispatch since a zone's virtual assets began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.actors.delivered import dispatch_request
from tests.simulation.calls import Finding
from tests.simulation.market import from_text, quarter_of
from tests.simulation.model import ZONES
from tests.simulation.oracle.levelling import find_level_zone, find_unlevelled, list_windows

if TYPE_CHECKING:
    from tests.simulation.life import Life


async def compare_levelling(life: Life) -> None:
    world, now = life.world, quarter_of(life.world.now)
    for zone in ZONES:
        known = find_level_zone(world, zone)
        if known is None or not list_windows(world, zone, known, now):
            continue
        energies = {}
        for battery in known.batteries:
            said = (await life.ask(dispatch_request(world, battery, known.first, now + 1))).body["dispatch"]
            energy = float(battery.versions[0].energy) / 100
            energies[battery.name] = {
                quarter_of(from_text(point["time"])): energy * point["stateOfChargePercentage"] for point in said
            }
        error = find_unlevelled(world, zone, known, energies)
        if error is not None:
            raise Finding("levelling", error)
