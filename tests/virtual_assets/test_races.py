"""Writers who race on one asset: both fit, or one is refused; the trajectory never leaves its bounds."""

import asyncio
import random
from typing import Any

import asyncpg
import numpy as np
import pytest
from tests.concurrency import answer_after_change, assert_etag_follows
from tests.virtual_assets.conftest import MakeBattery

from gridloom.kernel.market_time import period_number
from gridloom.market_calendar import first_period_of_utc_day
from gridloom.virtual_assets.energy.trajectory import energy_trajectory_kwh, tolerance_kwh
from gridloom.virtual_assets.model import Efficiency

WRITERS = 16
ROUNDS = 3
WRITES_EACH = 16


async def energies_in_the_database(battery):
    """The trajectory, computed here from nothing but the rows."""
    pool = battery.edge.pool
    key = await pool.fetchval("select key from asset where id = $1", battery.asset["id"])
    rows = await pool.fetch("select day, power_kw from virtual_schedule where asset_key = $1", key)
    first, end = period_number(battery.start), period_number(battery.end)
    power_kw = np.zeros(end - first)
    for row in rows:
        for slot, power in enumerate(row["power_kw"]):
            place = first_period_of_utc_day(row["day"]) + slot - first
            if power:
                power_kw[place] += power
    efficiency = Efficiency(battery.asset["chargeEfficiency"], battery.asset["dischargeEfficiency"])
    return energy_trajectory_kwh(battery.asset["energyCapacity"] / 2, power_kw, efficiency), power_kw


RENAME = """update virtual_asset v set name = 'Renamed', revision = revision + 1
            from asset a where a.key = v.asset_key and a.id = $1"""


class TestAChange:
    """While another one of the same asset is written and not yet committed."""

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            pytest.param("PUT", "/blocks/{block}", {"powers": [-1000]}, id="of a block's schedule"),
            pytest.param("PUT", "/schedule", {"powers": [-1000]}, id="of the asset's schedule"),
            pytest.param("PATCH", "", {"name": "Late"}, id="of the name"),
            pytest.param("DELETE", "/blocks/{block}", None, id="that gives a block back"),
            pytest.param("DELETE", "", None, id="that undoes the allocation"),
        ],
    )
    async def test_waits_and_does_not_overwrite_what_it_did_not_see(
        self, make_battery: MakeBattery, operator: Any, method: str, path: str, body: Any
    ):
        battery = await make_battery()
        block = (await battery.carve(0, 16, "FCR", 200, 200)).json()["id"]
        etag = (await battery.client.get(battery.url)).headers["ETag"]
        is_schedule = method == "PUT"
        late = await answer_after_change(
            battery.edge,
            (operator if (method, path) == ("DELETE", "") else battery.client).request(
                method,
                battery.url + path.format(block=battery.asset["blockIDs"][0] if is_schedule else block),
                json=battery.points(body["powers"], 20) if is_schedule else body,
                headers={"If-Match": etag},
            ),
            RENAME,
            battery.asset["id"],
        )
        assert late.status_code == 412, late.text
        assert (await battery.read())["name"] == "Renamed"

    async def test_of_blocks_waits_and_answers_what_is_read_then(self, make_battery: MakeBattery):
        battery = await make_battery()
        late = await answer_after_change(
            battery.edge, battery.carve(0, 16, "FCR", 200, 200), RENAME, battery.asset["id"]
        )
        await assert_etag_follows(battery.client, late.headers["Location"], late)


class TestRacingWriters:
    async def test_never_leave_a_trajectory_out_of_bounds(self, make_battery):
        """Some write here and there, some empty or fill the battery as far as it goes, from two blocks."""
        battery = await make_battery()
        later = (await battery.carve(96, 96, "WHOLESALE", 1000, 1000)).json()["id"]
        dice = random.Random(7)
        slack = tolerance_kwh(2000)
        statuses: dict[int, int] = {}

        async def write(count):
            for _ in range(count):
                offset, length = dice.randrange(96), dice.choice([1, 1, 2, 4, 8])
                length = min(length, 96 - offset)
                power = dice.choice([-1000, -700, -300, 0, 250, 600, 1000])
                block = dice.choice([battery.asset["blockIDs"][0], later])
                if block == later:
                    offset += 96
                answer = await battery.put([power] * length, offset, url=f"{battery.url}/blocks/{block}")
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1

        async def watch():
            """What is read meanwhile is one moment of the asset, never a mixture of two."""
            while True:
                energies = await battery.energies()
                assert -slack <= min(energies) <= max(energies) <= 2000 + slack
                await asyncio.sleep(0.05)

        for _ in range(ROUNDS):
            watcher = asyncio.create_task(watch())
            await asyncio.gather(*(write(WRITES_EACH) for _ in range(WRITERS)))
            assert not watcher.done(), watcher
            watcher.cancel()
            energy_kwh, _ = await energies_in_the_database(battery)
            assert energy_kwh.min() >= -slack
            assert energy_kwh.max() <= 2000 + slack
            asset = await battery.read()
            assert asset["endStateOfChargePercentage"] == pytest.approx(100 * energy_kwh[-1] / 2000)
            assert await battery.energies() == pytest.approx(energy_kwh[:-1].tolist(), abs=1e-6)
        assert sum(statuses.values()) == WRITERS * ROUNDS * WRITES_EACH
        assert set(statuses) == {200, 422}, statuses
        assert min(statuses.values()) > 50
        versions = await battery.edge.pool.fetchval(
            "select count(*) from schedule_version join asset on key = asset_key where id = $1", battery.asset["id"]
        )
        assert versions == 2 + statuses[200]

    async def test_who_cannot_both_fit_end_with_one(self, make_battery):
        """Each alone fits; together they would fill the battery twice."""
        for _ in range(5):
            battery = await make_battery()
            answers = await asyncio.gather(
                battery.put([-1000] * 4), battery.put([-1000] * 4, offset=40), battery.put([-1000] * 4, offset=90)
            )
            assert sorted(answer.status_code for answer in answers) == [200, 422, 422]

    async def test_with_the_same_version_end_with_one(self, make_battery):
        battery = await make_battery()
        etag = (await battery.client.get(battery.block_url)).headers["ETag"]

        async def write(power):
            return await battery.client.put(battery.block_url, json=battery.points([power]), headers={"If-Match": etag})

        answers = await asyncio.gather(*(write(power) for power in range(1, 9)))
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7

    async def test_leave_connections_to_other_requests(self, make_battery, database_url):
        """A transaction has locked the asset's row, and more wait for it than there are connections."""
        battery, other = await make_battery(), await make_battery()
        holder = await asyncpg.connect(database_url)
        async with holder.transaction():
            await holder.execute(
                "select 1 from virtual_asset where asset_key = (select key from asset where id = $1) for update",
                battery.asset["id"],
            )
            waiting = [asyncio.create_task(battery.put([power])) for power in range(30)]
            await asyncio.sleep(0.5)
            answers = [await asyncio.wait_for(other.put([5.0], offset=place), 120) for place in range(3)]
            assert [answer.status_code for answer in answers] == [200, 200, 200]
            assert not any(task.done() for task in waiting)
        await holder.close()
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}

    async def test_and_carvers_keep_the_sum_and_the_schedule(self, make_battery):
        battery = await make_battery()
        dice = random.Random(11)

        async def carve():
            for _ in range(6):
                market = dice.choice(["FCR", "AFRR_POS", "WHOLESALE"])
                grid = 1 if market == "WHOLESALE" else 16
                offset, length = dice.randrange(0, 180) // grid * grid, dice.randrange(1, 12) if grid == 1 else grid
                answer = await battery.carve(offset, length, market, 200, 200)
                assert answer.status_code in (201, 409), answer.text
                if answer.status_code == 201 and dice.random() < 0.4:
                    gone = await battery.client.delete(f"{battery.url}/blocks/{answer.json()['id']}")
                    assert gone.status_code in (204, 404, 409), gone.text

        async def schedule():
            for _ in range(12):
                blocks = [b for b in (await battery.read())["blockMetadata"] if b["market"] == "WHOLESALE"]
                block = dice.choice(blocks)
                body = {"schedule": [{"time": block["start"], "power": dice.choice([-300, 100, 400])}]}
                answer = await battery.client.put(f"{battery.url}/blocks/{block['id']}", json=body)
                assert answer.status_code in (200, 400, 404, 422), answer.text

        await asyncio.gather(*(carve() for _ in range(5)), *(schedule() for _ in range(5)))
        blocks = await battery.blocks()
        total = np.zeros(192)
        power = np.zeros(192)
        for block in blocks:
            first = round(
                (np.datetime64(block["start"][:-1]) - np.datetime64(battery.asset["start"][:-1]))
                / np.timedelta64(900, "s")
            )
            count = len(block["schedule"])
            total[first : first + count] += block["ratedChargePower"]
            power[first : first + count] += [point["power"] for point in block["schedule"]]
            for point in block["schedule"]:
                assert -block["ratedChargePower"] - 1e-6 <= point["power"] <= block["ratedDischargePower"] + 1e-6
        np.testing.assert_allclose(total, 1000)
        energy_kwh, stored_kw = await energies_in_the_database(battery)
        np.testing.assert_allclose(power, stored_kw, atol=1e-9)
        assert energy_kwh.min() >= -1e-5
        assert energy_kwh.max() <= 2000 + 1e-5
