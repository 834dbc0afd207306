"""The position of a virtual asset: only cuts that were announced are its holder's."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import as_window
from tests.simulation.calls import Finding, Request
from tests.simulation.market import from_text, quarter_of
from tests.simulation.model import VirtualAsset
from tests.simulation.oracle.announced import find_announced_left

if TYPE_CHECKING:
    from tests.simulation.life import Life

SLACK_MWH = 1e-5


async def compare_announced(
    life: Life, virtual: VirtualAsset, cuts: list[dict[str, Any]], followed: dict[int, Fraction]
) -> None:
    """Of quarter-hours that are over, `followed` is what counts as delivered."""
    world = life.world
    cut = {quarter_of(from_text(one["timestamp"])) for one in cuts}
    changed = [at for at, power in followed.items() if at in cut or power != virtual.schedule.get(at, Fraction(0))]
    if not changed:
        return
    query, path = as_window(min(changed), max(changed) + 1), f"{virtual.path}/position"
    request = Request("readPosition", virtual.holder.viewer, "GET", path, query=query, expect=200)
    answer = await life.ask(request)
    left_in = find_announced_left(world, virtual)
    for point in answer.body:
        quarter = quarter_of(from_text(point["time"]))
        if quarter not in changed:
            continue
        accepted, expected = virtual.schedule.get(quarter, Fraction(0)), followed[quarter]
        is_announced = expected != accepted
        world.compared["announced cuts" if is_announced else "unannounced cuts"] += 1
        world.compared["announced cuts of energy"] += is_announced and left_in(quarter).energy < 1
        if abs(point["delivered"] - float(expected) / 4000) > SLACK_MWH:
            error = f"{float(expected) / 4000} MWh delivered at {point['time']}, not {point['delivered']}"
            raise Finding("announced cuts", f"{error}: accepted {float(accepted)} kW", request, answer)
