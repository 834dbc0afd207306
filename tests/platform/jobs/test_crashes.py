"""Runners that are killed at any moment lose no job and double none."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from gridloom.platform.jobs import cancel, enqueue, store
from gridloom.platform.jobs.rules import MAX_CRASHES

PROCESSES, RUNNERS_EACH = 3, 2
JOBS, KILLS = 240, 5


def start(dsn: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.platform.jobs.runner_process", dsn, str(RUNNERS_EACH)]
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
            async with asyncio.timeout(120):
                while await pool.fetchval("select count(*) from job"):
                    await asyncio.sleep(0.1)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        runs = {row["key"]: row["n"] for row in await pool.fetch("select key, count(*) as n from done group by key")}
        expected = {str(number): 1 for number in range(JOBS) if not cancelled.get(str(number), False)}
        assert runs == expected


async def end_of(process: subprocess.Popen[str]) -> int:
    return await asyncio.to_thread(process.wait, 20)


async def cut_rests_short(pool) -> None:
    while True:
        await pool.execute("update job set not_before = null where kind = 'deadly' and not_before is not null")
        await store.wake(pool)
        await asyncio.sleep(0.1)


class TestAJobThatKillsItsProcess:
    async def test_is_laid_aside_in_the_end_while_the_others_run_once(self, pool, dsn) -> None:
        now = datetime.now(UTC)
        await enqueue(pool, "deadly", key="poison", due=now)
        for number in range(40):
            await enqueue(pool, "count", key=str(number), due=now + timedelta(seconds=0.02 * number))
        resting = asyncio.create_task(cut_rests_short(pool))
        for death in (0, 1, MAX_CRASHES - 2, MAX_CRASHES - 1):
            if death == MAX_CRASHES - 2:  # as if those between had happened: each is a process
                await pool.execute("update job set deaths = $1 where kind = 'deadly'", death - 1)
            assert await end_of(start(dsn)) == -signal.SIGKILL
            assert await pool.fetchval("select deaths from job where kind = 'deadly'") == death
        resting.cancel()
        process = start(dsn)
        try:
            async with asyncio.timeout(120):
                while await pool.fetchval("select count(*) from job where state = 'WAITING'"):
                    await asyncio.sleep(0.05)
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()
        health = await store.health(pool)
        assert (health.dead, health.troubled_kinds) == (1, ["deadly"])
        assert "ended without a trace" in health.troubled[0]["last_error"]
        runs = await pool.fetch("select key, count(*) as n from done group by key")
        assert {row["key"]: row["n"] for row in runs} == {str(number): 1 for number in range(40)}

    async def test_is_tried_again_at_once_after_the_first_time(self, pool, dsn) -> None:
        await enqueue(pool, "deadly", key="a", due=datetime.now(UTC), payload={"times": 1})
        assert await end_of(start(dsn)) == -signal.SIGKILL
        survivor = start(dsn)
        try:
            assert survivor.stdout is not None
            await asyncio.to_thread(survivor.stdout.readline)
            async with asyncio.timeout(120):
                while not await pool.fetchval("select count(*) from done"):
                    await asyncio.sleep(0.02)
        finally:
            survivor.kill()
            survivor.wait()
        assert [tuple(row) for row in await pool.fetch("select key, attempt from done")] == [("a", 2)]
        assert await pool.fetchval("select count(*) from job") == 0
