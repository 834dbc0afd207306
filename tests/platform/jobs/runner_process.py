"""A process that runs jobs until it is killed: `python -m tests.platform.jobs.runner_process DSN RUNNERS`."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import sys

import structlog
from tests.platform.jobs.known import known_job

from gridloom.platform.database.listener import Listener
from gridloom.platform.database.pool import create_pool
from gridloom.platform.jobs import JobRun, JobRunner


@known_job("count")
async def count(run: JobRun) -> None:
    await run.db.execute("insert into done (key, attempt) values ($1, $2)", run.key, run.attempt)
    await asyncio.sleep(random.uniform(0, 0.03))
    if random.random() < 0.05:
        raise ValueError("bad luck")


@known_job("deadly")
async def kill_the_process(run: JobRun) -> None:
    """As a segmentation fault or the kernel's hunt for memory would."""
    await run.db.execute("insert into done (key, attempt) values ($1, $2)", run.key, run.attempt)
    await asyncio.sleep(run.payload.get("after_s", 0))
    if run.attempt <= run.payload.get("times", 1_000_000):
        os.kill(os.getpid(), signal.SIGKILL)


async def main(dsn: str, runners: int) -> None:
    # Nothing but "ready" is read of what this process prints: a pipe full of tracebacks would stop it.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    pool = await create_pool(dsn, size=10)
    listener = Listener(dsn)
    for _ in range(runners):
        runner = JobRunner(pool)
        runner.attach(listener)
        await runner.start()
    await listener.start()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
