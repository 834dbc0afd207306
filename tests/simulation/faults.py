"""The weather of faults: connections cut under a request, services and PostgreSQL restarted, a worker killed, one
request sent to two services at once, two requests sent together.

A life with faults has them as steps of its script. While a fault lasts 503 is allowed, and nothing else above 4xx. What
was answered before it stands after it, and a request that was repeated under its key has happened once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.simulation.actors import every_action
from tests.simulation.actors.acting import as_window
from tests.simulation.actors.books import book_request
from tests.simulation.actors.delivered import dispatch_request
from tests.simulation.actors.reporting import data_points_request
from tests.simulation.actors.statement_lines import holder_request, owner_request
from tests.simulation.actors.statements import issue_next_month
from tests.simulation.actors.stores import adjustments_request, store_request
from tests.simulation.calls import Answer, Finding, Person, Request
from tests.simulation.market import from_text, quarter_of, start_of_quarter, to_text
from tests.simulation.oracle.clearing import clear_due_auctions
from tests.simulation.steps import Pick, Step

if TYPE_CHECKING:
    from tests.simulation.life import Life

FAULTS = {
    "cut_connections": 8,
    "restart_service": 3,
    "restart_postgres": 3,
    "kill_worker": 3,
    "send_to_both": 10,
    "send_together": 8,
    "issue_twice": 3,
    "stop_walk": 3,
}
"""Names of the steps, and how often they are drawn compared with actions."""
WRITES = ("record_trades", "report_outage", "bid_for_auction", "register_battery", "write_logbook", "allocate")
ATTEMPTS = 100
PAUSE_S = 0.1
STORM_S = 30.0
POLL_INTERVAL_S = 0.005


async def disturb(life: Life, step: Step, number: int) -> None:
    if step.action == "restart_service":
        await restart_service(life)
        return
    if step.action == "stop_walk":
        await stop_walk(life, days=Pick(step.choices).between(8, 20))
        return
    if step.action == "issue_twice":
        await issue_twice(life, number)
        return
    pick = Pick(step.choices)
    request = every_action()[pick.of(WRITES)].perform(life.world, pick)
    if request is None:
        return
    keyed = replace(request, headers={"Idempotency-Key": f"fault-{number}"})
    delay_s = pick.between(0, 20) / 1000
    if step.action == "cut_connections":
        await interrupt(life, keyed, delay_s, life.service.cut_connections)
    elif step.action == "restart_postgres":
        await interrupt(life, keyed, delay_s, life.service.restart_postgres)
    elif step.action == "kill_worker":
        edge = await life.service.start_served()
        await interrupt(life, keyed, delay_s, life.service.kill_worker, edge)
    elif step.action == "send_together":
        other = every_action()[pick.of(WRITES)].perform(life.world, pick)
        await send_together(life, keyed, other)
    else:
        await send_to_both(life, keyed)


async def restart_service(life: Life) -> None:
    """Everything is as it was. (A walk that was stopped leaves the runners what is due at the instant it reached.)"""
    await life.service.await_due_jobs()
    now = quarter_of(life.world.now)
    requests = [book_request(life.world, one, now, now + 96) for one in life.world.batteries.values()]
    requests += [dispatch_request(life.world, one, now - 48, now + 48) for one in life.world.batteries.values()]
    for virtual in life.world.virtuals.values():
        requests.append(store_request(life.world, virtual, projected=False))
        requests.append(adjustments_request(life.world, virtual))
        requests.append(data_points_request(life.world, virtual, virtual.first, virtual.first + 96, "hourly"))
        requests.append(holder_request(life.world, virtual, virtual.first, virtual.first + 96, "hourly"))
        query = as_window(virtual.first, virtual.first + 96)
        requests.append(_read_again("readPosition", virtual.holder.viewer, f"{virtual.path}/position", query))
    for battery in life.world.batteries.values():
        requests.append(owner_request(life.world, battery, now - 96, now, "hourly"))
        requests.append(_read_again("listUnavailabilities", battery.owner.viewer, f"{battery.path}/unavailability"))
        requests.append(_read_again("listAncillaryBids", battery.owner.viewer, f"{battery.path}/ancillary/bids"))
    for one in life.world.organisations:
        requests.append(_read_again("readOrganisation", one.viewer, f"/organisations/{one.id}"))
        requests.append(_read_again("listStatements", one.viewer, f"/organisations/{one.id}/statements"))
    before = [await life.ask(request) for request in requests]
    await life.service.restart()
    for request, said in zip(requests, before, strict=True):
        answer = await life.ask(request)
        life.world.compared["restart"] += 1
        if answer.content != said.content:
            raise Finding("restart", "the same as before the restart", request, answer)


def _read_again(operation: str, by: Person, path: str, query: Mapping[str, str] | None = None) -> Request:
    return Request(operation, by, "GET", path, query=query or {}, expect=200)


async def stop_walk(life: Life, days: int) -> None:
    """The operator stops the clock on its way; what was due until then has happened."""
    world = life.world
    target = start_of_quarter(quarter_of(world.now) + 96 * days)
    move = Request("moveClock", world.operator.admin, "PUT", "/sandbox/clock", {"now": to_text(target)})
    stop = Request("stopClockWalk", world.operator.admin, "DELETE", "/sandbox/clock/walk")
    walking = asyncio.ensure_future(life.send(move))
    stopped = await life.send(stop)
    while stopped.status == 404 and not walking.done():
        await asyncio.sleep(POLL_INTERVAL_S)
        stopped = await life.send(stop)
    moved = await walking
    life.judge.judge_answer(replace(stop, expect=(204, 404)), stopped)
    life.judge.judge_answer(replace(move, expect=(200, 409)), moved)
    said = await life.ask(Request("readClock", world.operator.viewer, "GET", "/sandbox/clock", expect=200))
    world.now, world.drift_trades = from_text(said.body["now"]), None
    if moved.is_good and world.now < target:
        raise Finding("clock", f"{to_text(target)} at least", move, moved)
    clear_due_auctions(world)


async def interrupt(
    life: Life, request: Request, delay_s: float, fault: Callable[[], Awaitable[None]], edge: int = 0
) -> None:
    """A fault while a request is under way; repeated under its key until it is answered, it has happened once."""
    life.stormy_until = time.monotonic() + STORM_S
    under_way = asyncio.ensure_future(life.send(request, edge))
    await asyncio.sleep(delay_s)
    await fault()
    answer = await under_way
    for _ in range(ATTEMPTS):
        if answer.status != 503 and not (answer.status == 409 and "idempotency" in answer.problem):
            break
        await asyncio.sleep(PAUSE_S)
        answer = await life.send(request, edge)
    take_in(life, request, answer)


async def send_in_storm(life: Life, request: Request, edge: int) -> Answer:
    """Repeated under its key while a fault of an earlier step lasts."""
    answer = await life.send(request, edge)
    while answer.status == 503 and time.monotonic() < life.stormy_until:
        await asyncio.sleep(PAUSE_S)
        answer = await life.send(request, edge)
    return answer


async def send_together(life: Life, request: Request, other: Request | None) -> None:
    """Two changes by two services in either order: each happens, or meets what the other has done."""
    both = [request] if other is None or other.path == request.path else [other, request]
    sent = [replace(one, expect=None if one.expect is None else (*_statuses(one), 409, 422), met=()) for one in both]
    life.consequences.is_ordered = False
    answers = await asyncio.gather(*(send_in_storm(life, one, edge) for edge, one in enumerate(sent)))
    for one, answer in zip(sent, answers, strict=True):
        take_in(life, one, answer)


async def issue_twice(life: Life, number: int) -> None:
    """Two services are asked for the same month: one run issues it, the other request is refused."""
    request = issue_next_month(life.world)
    keyed = [replace(request, headers={"Idempotency-Key": f"issue-{number}-{edge}"}) for edge in (0, 1)]
    answers = await asyncio.gather(*(send_in_storm(life, one, edge) for edge, one in enumerate(keyed)))
    if request.expect == 202 and sorted(answer.status for answer in answers) != [202, 409]:
        raise Finding("statements", "one run of two", request, answers[0])
    for answer in answers:
        if answer.status == 409:
            life.judge.judge_answer(replace(request, expect=409), answer)
        else:
            take_in(life, request, answer)


def _statuses(request: Request) -> tuple[int, ...]:
    expect = (request.expect,) if isinstance(request.expect, int) else request.expect or ()
    return tuple(status for status in expect if isinstance(status, int))


async def send_to_both(life: Life, request: Request) -> None:
    """One of them does it; the other answers the same, or that it is under way."""
    answers = await asyncio.gather(*(send_in_storm(life, request, edge) for edge in (0, 1)))
    good = [answer for answer in answers if answer.is_good]
    life.world.compared["one answer of two services"] += len(good) == 2
    if len(good) == 2 and good[0].content != good[1].content:
        raise Finding("idempotency", "the same answer from both services", request, good[1])
    for answer in answers:
        if answer.status >= 500:
            raise Finding("no 5xx", "an answer below 500", request, answer)
    refused = next((answer for answer in answers if "idempotency" not in answer.problem), answers[0])
    take_in(life, request, good[0] if good else refused)


def take_in(life: Life, request: Request, answer: Answer) -> None:
    """Judged and remembered like any other, but for the counts, which a first attempt may have used up."""
    life.judge.judge_answer(request, answer)
    if answer.is_good:
        life.remember(request, answer)
