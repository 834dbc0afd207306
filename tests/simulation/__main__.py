"""`python -m tests.simulation --seconds 60 --seed 1`: live random lives until time is up, and say what was met.

The first broken promise is shrunk, printed as a script of `curl` lines, and ends the run.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import pickle
import signal
import sys
import time
from pathlib import Path

import structlog
import uvloop
from tests.database_server import read_server_cpu_s
from tests.simulation.calls import Finding
from tests.simulation.harness import brief, explain, find_shortest, own_server, run_life, script_of, start_of
from tests.simulation.parallel import ENDED, run_parallel
from tests.simulation.report import Total, list_unreached, show_reach

STORMY_EVERY = 4
"""One life in so many has faults, also where they are not asked for."""
LONG_RUN_S = 600
"""A run of so many seconds meets everything that can be met, or fails."""


async def simulate(arguments: argparse.Namespace) -> Total:
    total, begun_s = Total(), time.process_time()
    deadline = time.monotonic() + arguments.seconds
    seed = arguments.seed
    while time.monotonic() < deadline and (not arguments.lives or total.lives < arguments.lives):
        since, is_stormy = start_of(seed), not arguments.trace and seed % STORMY_EVERY == 0
        survived: list[Finding] | None = [] if arguments.list else None
        script = script_of(seed, arguments.steps, faults=arguments.faults or is_stormy)
        outcome = await run_life(script, since, survived, is_traced=arguments.trace)
        for finding in survived or ():
            total.failures += 1
            print(f"seed {seed}: {brief(finding)}", flush=True)
        total.reach.add(outcome.reach)
        total.lives += 1
        if outcome.finding is not None:
            total.failures += 1
            shortest = outcome if arguments.no_shrink else await find_shortest(outcome, since, arguments.shrink_seconds)
            print(explain(seed, shortest, f", step {total.reach.steps} of the run"), flush=True)
            if not arguments.keep_going:
                break
        seed += arguments.stride
        if arguments.trace:
            print("\n".join(outcome.trace))
    total.own_cpu_s = time.process_time() - begun_s
    return total


def run(arguments: argparse.Namespace) -> int:
    begun_s = time.monotonic()
    total = run_lives(arguments) if arguments.jobs == 1 else run_parallel(arguments)
    if arguments.report is not None:
        arguments.report.write_bytes(pickle.dumps(total))
    elif not arguments.trace:
        print(show_reach(total.reach))
        print(show_cost(total, time.monotonic() - begun_s))
        is_long = arguments.seconds >= LONG_RUN_S and not arguments.lives and not total.failures
        return 1 if total.failures or (is_long and list_unreached(total.reach)) else 0
    return 1 if total.failures else 0


def run_lives(arguments: argparse.Namespace) -> Total:
    """In this process, with the event loop and the garbage collection of a deployed worker."""
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(simulate(arguments))


def show_cost(total: Total, took_s: float) -> str:
    """Processor time by step: of the service in these processes, of everything else in them, and of PostgreSQL."""
    steps = max(total.reach.steps, 1)
    service_ms = 1000 * total.reach.service_cpu_s / steps
    rest_ms = 1000 * total.own_cpu_s / steps - service_ms
    server_ms = 1000 * read_server_cpu_s() / steps
    own = f"service {service_ms:.1f} ms, actors and oracle {rest_ms:.1f} ms"
    by_cpu = f"{1000 / (service_ms + rest_ms + server_ms):.0f} steps a second of processor time"
    pace = f"{total.lives} lives, {total.reach.steps} steps, {total.reach.steps / took_s:.0f} steps a second"
    return f"processor a step: {own}, PostgreSQL {server_ms:.1f} ms: {by_cpu}\n{pace}, {total.failures} findings"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="the first life's; each further life takes the next")
    parser.add_argument("--stride", type=int, default=1, help="how far the next life's seed is")
    parser.add_argument("--steps", type=int, default=300, help="of each life")
    parser.add_argument("--lives", type=int, default=0, help="at most so many; 0 for as many as there is time for")
    parser.add_argument("--jobs", type=int, default=1, help="processes, on one PostgreSQL")
    parser.add_argument("--report", type=Path, help="write what was met into this file instead of printing it")
    parser.add_argument("--keep-going", action="store_true", help="go on after a finding")
    parser.add_argument("--faults", action="store_true", help="cut connections, restart, and run two services")
    parser.add_argument("--trace", action="store_true", help="print every call with the digest of its answer instead")
    parser.add_argument("--list", action="store_true", help="one line for each finding, and life goes on")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--shrink-seconds", type=float, default=120)
    return parser.parse_args()


def main() -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)  # it says at length that a restarted server is away
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ENDED))  # so that what a life has started ends with it
    with own_server():
        return run(read_arguments())


if __name__ == "__main__":
    sys.exit(main())
