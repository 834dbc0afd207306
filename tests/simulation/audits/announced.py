"""Cuts and the position: which of them the holder must trade around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import as_window, exact
from tests.simulation.calls import Finding, Request
from tests.simulation.market import from_text, quarter_of
from tests.simulation.model import VirtualAsset
from tests.simulation.oracle.announced import find_delivered
from tests.simulation.oracle.energy import is_activated

if TYPE_CHECKING:
    from tests.simulation.life import Life

SLACK_MWH = 1e-5


async def compare_announced(life: Life, virtual: VirtualAsset, cuts: list[dict[str, Any]]) -> None:
    """Of quarter-hours that are over: what counts as delivered where something was cut."""
    world, now = life.world, quarter_of(life.world.now)
    past = {quarter_of(from_text(cut["timestamp"])): cut for cut in cuts}
    past = {quarter: cut for quarter, cut in past.items() if quarter < now}
    if not past or not virtual.has_one_block or is_activated(world, virtual):
        return
    query, path = as_window(min(past), max(past) + 1), f"{virtual.path}/position"
    request = Request("readPosition", virtual.holder.viewer, "GET", path, query=query, expect=200)
    answer = await life.ask(request)
    for point in answer.body:
        quarter = quarter_of(from_text(point["time"]))
        if quarter not in past:
            continue
        accepted, adjusted = (exact(past[quarter][name]) for name in ("acceptedSchedule", "adjustedSchedule"))
        expected = find_delivered(world, virtual, quarter, accepted, adjusted)
        if expected is None:
            continue
        world.compared["announced cuts" if expected == adjusted else "unannounced cuts"] += 1
        if abs(point["delivered"] - float(expected) / 4000) > SLACK_MWH:
            error = f"{float(expected) / 4000} MWh delivered at {point['time']}, not {point['delivered']}"
            raise Finding("announced cuts", f"{error}: accepted {accepted} kW, cut to {adjusted}", request, answer)
