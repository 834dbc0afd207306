"""Fixed seeds of whole lives: each is lived from its first step to its last without a broken promise.

`make simulate SECONDS=3600 SEED=1` lives as many others as there is time for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.simulation.harness import explain, find_shortest, run_life, script_of, start_of
from tests.simulation.steps import PLAIN, Step

ROOT = Path(__file__).parents[2]
STEPS = 120
SEEDS = (1, 2, 3, 5)


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
async def test_a_life_keeps_every_promise_while_connections_are_cut_and_the_service_restarts():
    since = start_of(34)
    script = [*script_of(34, STEPS, faults=True), Step("restart_service", PLAIN, ())]
    outcome = await run_life(script, since)
    if outcome.finding is not None:
        pytest.fail(explain(34, outcome), pytrace=False)
    assert outcome.reach.twists["cut_connections"] > 0
    assert outcome.reach.twists["restart_service"] > 0


@pytest.mark.slow
def test_the_same_life_in_two_processes_with_different_hashes_gives_the_same_answers():
    def live(salt: str) -> list[str]:
        command = [
            sys.executable,
            "-m",
            "tests.simulation",
            "--seed",
            "21",
            "--lives",
            "1",
            "--steps",
            "120",
            "--trace",
        ]
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        lived = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert lived.returncode == 0, lived.stdout + lived.stderr
        return lived.stdout.splitlines()

    once, again = live("1"), live("2")
    assert len(once) > 40
    assert [pair for pair in zip(once, again, strict=True) if pair[0] != pair[1]] == []
