"""Processes that run jobs and nothing else, to be killed.

They are forked from one that has imported everything, so that a new one is at work as soon as an old one is gone.
`Runners` starts it as `python -m bench.runners <database> <count>`; it ends, with all its children, when its standard
input does.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from random import Random
from typing import NoReturn

import psutil

from gridloom.platform.database.pool import create_pool, detect_distribution
from gridloom.platform.jobs import JobRunner
from gridloom.wiring import provide_dependencies


class Runners:
    """So many processes, whatever happens to them."""

    def __init__(self, database_url: str, count: int) -> None:
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "bench.runners", database_url, str(count)], stdin=subprocess.PIPE
        )
        self._count = count

    def __enter__(self) -> Runners:
        deadline = time.monotonic() + 120
        while len(self.living()) < self._count:
            assert self._nursery.poll() is None, "the runners ended by themselves"
            assert time.monotonic() < deadline, "the runners did not start"
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._nursery.stdin is not None
        self._nursery.stdin.close()
        self._nursery.wait(30)

    def living(self) -> list[psutil.Process]:
        children: list[psutil.Process] = psutil.Process(self._nursery.pid).children()
        return children

    def kill_one(self, chance: Random) -> bool:
        """`kill -9` for one of them, whatever it is doing."""
        living = self.living()
        if not living:
            return False
        with suppress(psutil.NoSuchProcess):
            chance.choice(living).kill()
            return True
        return False


async def _run_jobs(database_url: str) -> None:
    pool = await create_pool(database_url, size=2, application_name="gridloom-bench-runner")
    await detect_distribution(pool)
    runner = JobRunner(pool, max_concurrent=1, poll_interval_s=0.2)
    await runner.start()
    await asyncio.Event().wait()


def _fork(database_url: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        asyncio.run(_run_jobs(database_url))
    finally:
        os._exit(1)


def main(database_url: str, count: int) -> NoReturn:
    provide_dependencies()
    living = {_fork(database_url) for _ in range(count)}
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        gone, _ = os.waitpid(-1, os.WNOHANG)
        if gone:
            living.discard(gone)
            living.add(_fork(database_url))
    for pid in living:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    sys.exit()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
