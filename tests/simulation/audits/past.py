"""What was said of an earlier moment is said again as of then: figures, statements, positions, stores, dispatch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import as_window
from tests.simulation.calls import Finding, Request
from tests.simulation.market import quarter_of

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.model import World

REMEMBERED = 20
EVERY = 2
"""At a midnight one in so many is asked again, the others at the next."""
PART = {
    "readVirtualAssetDataPoints": "data",
    "readVirtualAssetStatement": "lines",
    "readPhysicalAssetStatement": "lines",
    "readDispatch": "dispatch",
}
"""The part of an answer that is compared, where it is not the whole."""


async def compare_past(life: Life, *, is_end: bool) -> None:
    """What was said before is said again, all of it at the end and every other one in between; and what is said now is
    kept to be asked again."""
    turn = life.reach.checks["audit"] % EVERY
    asked = life.said_before if is_end else life.said_before[turn::EVERY]
    for request, before in asked:
        answer = await life.ask(request)
        life.world.compared[f"as-of {request.operation}"] += answer.is_good and bool(before)
        if answer.is_good and not is_same(before, _take_part(request, answer.body)):
            raise Finding("as-of", f"what was said at {request.query['as-of']}: {before}"[:2000], request, answer)
    clock = await life.ask(Request("readClock", life.world.operator.viewer, "GET", "/sandbox/clock", expect=200))
    for request in list_reads(life.world):
        answer = await life.ask(request)
        again = replace(request, query={**request.query, "as-of": clock.body["now"]}, expect=(200, 400, 404))
        life.said_before.append((again, _take_part(request, answer.body)))
    del life.said_before[:-REMEMBERED]


def list_reads(world: World) -> list[Request]:
    """Of the latest virtual assets and of a battery; windows that are over, so that nothing expected is in them."""
    now = quarter_of(world.now)
    found = []
    for virtual in list(world.virtuals.values())[-2:]:
        by, end = virtual.holder.viewer, min(virtual.end, now)
        query = {**as_window(virtual.first, min(virtual.end, virtual.first + 192)), "resolution": "daily"}
        path = f"/revenue-reporting/virtual-assets/{virtual.id}"
        found.append(_read("readVirtualAssetDataPoints", by, f"{path}/data-points", query))
        first = max(virtual.first, end - 192)
        if first < end:
            window = as_window(first, end)
            found.append(_read("readVirtualAssetStatement", by, f"{path}/statement", {**window, "resolution": "daily"}))
            found.append(_read("readPosition", by, f"{virtual.path}/position", window))
            found.append(_read("readStateOfCharge", by, f"{virtual.path}/state-of-charge", window))
    for battery in list(world.batteries.values())[-1:]:
        path, by = f"{battery.path}/dispatch", battery.owner.viewer
        found.append(_read("readDispatch", by, path, as_window(now - 48, now + 48)))
    return found


def _read(operation: str, by: Any, path: str, query: dict[str, str]) -> Request:
    return Request(operation, by, "GET", path, query=query, expect=200)


def _take_part(request: Request, body: Any) -> Any:
    return body[PART[request.operation]] if request.operation in PART else body


def is_same(before: Any, now: Any) -> bool:
    """But for the last digits of doubles that were added up in another order."""
    if before == now:  # mostly, and much faster than one by one
        return True
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(is_same(before[name], now[name]) for name in before)
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(is_same(one, other) for one, other in zip(before, now, strict=True))
    if isinstance(before, float | int) and isinstance(now, float | int):
        return math.isclose(before, now, rel_tol=1e-9, abs_tol=1e-9)
    return False
