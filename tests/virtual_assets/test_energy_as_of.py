"""Energy as it was known at a moment: by the schedules and the settled activations of then."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.virtual_assets.conftest import QUARTER, Battery, wire
from tests.virtual_assets.test_projection_loading import make_running, settle
from tests.virtual_assets.test_revalidation import advance, lose, make
from tests.virtual_assets.test_schedules import problem

from gridloom.platform.database.clock import platform_now

__all__ = ["make", "make_running"]


async def read(battery: Battery, path: str, **params: str) -> Any:
    answer = await battery.client.get(f"{battery.url}/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def energies(battery: Battery, as_of: datetime | None = None) -> list[float]:
    moment = {} if as_of is None else {"as-of": wire(as_of)}
    points = await read(
        battery, "state-of-energy/projected", start=battery.asset["start"], end=battery.asset["end"], **moment
    )
    return [point["energy"] for point in points]


async def moment_of(battery: Battery) -> datetime:
    """A moment behind all that was done so far, and before all that is done next."""
    return await platform_now(battery.edge.pool)


class TestActivations:
    async def test_count_from_when_they_were_settled(self, operator, make_running):
        battery = await make_running()
        before = await moment_of(battery)
        await settle(operator, battery, battery.start, [0.5] * 8)
        settled = await moment_of(battery)
        await settle(operator, battery, battery.start, [0.0] * 4)
        assert (await energies(battery, before))[8] == pytest.approx(5000)
        assert (await energies(battery, settled))[8] == pytest.approx(1000)
        assert (await energies(battery))[8] == pytest.approx(3000)
        latest = await read(battery, "state-of-energy/latest", **{"as-of": wire(settled)})
        assert latest["energy"] == pytest.approx(1000)
        assert latest["time"] == wire(settled)[:23] + "Z"
        ahead = await read(battery, "state-of-energy/latest", **{"as-of": battery.asset["end"]})
        assert ahead["time"] < wire(await moment_of(battery) + QUARTER), "what is to come is not known"
        assert ahead["energy"] == pytest.approx(3000)

    async def test_lose_on_the_way(self, operator, make_running):
        battery = await make_running(chargeEfficiency=0.8, dischargeEfficiency=0.5)
        await settle(operator, battery, battery.start, [0.5])
        await settle(operator, battery, battery.start + QUARTER, [0.5], "NEG")
        assert (await energies(battery, await moment_of(battery)))[:3] == pytest.approx([5000, 4000, 4400])

    async def test_that_were_corrected_are_unexplained_only_as_they_were(self, operator, make_running):
        battery = await make_running()
        await settle(operator, battery, battery.start, [3.0, 3.0, 3.0])
        contradicting = await moment_of(battery)
        await settle(operator, battery, battery.start, [1.0, 1.0, 1.0])
        window = {"start": battery.asset["start"], "end": battery.asset["end"]}
        then = await read(battery, "state-of-energy/projected", **window, **{"as-of": wire(contradicting)})
        assert [point.get("unexplainedEnergy") for point in then[:4]] == [None, 1000, 3000, None]
        assert not any("unexplainedEnergy" in point for point in await read(battery, "state-of-energy/projected"))

    async def test_count_as_cycles_by_what_was_known(self, operator, make_running):
        battery = await make_running()
        await settle(operator, battery, battery.start, [2.5, 1.0])
        settled = await moment_of(battery)
        await settle(operator, battery, battery.start, [5.0])
        window = {"start": wire(battery.start + QUARTER), "end": wire(battery.start + 2 * QUARTER)}
        series = {"categories": "cyclesAFRR,cyclesTotal", **window}
        then = (await read(battery, "operational", **series, **{"as-of": wire(settled)}))["data"]
        assert {name: points[0]["value"] for name, points in then.items()} == {"cyclesAFRR": 0.35, "cyclesTotal": 0.35}
        now = (await read(battery, "operational", **series))["data"]
        assert now["cyclesAFRR"][0]["value"] == 0.6


class TestSchedules:
    async def test_that_were_cut_since_say_what_was_expected(self, make):
        battery = await make()
        await battery.put([800] * 4)
        await lose(battery, 0, 2, power=1000)
        expected = await moment_of(battery)
        await advance(battery.edge, battery.start + 8 * QUARTER)
        window = {"start": battery.asset["start"], "end": battery.asset["end"], "as-of": wire(expected)}
        then = await read(battery, "state-of-energy/projected", **window)
        assert [place for place, point in enumerate(then) if "expectedCut" in point] == [0, 1]
        assert [point["energy"] for point in then] == pytest.approx(await energies(battery))
        assert await read(battery, "state-of-energy/projected", **{"as-of": wire(expected)}) == then, "from then on"

    async def test_of_a_time_before_the_asset_was_there_are_not_found(self, make_battery):
        battery = await make_battery()
        early = wire(await moment_of(battery) - timedelta(days=30))
        for path in ("state-of-charge", "state-of-energy/latest", "state-of-energy/projected", "operational"):
            answer = await battery.client.get(f"{battery.url}/{path}", params={"as-of": early})
            problem(answer, 404, "not-found")
