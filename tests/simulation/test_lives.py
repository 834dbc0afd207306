"""Fixed seeds of whole lives: each is lived from its first step to its last without a broken promise.

`make simulate SECONDS=3600 SEED=1` lives as many others as there is time for.
"""

from __future__ import annotations

import pytest
from tests.simulation.harness import explain, find_shortest, run_life, script_of, start_of

STEPS = 150
SEEDS = (1, 2, 3, 5, 8, 13)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_life_keeps_every_promise(seed: int):
    since = start_of(seed)
    outcome = await run_life(script_of(seed, STEPS), since)
    if outcome.finding is not None:
        pytest.fail(explain(seed, await find_shortest(outcome, since, budget_s=20)), pytrace=False)
    assert outcome.reach.steps == STEPS
    assert sum(outcome.reach.operations.values()) > STEPS // 3


@pytest.mark.slow
async def test_the_same_life_twice_gives_the_same_answers():
    script, since = script_of(21, 120), start_of(21)
    once, again = await run_life(script, since), await run_life(script, since)
    assert once.finding is None
    differences = [pair for pair in zip(once.trace, again.trace, strict=True) if pair[0] != pair[1]]
    assert differences == []
