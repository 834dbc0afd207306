"""A simulator whose members have other passwords than its home remembers: it says so, once, and lets it be."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.simulator.worlds import simulated_world

from gridloom.serving.simulator_process import LOGIN_REJECTED_DELAY_S, SimulatorProcess
from gridloom.settings import Settings
from gridloom.simulator.credentials import SHUT_OUT_STATUS, SimulatorCredentials, new_secret
from gridloom.simulator.main_loop import LoginRejectedError, run_forever


async def test_a_simulator_whose_members_are_unknown_gives_up(settings: Settings, tmp_path: Path):
    async with simulated_world(settings, tmp_path, days=0) as world:
        elsewhere = SimulatorCredentials(new_secret(), invitation="glinv_of_another_database")
        async with asyncio.timeout(60):
            with pytest.raises(LoginRejectedError):
                await run_forever(world.connect, elsewhere)


async def test_whoever_asks_is_told_why_the_world_stands_still_until_it_moves_again(settings: Settings, tmp_path: Path):
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
