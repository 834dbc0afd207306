"""Runners that are killed at any moment lose no job and double none."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from gridloom.jobs import cancel, enqueue

PROCESSES, RUNNERS_EACH = 4, 2
JOBS, KILLS = 300, 6


def start(dsn: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.jobs.runner_process", dsn, str(RUNNERS_EACH)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.slow
class TestKilledRunners:
    async def test_lose_no_job_and_double_none(self, pool, dsn) -> None:
        dice = random.Random(8)
        processes = [start(dsn) for _ in range(PROCESSES)]
        cancelled: dict[str, bool] = {}
        try:
            assert processes[0].stdout is not None
            await asyncio.to_thread(processes[0].stdout.readline)
            began = datetime.now(UTC)
            for number in range(JOBS):
                await enqueue(pool, "count", key=str(number), due=began + timedelta(seconds=dice.uniform(0, 4)))
            for _ in range(KILLS):
                await asyncio.sleep(dice.uniform(0.2, 0.7))
                victim = dice.randrange(PROCESSES)
                processes[victim].kill()
                processes[victim].wait()
                processes[victim] = start(dsn)
                for key in dice.sample(range(JOBS), 10):
                    cancelled[str(key)] = await cancel(pool, "count", str(key)) or cancelled.get(str(key), False)
            async with asyncio.timeout(60):
                while await pool.fetchval("select count(*) from job"):
                    await asyncio.sleep(0.1)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        runs = {row["key"]: row["n"] for row in await pool.fetch("select key, count(*) as n from done group by key")}
        expected = {str(number): 1 for number in range(JOBS) if not cancelled.get(str(number), False)}
        assert runs == expected
