"""The whole of it, at midnights and at the end: every book, every store, everyone's statements, every event."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import as_window
from tests.simulation.actors.auctions import collect_prize
from tests.simulation.actors.batteries import book_request
from tests.simulation.actors.reporting import data_points_request, dispatch_request
from tests.simulation.actors.virtual_assets import store_request
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.events import read_events
from tests.simulation.market import berlin_day, midnight, quarter_of
from tests.simulation.oracle.statements import find_imbalance
from tests.simulation.steps import Pick

if TYPE_CHECKING:
    from tests.simulation.life import Life

REMEMBERED = 12


async def audit(life: Life) -> None:
    """Every promise that can be judged at this moment."""
    world = life.world
    while (prize := collect_prize(world, Pick(()))) is not None:
        await life.ask(prize)
    now = quarter_of(world.now)
    for battery in world.batteries.values():
        await life.ask(book_request(world, battery, now - 8, now + 200))
        await life.ask(dispatch_request(world, battery, now - 96, now + 96))
    for virtual in world.virtuals.values():
        await life.ask(store_request(world, virtual, projected=False))
        first = max(virtual.first, now - 96)
        if first < virtual.end:
            await life.ask(data_points_request(world, virtual, first, min(virtual.end, first + 192), "daily"))
    await compare_statements(life)
    await compare_past(life)
    await compare_events(life)
    life.reach.checks["audit"] += 1


async def compare_statements(life: Life) -> None:
    """Over the last market days, of every virtual asset and of every battery."""
    world = life.world
    today = berlin_day(world.now)
    query = as_window(quarter_of(midnight(today - timedelta(days=2))), quarter_of(midnight(today)))
    query["resolution"] = "daily"
    said: list[dict[str, Any]] = []
    for virtual in world.virtuals.values():
        path = f"/revenue-reporting/virtual-assets/{virtual.id}/statement"
        request = Request("readVirtualAssetStatement", virtual.holder.viewer, "GET", path, query=query, expect=200)
        said.append((await life.ask(request)).body)
    for battery in world.batteries.values():
        path = f"/revenue-reporting/physical-assets/{battery.id}/statement"
        request = Request("readPhysicalAssetStatement", battery.owner.viewer, "GET", path, query=query, expect=200)
        said.append((await life.ask(request)).body)
    fault = find_imbalance(said)
    if fault is not None:
        raise Finding("zero over all parties", fault, request, None)


async def compare_past(life: Life) -> None:
    """What was said of closed days is said again, as of then; and what is said now is kept to be asked again."""
    world = life.world
    for request, before in life.said_before:
        answer = await life.ask(request)
        if answer.body["data"] != before:
            raise Finding("as-of", f"what was said at {request.query['as-of']}: {before}", request, answer)
    clock = await life.ask(Request("readClock", world.operator.viewer, "GET", "/sandbox/clock", expect=200))
    for virtual in list(world.virtuals.values())[-2:]:
        query = {**as_window(virtual.first, min(virtual.end, virtual.first + 192)), "resolution": "daily"}
        path = f"/revenue-reporting/virtual-assets/{virtual.id}/data-points"
        asked = Request("readVirtualAssetDataPoints", virtual.holder.viewer, "GET", path, query=query, expect=200)
        said = await life.ask(asked)
        again = Request(
            asked.operation, asked.by, "GET", path, query={**query, "as-of": clock.body["now"]}, expect=(200, 400, 404)
        )
        life.said_before.append((again, said.body["data"]))
    del life.said_before[:-REMEMBERED]


async def compare_events(life: Life) -> None:
    """Each organisation's stream: numbers that only rise, and one event for each change that the model made."""
    for organisation in life.world.organisations:
        request = Request(
            "followEvents",
            organisation.admin,
            "GET",
            "/events",
            headers={"Accept": "text/event-stream", "Last-Event-ID": str(life.heard.get(organisation.name, 0))},
            expect=200,
        )
        answer = await life.ask(request)
        events = read_events(answer.content)
        numbers = [number for number, _ in events]
        if numbers != sorted(set(numbers)):
            raise Finding("events", f"numbers that rise, not {numbers}", request, answer)
        if numbers:
            life.heard[organisation.name] = numbers[-1]
        for _, event in events:
            life.reach.events[event["type"]] += 1
            if event["organisationID"] == organisation.id:  # others' are told where there is a grant
                life.events[organisation.name, event["type"]] += 1
            if event["id"] in life.event_ids.setdefault(organisation.name, set()):
                raise Finding("events", f"event {event['id']} once", request, answer)
            life.event_ids[organisation.name].add(event["id"])
        _compare_counts(life, organisation.name, request, answer)


def _compare_counts(life: Life, name: str, request: Request, answer: Answer) -> None:
    """Of the types whose every event follows from one request of the organisation's own people."""
    expected: Counter[str] = Counter()
    for (organisation, kind), count in life.caused.items():
        if organisation == name:
            expected[kind] += count
    for kind, count in expected.items():
        if life.events[name, kind] != count:
            said = life.events[name, kind]
            raise Finding("events", f"{count} events {kind} of {name}, not {said}", request, answer)
