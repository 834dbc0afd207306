"""A world whose past is over: at a speed at which a person can follow, every minute is reported as it passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.sandbox.simulator.worlds import SimulatedWorld

from gridloom.kernel.market_time import PERIOD, floor_to_period
from gridloom.sandbox import simulated_clock, simulator_routes
from gridloom.sandbox.simulator import main_loop

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)
SPEED = 120.0
FOLLOWED_SPEED = 20.0
MAX_TEST_S = 600.0
"""On the busiest machine: nothing here is a matter of seconds."""


@pytest.fixture
async def present(world: SimulatedWorld) -> AsyncIterator[SimulatedWorld]:
    """The world at its usual speed, to which it returns."""
    speed = (await world.get("/sandbox/simulator"))["speed"]
    yield world
    await world.operator.put("/sandbox/simulator", json={"speed": speed})


async def read_minutes(world: SimulatedWorld, asset_id: str, start: datetime) -> dict[str, dict[datetime, float]]:
    """The quarter-hour from `start` on, as it is known now."""
    span = {"start": start.isoformat(), "end": (start + PERIOD).isoformat()}
    found: Any = await world.get(f"/monitoring/{asset_id}/datapoints", resolution="raw", **span)
    return {
        signal: {datetime.fromisoformat(point["time"]): point["value"] for point in points}
        for signal, points in found["data"].items()
    }


async def test_minutes_are_reported_one_by_one_and_stay_as_they_were(
    present: SimulatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_loop, "WATCHABLE_SPEED", SPEED)
    asset_id = (await present.get("/physical-assets"))[0]["id"]
    answer = await present.operator.put("/sandbox/simulator", json={"speed": SPEED})
    assert answer.status_code == 200, answer.text
    async with present.alive(), asyncio.timeout(MAX_TEST_S):
        # Within a quarter-hour that is not over, some of its minutes are known and the rest are not.
        while True:
            step = floor_to_period(await present.now())
            first = await read_minutes(present, asset_id, step)
            if 2 <= len(first.get("active_power", {})) < 12:
                break
            await asyncio.sleep(0.1)
        times = sorted(first["active_power"])
        assert times == [step + number * MINUTE for number in range(len(times))]
        assert {"state_of_charge", "frequency", "temperature"} <= first.keys()
        while len((later := await read_minutes(present, asset_id, step))["active_power"]) == len(times):
            await asyncio.sleep(0.1)
        # The step at its end reports the whole quarter-hour, and changes nothing of what was told before.
        while await present.now() < step + PERIOD + MINUTE:
            await asyncio.sleep(0.1)
        whole = await read_minutes(present, asset_id, step)
    assert sorted(whole["active_power"]) == [step + number * MINUTE for number in range(15)]
    for told in (first, later):
        for signal, points in told.items():
            assert points.items() <= whole[signal].items(), signal


async def test_telemetry_is_fresh_once_the_past_is_over_and_after_every_jump(
    present: SimulatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated_clock, "MAX_REPORT_WAIT_S", MAX_TEST_S)
    assets = [asset["id"] for asset in await present.get("/physical-assets")]
    async with asyncio.timeout(MAX_TEST_S), present.alive():
        while await measure_age(present, assets[0]) > 2 * MINUTE:
            await asyncio.sleep(0.25)
        # To the last minutes of a quarter-hour, within it, and across several.
        for jump in (timedelta(minutes=14, seconds=20), timedelta(hours=2, minutes=9), timedelta(minutes=20)):
            target = floor_to_period(await present.now()) + PERIOD + jump
            answer = await present.operator.put("/sandbox/clock", json={"now": target.isoformat()})
            assert answer.status_code == 200, answer.text
            for asset_id in assets:
                assert await measure_age(present, asset_id) <= 2 * MINUTE, jump


async def test_telemetry_goes_on_within_the_quarter_hour_after_a_restart(
    present: SimulatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_loop, "WATCHABLE_SPEED", FOLLOWED_SPEED)
    monkeypatch.setattr(simulator_routes, "PATIENCE_S", 0.2)
    asset_id = (await present.get("/physical-assets"))[0]["id"]
    async with asyncio.timeout(MAX_TEST_S):
        while not await is_gone_on_with(present, asset_id):
            pass


async def is_gone_on_with(world: SimulatedWorld, asset_id: str) -> bool:
    """False where a slow machine has let the quarter-hour pass: its end reports all of it in any case."""
    async with world.alive():
        step = floor_to_period(await world.now()) + PERIOD
        await world.operator.put("/sandbox/simulator", json={"speed": 1})
        await world.operator.put("/sandbox/clock", json={"now": (step + 2 * MINUTE).isoformat()})
        before = await read_minutes(world, asset_id, step)
    await world.operator.put("/sandbox/simulator", json={"speed": FOLLOWED_SPEED})
    async with world.alive():
        while len(known := (await read_minutes(world, asset_id, step)).get("active_power", {})) <= len(
            before.get("active_power", {})
        ):
            assert await world.now() < step + PERIOD, "nothing was reported until the quarter-hour's end"
            await asyncio.sleep(0.1)
    return len(known) < 15


async def measure_age(world: SimulatedWorld, asset_id: str) -> timedelta:
    """How old the newest measurement is, by the platform's clock."""
    now = await world.now()
    known = await read_minutes(world, asset_id, floor_to_period(now))
    newest = max(known.get("active_power", {}), default=floor_to_period(now) - PERIOD)
    return now - newest
