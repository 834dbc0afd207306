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
from tests.simulation.invariants import RARE, list_uncompared
from tests.simulation.reach import Reach
from tests.simulation.steps import PLAIN, Step

ROOT = Path(__file__).parents[2]
STEPS = 150
SEEDS = {1: STEPS, 2: STEPS, 3: 90, 5: STEPS, 11: 70}
"""One of each kind, and how many steps: one of outages costs several of another."""
STORMY_SEED = 34


@pytest.fixture(scope="module")
def lived() -> dict[int, Reach]:
    """Lives of this file by seed: each is lived once."""
    return {}


async def live(seed: int, lived: dict[int, Reach]) -> Reach:
    if seed not in lived:
        since, is_stormy = start_of(seed), seed == STORMY_SEED
        script = script_of(seed, SEEDS.get(seed, STEPS), faults=is_stormy)
        outcome = await run_life([*script, Step("restart_service", PLAIN, ())] if is_stormy else script, since)
        if outcome.finding is not None:
            shortest = outcome if is_stormy else await find_shortest(outcome, since, budget_s=20)
            pytest.fail(explain(seed, shortest), pytrace=False)
        lived[seed] = outcome.reach
    return lived[seed]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_life_keeps_every_promise(seed: int, lived: dict[int, Reach]):
    reach = await live(seed, lived)
    assert reach.steps == SEEDS[seed]
    assert sum(reach.operations.values()) > SEEDS[seed] // 3


@pytest.mark.slow
async def test_a_life_keeps_every_promise_while_connections_are_cut_and_the_service_restarts(lived: dict[int, Reach]):
    reach = await live(STORMY_SEED, lived)
    assert reach.twists["cut_connections"] > 0
    assert reach.twists["restart_service"] > 0


@pytest.mark.slow
async def test_these_lives_had_something_to_compare_for_every_invariant(lived: dict[int, Reach]):
    total = Reach()
    for seed in (*SEEDS, STORMY_SEED):
        total.add(await live(seed, lived))
    assert [name for name in list_uncompared(total.invariants) if name not in RARE] == []


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
            "25",
            "--trace",
        ]
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        lived = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert lived.returncode == 0, lived.stdout + lived.stderr
        return lived.stdout.splitlines()

    once, again = live("1"), live("2")
    assert len(once) > 25
    different = [f"{one}\n{other}" for one, other in zip(once, again, strict=True) if one != other]
    assert not different, "\n".join(["the first of", str(len(different)), *different[:3]])
