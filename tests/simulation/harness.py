"""Seeds to scripts, scripts to lives, findings to the shortest script: what the command and the tests both use."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.database_server import SERVER, open_scratch, server_url, stop_servers
from tests.simulation.calls import Finding, show_answer
from tests.simulation.exploring import EXPLORE, RARE
from tests.simulation.faults import FAULTS
from tests.simulation.founding import found_world
from tests.simulation.identity_provider import running_provider
from tests.simulation.kinds import KINDS, kind_of
from tests.simulation.life import Life
from tests.simulation.reach import Reach
from tests.simulation.service import running_service
from tests.simulation.shrinking import shrink
from tests.simulation.steps import Step, draw_script
from tests.simulation.weather import calm

STARTS = (
    datetime(2027, 3, 26, 9, 2, tzinfo=UTC),
    datetime(2027, 10, 29, 9, 2, tzinfo=UTC),
    datetime(2027, 1, 11, 9, 2, tzinfo=UTC),
    datetime(2027, 12, 29, 9, 2, tzinfo=UTC),
)
"""Shortly before the clocks go forward, before they go back, in an ordinary week, and before a year ends."""
TOUR = (
    "allocate",
    "found_guest",
    "admit_guest",
    "admit_guest",
    "sign_in_guest",
    "publish_history",
    "offer_balancing",
    "offer_balancing",
    "create_auction",
    "bid_for_auction",
    "make_webhook",
    "invite",
    "accept_invitation",
    "sign_in",
)
"""How a long life begins: most of what others build on is there afterwards."""
TOUR_FROM_STEPS = 200


_owns_server = False
"""Whether PostgreSQL is there for lives alone, so that it may be restarted."""


@dataclass
class Outcome:
    """What came of a life; `finding` is the promise it broke, if any."""

    script: Sequence[Step]
    reach: Reach
    trace: list[str] = field(default_factory=list)
    finding: Finding | None = None
    spoken: list[str] = field(default_factory=list)
    took_s: float = 0.0


def script_of(seed: int, length: int, *, faults: bool = False, kind: str = "") -> list[Step]:
    """Of the kind that the seed has, or of another."""
    name = kind or kind_of(seed)
    chosen = KINDS[name]
    weights = chosen.list_weights() | (FAULTS if faults else {})
    opening = chosen.opening
    if chosen.explored_percent:
        weights[EXPLORE] = sum(weights.values()) * chosen.explored_percent // 100
        opening += TOUR if length >= TOUR_FROM_STEPS else ()
    return draw_script(seed, length, weights, chosen.twists, opening, name, RARE[seed % len(RARE)])


def start_of(seed: int) -> datetime:
    return random.Random(seed).choice(STARTS) + timedelta(days=0)


async def run_life(
    script: Sequence[Step], since: datetime, survived: list[Finding] | None = None, *, is_traced: bool = False
) -> Outcome:
    outcome = Outcome(script, Reach())
    edges = 2 if any(step.action in FAULTS for step in script) else 1
    stack = AsyncExitStack()
    try:
        async with calm():
            service = await stack.enter_async_context(running_service(since, edges, owns_server=_owns_server))
            provider = await stack.enter_async_context(running_provider())
            world = await found_world(service, since, provider)
        life = Life(service, world, outcome.reach, is_traced=is_traced)
        begun = time.perf_counter()
        try:
            await life.live(script, survived)
        except Finding as finding:
            outcome.finding = finding
            outcome.script = life.taken
        outcome.took_s = time.perf_counter() - begun
        outcome.trace = life.trace
        outcome.spoken = [] if outcome.finding is None else [request.as_curl() for request in life.spoken]
    finally:
        async with calm():
            await stack.aclose()
    return outcome


async def find_shortest(outcome: Outcome, since: datetime, budget_s: float = 120) -> Outcome:
    """The shortest script found that breaks the same rule in the same operation."""
    best = outcome

    async def still_fails(script: Sequence[Step]) -> bool:
        nonlocal best
        tried = await run_life(script, since)
        if is_same(tried.finding, outcome.finding):
            best = tried
            return True
        return False

    await shrink(outcome.script[: outcome.reach.steps], still_fails, budget_s)
    return best


def is_same(one: Finding | None, other: Finding | None) -> bool:
    if one is None or other is None or one.rule != other.rule:
        return False
    return (one.request and one.request.operation) == (other.request and other.request.operation)


def explain(seed: int, outcome: Outcome, after: str = "") -> str:
    """What a person needs to see and repeat a finding."""
    finding = outcome.finding
    assert finding is not None
    lines = [f"seed {seed}{after}: {finding.rule}: expected {finding.expected}", "said: " + show_answer(finding.answer)]
    if finding.request is not None:
        lines.append("asked: " + finding.request.as_curl())
    lines += [f"the script ({len(outcome.spoken)} calls):", *outcome.spoken]
    return "\n".join(lines)


def brief(finding: Finding) -> str:
    asked = "" if finding.request is None else f"{finding.request.by.name} {finding.request.operation}"
    return f"{asked}: {finding.rule}: {finding.expected[:300]}: {show_answer(finding.answer)[:400]}"


@contextmanager
def own_server() -> Iterator[None]:
    """A PostgreSQL for a run outside pytest; within pytest the suite's own."""
    global _owns_server
    if SERVER in os.environ:
        yield
        return
    open_scratch()
    try:
        server_url()
        _owns_server = True
        yield
    finally:
        _owns_server = False
        stop_servers()
