"""The whole of it, at midnights and at the end: every book, every store, everyone's statements, every event."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.simulation.actors.acting import as_window, exact
from tests.simulation.actors.auctions import collect_prize, results_request
from tests.simulation.actors.batteries import book_request
from tests.simulation.actors.reporting import data_points_request, dispatch_request
from tests.simulation.actors.virtual_assets import (
    adjustments_request,
    is_activated,
    past_store_request,
    store_request,
)
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.events import read_events
from tests.simulation.market import berlin_day, from_text, midnight, quarter_of
from tests.simulation.oracle.statements import find_imbalance
from tests.simulation.steps import Pick

if TYPE_CHECKING:
    from tests.simulation.life import Life

REMEMBERED = 12


async def audit(life: Life, *, is_end: bool) -> None:
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
        said = (await life.ask(adjustments_request(world, virtual))).body
        if virtual.has_one_block and virtual.first < now and not is_activated(world, virtual):
            cuts = {quarter_of(from_text(cut["timestamp"])): exact(cut["adjustedSchedule"]) for cut in said}
            await life.ask(past_store_request(world, virtual, cuts))
        first = max(virtual.first, now - 96)
        if first < virtual.end:
            await life.ask(data_points_request(world, virtual, first, min(virtual.end, first + 192), "daily"))
    for auction in world.auctions.values():
        if auction.is_cleared:
            await life.ask(results_request(world, auction))
    await compare_zones(life)
    await compare_statements(life)
    await compare_past(life)
    if is_end:
        await compare_events(life)
        await compare_audit_log(life)
    life.reach.checks["audit"] += 1


async def compare_zones(life: Life) -> None:
    """In every quarter-hour that was planned, batteries do for a zone what is left of its schedules."""
    world = life.world
    now = quarter_of(world.now)
    query = as_window(now - 48, now + 48)
    request = Request("listDeliveryZones", world.operator.viewer, "GET", "/delivery/zones", query=query, expect=200)
    for zone in (await life.ask(request)).body:
        done: Counter[str] = Counter()
        for battery in world.batteries.values():
            if battery.zone == zone["deliveryZone"]:
                asked = dispatch_request(world, battery, now - 48, now + 48)
                for point in (await life.ask(asked)).body["dispatch"]:
                    done[point["time"]] += sum(part["power"] for part in point["parts"] if part["kind"] == "VIRTUAL")
        for quarter in zone["quarters"]:
            left = quarter["scheduledExport"] - quarter["scheduledImport"] - quarter["unserved"]
            if abs(left - quarter["dispatched"]) > 0.01 or abs(done[quarter["time"]] - quarter["dispatched"]) > 0.01:
                said = f"{done[quarter['time']]} by batteries, {left} scheduled"
                raise Finding("dispatch", f"{quarter['dispatched']} kW in {quarter['time']}, not {said}", request, None)


async def compare_audit_log(life: Life) -> None:
    """One line for each change that was answered, by the id of its request."""
    for organisation in life.world.organisations:
        wanted = Counter(life.changes.get(organisation.name, ()))
        found: Counter[str] = Counter()
        query = {"limit": "1000"}
        while True:
            request = Request("listAuditLog", organisation.admin, "GET", "/audit-log", query=query, expect=200)
            answer = await life.ask(request)
            found.update(entry["requestId"] for entry in answer.body)
            following = re.search(r"cursor=([^&>]+)", answer.headers.get("link", ""))
            if following is None:
                break
            query = {"limit": "1000", "cursor": unquote(following.group(1))}
        off = {one: found[one] for one in wanted if found[one] != 1}
        if off:
            raise Finding("audit log", f"one line for each change of {organisation.name}, not {off}", request, None)


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
    error = find_imbalance(said)
    if error is not None:
        raise Finding("zero over all parties", error, request, None)


async def compare_past(life: Life) -> None:
    """What was said of closed days is said again, as of then; and what is said now is kept to be asked again."""
    world = life.world
    for request, before in life.said_before:
        answer = await life.ask(request)
        now = answer.body.get("data", before)
        off = {name: (before[name], now[name]) for name in before if not _is_same(before[name], now[name])}
        if off:
            raise Finding("as-of", f"what was said at {request.query['as-of']}, not otherwise: {off}", request, answer)
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


def _is_same(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> bool:
    """But for the last digits of doubles that were added up in another order."""
    if [point["time"] for point in before] != [point["time"] for point in now]:
        return False
    pairs = [(one["value"], other["value"]) for one, other in zip(before, now, strict=True)]
    return all(
        one == other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        for one, other in pairs
    )


async def compare_events(life: Life) -> None:
    """Each organisation's stream: numbers that only rise, and one event for each change that the model made."""
    requests = {
        organisation.name: Request(
            "followEvents",
            organisation.admin,
            "GET",
            "/events",
            headers={"Accept": "text/event-stream", "Last-Event-ID": str(life.heard.get(organisation.name, 0))},
            expect=200,
        )
        for organisation in life.world.organisations
    }
    answers = await asyncio.gather(*(life.ask(request) for request in requests.values()))
    for organisation, answer in zip(life.world.organisations, answers, strict=True):
        request = requests[organisation.name]
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
