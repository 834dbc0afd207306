"""`python -m tests.simulation --seconds 60 --seed 1`: live random lives until time is up, and say what was met.

The first broken promise is shrunk, printed as a script of `curl` lines, and ends the run.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time

import structlog
from tests.simulation.calls import Finding
from tests.simulation.harness import brief, explain, find_shortest, own_server, run_life, script_of, start_of
from tests.simulation.life import AuthorizedAsset
from tests.simulation.report import show_reach


async def simulate(arguments: argparse.Namespace) -> int:
    reach, lives, lived_s = AuthorizedAsset(), 0, 0.0
    deadline = time.monotonic() + arguments.seconds
    seed, failures = arguments.seed, 0
    while time.monotonic() < deadline and (not arguments.lives or lives < arguments.lives):
        since = start_of(seed)
        survived: list[Finding] | None = [] if arguments.list else None
        outcome = await run_life(script_of(seed, arguments.steps, faults=arguments.faults), since, survived)
        for finding in survived or ():
            failures += 1
            print(f"seed {seed}: {brief(finding)}", flush=True)
        reach.add(outcome.reach)
        lives, lived_s = lives + 1, lived_s + outcome.took_s
        if outcome.finding is not None:
            failures += 1
            shortest = outcome if arguments.no_shrink else await find_shortest(outcome, since, arguments.shrink_seconds)
            print(explain(seed, shortest), flush=True)
            if not arguments.keep_going:
                break
        seed += 1
        if arguments.trace:
            print("\n".join(outcome.trace))
    if arguments.trace:
        return 1 if failures else 0
    print(show_reach(reach))
    pace = reach.steps / max(lived_s, 1e-9)
    print(f"{lives} lives, {reach.steps} steps, {pace:.0f} steps a second, {failures} findings")
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="the first life's; each further life takes the next")
    parser.add_argument("--steps", type=int, default=300, help="of each life")
    parser.add_argument("--lives", type=int, default=0, help="at most so many; 0 for as many as there is time for")
    parser.add_argument("--keep-going", action="store_true", help="go on after a finding")
    parser.add_argument("--faults", action="store_true", help="cut connections, restart, and run two services")
    parser.add_argument("--trace", action="store_true", help="print every call with the digest of its answer instead")
    parser.add_argument("--list", action="store_true", help="one line for each finding, and life goes on")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--shrink-seconds", type=float, default=120)
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with own_server():
        return asyncio.run(simulate(arguments))


if __name__ == "__main__":
    sys.exit(main())
