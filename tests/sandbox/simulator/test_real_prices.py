"""A world beside a feed of real prices: it trades on them where they are known, and on its own where they are not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.feeds.conftest import configure
from tests.feeds.stand_in import Canned, StandIn, midnight, quarters, value
from tests.sandbox.simulator.worlds import SimulatedWorld, simulated_world

from gridloom.kernel.market_time import market_day_of
from gridloom.sandbox.simulator.credentials import SimulatorCredentials, new_secret, write_credentials
from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.settings import Settings

pytestmark = pytest.mark.slow


async def test_are_traded_where_known_and_without_their_source_the_world_says_so_and_goes_on(
    settings: Settings, tmp_path: Path
) -> None:
    """Its source has yesterday's prices and, since then, none."""
    with StandIn() as stand_in:
        yesterday = market_day_of(datetime.now(UTC)) - timedelta(days=1)
        stand_in.clock = lambda: midnight(yesterday) - timedelta(hours=2)
        write_credentials(tmp_path, SimulatorCredentials(new_secret()))  # a service knows its simulator from the start
        asked = configure(replace(settings, feeds=("smard",), simulator=True), stand_in)
        async with simulated_world(asked, tmp_path, days=2) as world:
            await world.live_until()
            today = yesterday + timedelta(days=1)
            published = {day: await list_prices(world, day) for day in (yesterday, today)}
            real = {start: value("DAY_AHEAD", start) for start in quarters(yesterday)}
            own = dict(zip(quarters(today), DayAhead(1).quarter_hours(today).tolist(), strict=True))
            assert published[yesterday] == {start: (price, "smard") for start, price in real.items()}
            assert published[today] == {start: (price, "SIMULATOR") for start, price in own.items()}
            span = {"start": midnight(yesterday).isoformat(), "end": midnight(today + timedelta(days=1)).isoformat()}
            traded = [
                (datetime.fromisoformat(row["time"]), float(row["price"]))
                for row in await world.pages("/settlements/wholesale-trades", **span)
                if row["market"] == "DAY_AHEAD"
            ]
            assert {market_day_of(start) for start, _ in traded} >= {yesterday, today}
            assert set(traded) <= (real | own).items()
            stand_in.faults["smard"] = Canned(503)
            run = await run_feed(world)
            assert (run["status"], "answered 503" in run["fault"]) == ("FAILED", True), run
            await world.live_on()
            ready = await world.get("/health/ready")
            told = next(one for one in ready["checks"] if one["name"] == "feeds")
            assert told["status"] == "DEGRADED"
            assert "smard: day-ahead" in told["detail"]


async def list_prices(world: SimulatedWorld, day: Any) -> dict[datetime, tuple[float, str]]:
    span = {"start": midnight(day).isoformat(), "end": midnight(day + timedelta(days=1)).isoformat()}
    rows = await world.get("/reference-prices", series="DAY_AHEAD_DE_LU", limit=200, **span)
    return {datetime.fromisoformat(row["start"]): (float(row["price"]), row["source"]) for row in rows}


async def run_feed(world: SimulatedWorld) -> Any:
    answer = await world.operator.post("/feeds/smard/runs", json={})
    assert answer.status_code == 202, answer.text
    async with asyncio.timeout(60):
        while True:
            runs = await world.get("/feeds/smard/runs")
            run = next(one for one in runs if one["id"] == answer.json()["id"])
            if run["status"] in ("DONE", "FAILED"):
                return run
            await asyncio.sleep(0.1)
