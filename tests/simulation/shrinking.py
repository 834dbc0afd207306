"""Delta debugging: the shortest list of steps that still fails, then the smallest numbers in it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tests.simulation.steps import PLAIN, Step

Fails = Callable[[Sequence[Step]], Awaitable[bool]]


async def shrink(script: Sequence[Step], fails: Fails, budget_s: float = 120) -> list[Step]:
    """Leave out ever smaller pieces while the rest fails; then make what is left plainer, one step at a time."""
    deadline = time.monotonic() + budget_s
    kept = await _leave_out_actions(list(script), fails, deadline)
    size = max(1, len(kept) // 2)
    while size and time.monotonic() < deadline:
        start, was_shorter = 0, False
        while start < len(kept) and time.monotonic() < deadline:
            rest = kept[:start] + kept[start + size :]
            if rest and await fails(rest):
                kept, was_shorter = rest, True
            else:
                start += size
        size = size if was_shorter and size == 1 else size // 2
    return await _make_plainer(kept, fails, deadline)


async def _leave_out_actions(kept: list[Step], fails: Fails, deadline: float) -> list[Step]:
    """Whole kinds of steps first, many at a time: most have nothing to do with it."""
    names = sorted({step.action for step in kept})
    size = len(names) // 2
    while size and time.monotonic() < deadline:
        start = 0
        while start < len(names) and time.monotonic() < deadline:
            gone = set(names[start : start + size])
            rest = [step for step in kept if step.action not in gone]
            if rest and len(rest) < len(kept) and await fails(rest):
                kept, names = rest, [name for name in names if name not in gone]
            else:
                start += size
        size //= 2
    return kept


async def _make_plainer(kept: list[Step], fails: Fails, deadline: float) -> list[Step]:
    for number in range(len(kept)):
        plainer = replace(kept[number], twist=PLAIN)
        for candidate in (replace(plainer, choices=()), plainer):
            tried = [*kept[:number], candidate, *kept[number + 1 :]]
            if time.monotonic() < deadline and tried != kept and await fails(tried):
                kept = tried
                break
    return kept
