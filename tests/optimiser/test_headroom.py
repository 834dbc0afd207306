"""Headroom: a PUT of exactly that is accepted, of 1 kW more refused."""

from __future__ import annotations

import os
import random
from datetime import datetime
from typing import Any

import httpx2
import numpy as np
from tests.optimiser.test_proposals import random_battery
from tests.people import People
from tests.virtual_assets.conftest import QUARTER, Battery, wire

from gridloom.optimiser.headroom.formulas import HeadroomFinder
from gridloom.optimiser.limits import plain_reasons
from gridloom.platform.http.application import Application
from gridloom.virtual_assets.energy.projection import ProjectionInput, project
from gridloom.virtual_assets.model import Efficiency


async def read_headroom(battery: Battery, **window: str) -> list[Any]:
    answer = await battery.client.get(f"{battery.url}/headroom", params=window)
    assert answer.status_code == 200, answer.text
    return list(answer.json())


async def try_out(battery: Battery, time: str, power: float) -> int:
    """The status of a schedule of one quarter-hour alone."""
    answer = await battery.client.put(f"{battery.url}/schedule", json={"schedule": [{"time": time, "power": power}]})
    assert answer.status_code in (200, 422), answer.text
    return answer.status_code


class TestTheHeadroom:
    async def test_is_what_a_put_takes_and_not_a_kilowatt_more(
        self, app: Application, people: People, operator: httpx2.AsyncClient
    ) -> None:
        """Over random batteries with blocks, outages, cycles and schedules. EXPLORE=1 tries three hundred."""
        organisation = await people.new_organisation()
        tried = set()
        for seed in range(300 if os.environ.get("EXPLORE") else 8):
            rng = random.Random(seed)
            battery = await random_battery(app, operator, organisation, rng)
            points = await read_headroom(battery, start=battery.asset["start"], end=battery.asset["end"])
            assert len(points) == (battery.end - battery.start) // QUARTER
            stored = {
                one["time"]: one["power"]
                for one in (
                    await battery.client.get(
                        f"{battery.url}/schedule", params={"start": battery.asset["start"], "end": battery.asset["end"]}
                    )
                ).json()["schedule"]
            }
            for point in rng.sample(points, 4):
                for side, sign in (("up", 1), ("down", -1)):
                    reason, power = point["limitedBy"][side], stored[point["time"]]
                    if reason == "GATE":
                        continue
                    tried.add(reason)
                    beyond = await try_out(battery, point["time"], power + sign * (point[side] + 1))
                    if reason != "CYCLES":
                        assert beyond == 422, (seed, side, point)
                    else:
                        assert beyond == 200
                    assert await try_out(battery, point["time"], power + sign * point[side]) == 200, (seed, side, point)
                    assert await try_out(battery, point["time"], power) == 200
        assert {"POWER", "ENERGY"} <= tried

    async def test_of_a_closed_quarter_hour_is_nothing(
        self, app: Application, people: People, operator: httpx2.AsyncClient
    ) -> None:
        organisation = await people.new_organisation()
        battery = await random_battery(app, operator, organisation, random.Random(1))
        await app.pool.execute("select 1")
        late = await battery.client.get(
            f"{battery.url}/headroom",
            params={"start": wire(datetime.fromisoformat("2020-01-01T00:00Z")), "end": "2020-01-02T00:00:00Z"},
        )
        assert late.json() == [], "before its life"
        long = await battery.client.get(
            f"{battery.url}/headroom", params={"start": "2020-01-01T00:00:00Z", "end": "2019-01-01T00:00:00Z"}
        )
        assert long.status_code == 400


class TestTryingOut:
    def test_asks_six_times_for_a_quarter_hour_where_what_was_computed_is_right(self) -> None:
        """Each time projects the whole life, and a week has 672 quarter-hours."""
        count, limit_kw = 96, np.full((1, 96), 8000.0)
        inputs = ProjectionInput(
            np.zeros((1, count)), limit_kw, limit_kw, np.zeros(count), np.full(count, 2000.0), 1000.0, 2000.0,
            Efficiency(1.0, 1.0),
        )  # fmt: skip
        tried_kw = []

        def accepts(_: int, power_kw: float) -> bool:
            tried_kw.append(power_kw)
            return abs(power_kw) <= 4000

        found = HeadroomFinder(inputs, project(inputs), plain_reasons(count), accepts).find(5)
        assert (found.up_kw, found.down_kw) == (4000.0, 4000.0)
        assert tried_kw == [8000, 4001, 4000, -8000, -4001, -4000]

    def test_comes_within_a_kilowatt_of_what_was_computed_too_high(self) -> None:
        count, limit_kw = 4, np.full((1, 4), 8000.0)
        inputs = ProjectionInput(
            np.zeros((1, count)), limit_kw, limit_kw, np.zeros(count), np.full(count, 2000.0), 1000.0, 2000.0,
            Efficiency(1.0, 1.0),
        )  # fmt: skip
        found = HeadroomFinder(inputs, project(inputs), plain_reasons(count), lambda _, kw: -5000.3 <= kw <= 1234.5)
        one = found.find(0)
        assert 1233.5 < one.up_kw <= 1234.5
        assert 4999.3 < one.down_kw <= 5000.3
