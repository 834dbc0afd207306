"""Seeds to scripts, scripts to lives, findings to the shortest script: what the command and the tests both use."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.database_server import SERVER, open_scratch, server_url, stop_servers
from tests.simulation.actors import every_action
from tests.simulation.calls import Finding
from tests.simulation.faults import FAULTS
from tests.simulation.life import TWISTS, AuthorizedAsset, Life, found_world, show_answer
from tests.simulation.service import running_service
from tests.simulation.shrinking import shrink
from tests.simulation.steps import Step, draw_script

STARTS = (
    datetime(2027, 3, 26, 9, 2, tzinfo=UTC),
    datetime(2027, 10, 29, 9, 2, tzinfo=UTC),
    datetime(2027, 1, 11, 9, 2, tzinfo=UTC),
    datetime(2027, 12, 29, 9, 2, tzinfo=UTC),
)
"""Shortly before the clocks go forward, before they go back, in an ordinary week, and before a year ends."""
OPENING = ("register_battery",) * 3


@dataclass
class Outcome:
    """What came of a life; `finding` is the promise it broke, if any."""

    script: Sequence[Step]
    reach: AuthorizedAsset
    trace: list[str] = field(default_factory=list)
    finding: Finding | None = None
    spoken: list[str] = field(default_factory=list)
    took_s: float = 0.0


def script_of(seed: int, length: int, *, faults: bool = False) -> list[Step]:
    weights = {name: one.weight for name, one in every_action().items()} | (FAULTS if faults else {})
    return draw_script(seed, length, weights, TWISTS, OPENING)


def start_of(seed: int) -> datetime:
    return random.Random(seed).choice(STARTS) + timedelta(days=0)


async def run_life(script: Sequence[Step], since: datetime, survived: list[Finding] | None = None) -> Outcome:
    outcome = Outcome(script, AuthorizedAsset())
    edges = 2 if any(step.action in FAULTS for step in script) else 1
    async with running_service(since, edges) as service:
        life = Life(service, await found_world(service, since), outcome.reach)
        begun = time.perf_counter()
        try:
            await life.live(script, survived)
        except Finding as finding:
            outcome.finding = finding
        outcome.took_s = time.perf_counter() - begun
        outcome.trace = life.trace
        outcome.spoken = [request.as_curl() for request in life.spoken]
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


def explain(seed: int, outcome: Outcome) -> str:
    """What a person needs to see and repeat a finding."""
    finding = outcome.finding
    assert finding is not None
    lines = [f"seed {seed}: {finding.rule}: expected {finding.expected}", "said: " + show_answer(finding.answer)]
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
    if SERVER in os.environ:
        yield
        return
    open_scratch()
    try:
        server_url()
        yield
    finally:
        stop_servers()
