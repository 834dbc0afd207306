"""A year-long asset costs what is asked of it, not what it holds."""

from datetime import timedelta

import numpy as np
import pytest
from tests.virtual_assets.conftest import QUARTER, tomorrow, wire


@pytest.fixture
async def year(make_battery):
    start = tomorrow()
    return await make_battery(start=wire(start), end=wire(start + timedelta(days=365)))


def a_years_powers():
    """Charges in the night and discharges in the evening, the same energy each day."""
    day = np.zeros(96)
    day[8:12], day[72:76] = -900, 769.5
    return np.tile(day, 365).tolist()


class TestYear:
    async def test_is_scheduled_at_once(self, year):
        body = year.points(a_years_powers())
        answer = await year.client.put(year.block_url, json=body, timeout=30)
        assert answer.status_code == 200, answer.text
        assert answer.json()["imbalance"]["balanced"] is True
        assert len(answer.json()["schedule"]) == 672
        assert [point["power"] for point in (await year.life())["schedule"]] == a_years_powers()

    async def test_is_read_in_slices_that_say_the_same(self, year):
        await year.put(a_years_powers())
        life = await year.life()
        assert len(life["powerCapacity"]) == 35_040
        assert (
            life["powerCapacity"][0].keys() == (await year.client.get(year.block_url)).json()["powerCapacity"][0].keys()
        )
        assert (await year.client.get(year.block_url)).headers["ETag"] == (
            await year.client.get(year.block_url, params={"start": year.asset["start"], "end": year.asset["end"]})
        ).headers["ETag"]
        params = {"start": year.asset["start"], "end": year.asset["end"]}
        operational = (await year.client.get(f"{year.url}/operational", params=params)).json()
        assert {len(points) for points in operational["data"].values()} == {35_040}
        charge = (await year.client.get(f"{year.url}/state-of-charge", params=params)).json()
        every_time = [point["time"] for point in charge]
        assert every_time == [wire(year.start + place * QUARTER) for place in range(35_040)]
        for series in (life["schedule"], life["powerCapacity"], operational["data"]["cyclesTotal"]):
            assert [point["time"] for point in series] == every_time

    async def test_keeps_the_energy_of_every_one_of_its_days(self, year):
        """0.45 kWh are charged on each; what the last day begins with is added up from what each day was kept with."""
        day = [-2.0, *[0.0] * 95]
        assert (await year.put(day * 365)).status_code == 200
        params = {"start": wire(year.end - timedelta(days=1)), "end": year.asset["end"]}
        last_day = (await year.client.get(f"{year.url}/state-of-energy/projected", params=params)).json()
        assert last_day[0]["energy"] == pytest.approx(1000 + 364 * 0.45)
        assert last_day[-1]["energy"] == pytest.approx(1000 + 365 * 0.45)
