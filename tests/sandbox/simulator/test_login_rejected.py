"""A simulator whose members have other passwords than its home remembers: it says so, once, and lets it be."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.simulator.worlds import connect_within, simulated_world

from gridloom.commands.operator import invite_simulator
from gridloom.commands.serving.simulator_process import LOGIN_REJECTED_DELAY_S, SimulatorProcess
from gridloom.sandbox.simulator.credentials import SHUT_OUT_STATUS, SimulatorCredentials, new_secret, read_credentials
from gridloom.sandbox.simulator.main_loop import LoginRejectedError, run_forever
from gridloom.settings import Settings


async def test_a_simulator_whose_members_are_unknown_gives_up(settings: Settings, tmp_path: Path):
    async with simulated_world(settings, tmp_path, days=0) as world:
        elsewhere = SimulatorCredentials(new_secret(), invitation="glinv_of_another_database")
        async with asyncio.timeout(120):
            with pytest.raises(LoginRejectedError):
                await run_forever(world.connect, elsewhere)


async def test_status_says_why_the_world_is_stopped_until_it_moves_again(settings: Settings, tmp_path: Path):
    async with simulated_world(settings, tmp_path, days=0) as world:
        process = SimulatorProcess(replace(world.settings, simulator=True, home=tmp_path))
        process.process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({SHUT_OUT_STATUS})"])
        process.process.wait(30)
        await asyncio.to_thread(process.keep_alive)
        assert process.process is None, "it is not started again at once"
        assert process.due > time.monotonic() + LOGIN_REJECTED_DELAY_S / 2
        shown = await world.get("/sandbox/simulator")
        assert shown["fault"].startswith(f"The simulator cannot sign in with what {tmp_path}/simulator.json holds")
        taken = await world.operator.put("/sandbox/simulator/step", json={})
        assert taken.status_code == 200, taken.text
        assert "fault" not in await world.get("/sandbox/simulator")


async def test_the_first_start_is_never_refused_and_the_invitation_is_not_stored(settings: Settings, tmp_path: Path):
    async with simulated_world(settings, tmp_path, days=0) as world:
        statuses: list[int] = []

        async def recording(scope: Any, receive: Any, send: Any) -> None:
            async def record(message: Any) -> None:
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])
                await send(message)

            await world.edge(scope, receive, record)

        life = asyncio.create_task(run_forever(connect_within(recording), world.kept))  # type: ignore[arg-type]
        async with asyncio.timeout(120):
            while len(statuses) < 12:
                await asyncio.sleep(0.1)
        life.cancel()
        with suppress(asyncio.CancelledError):
            await life
        assert 401 not in statuses
        assert world.kept.invitation is not None
        async with world.edge.pool.acquire() as connection:
            await invite_simulator(connection, tmp_path)
        assert read_credentials(tmp_path) == SimulatorCredentials(world.kept.secret)
