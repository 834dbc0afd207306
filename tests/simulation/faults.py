"""The weather of faults: connections cut under a request, the service restarted, one request sent to two at once.

A life with faults has them as steps of its script. While a fault lasts 503 is allowed, and nothing else above 4xx. What
was answered before it stands after it, and a request that was repeated under its key has happened once.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.simulation.actors import every_action
from tests.simulation.actors.batteries import book_request
from tests.simulation.actors.virtual_assets import store_request
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.market import quarter_of
from tests.simulation.steps import Pick, Step

if TYPE_CHECKING:
    from tests.simulation.life import Life

FAULTS = {"cut_connections": 3, "restart_service": 1, "send_to_both": 4}
"""Names of the steps, and how often they are drawn compared with actions."""
WRITES = ("record_trades", "report_outage", "bid_for_auction", "register_battery", "write_logbook", "allocate")
ATTEMPTS = 100
PAUSE_S = 0.1
STORM_S = 10.0


async def disturb(life: Life, step: Step, number: int) -> None:
    if step.action == "restart_service":
        await restart_service(life)
        return
    pick = Pick(step.choices)
    request = every_action()[pick.of(WRITES)].perform(life.world, pick)
    if request is None:
        return
    keyed = replace(request, headers={"Idempotency-Key": f"fault-{number}"})
    if step.action == "cut_connections":
        await cut_connections(life, keyed, delay_s=pick.between(0, 20) / 1000)
    else:
        await send_to_both(life, keyed)


async def restart_service(life: Life) -> None:
    """Everything is as it was."""
    now = quarter_of(life.world.now)
    requests = [book_request(life.world, one, now, now + 96) for one in life.world.batteries.values()]
    requests += [store_request(life.world, one, projected=False) for one in life.world.virtuals.values()]
    before = [await life.ask(request) for request in requests]
    await life.service.restart()
    for request, said in zip(requests, before, strict=True):
        answer = await life.ask(request)
        if answer.content != said.content:
            raise Finding("restart", "the same as before the restart", request, answer)


async def cut_connections(life: Life, request: Request, delay_s: float) -> None:
    """While a request is under way; repeated under its key until it is answered, it has happened once."""
    life.stormy_until = time.monotonic() + STORM_S
    under_way = asyncio.ensure_future(life.send(request))
    await asyncio.sleep(delay_s)
    await life.service.cut_connections()
    answer = await under_way
    for _ in range(ATTEMPTS):
        if answer.status != 503 and not (answer.status == 409 and "idempotency" in answer.problem):
            break
        await asyncio.sleep(PAUSE_S)
        answer = await life.send(request)
    take_in(life, request, answer)


async def send_to_both(life: Life, request: Request) -> None:
    """One of them does it; the other answers the same, or that it is under way."""
    answers = await asyncio.gather(life.send(request, edge=0), life.send(request, edge=1))
    good = [answer for answer in answers if answer.is_good]
    if len(good) == 2 and good[0].content != good[1].content:
        raise Finding("idempotency", "the same answer from both services", request, good[1])
    for answer in answers:
        if answer.status >= 500:
            raise Finding("no 5xx", "an answer below 500", request, answer)
    refused = next((answer for answer in answers if "idempotency" not in answer.problem), answers[0])
    take_in(life, request, good[0] if good else refused)


def take_in(life: Life, request: Request, answer: Answer) -> None:
    """Judged and remembered like any other, but for the counts, which a first attempt may have used up."""
    life.judge(request, answer)
    if answer.is_good:
        life.remember(request, answer)
