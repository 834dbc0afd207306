"""A schedule for the whole asset is spread over its wholesale blocks in proportion of their power, all or nothing."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.virtual_assets.conftest import QUARTER, wire
from tests.virtual_assets.test_conflicts import lose
from tests.virtual_assets.test_schedules import problem

from gridloom.kernel.ids import BlockID, uuid7
from gridloom.kernel.market_time import floor_to_period
from gridloom.virtual_assets.model import Block, Market
from gridloom.virtual_assets.schedule.points import SchedulePoints, distribute_over_blocks, group_by_lane, rated_kw

CAPACITIES = (
    "chargePowerCapacity",
    "dischargePowerCapacity",
    "ratedChargePowerCapacity",
    "ratedDischargePowerCapacity",
)


async def carve(battery, start, end, charge, discharge, market="WHOLESALE"):
    answer = await battery.client.post(
        f"{battery.url}/blocks",
        json={
            "start": wire(battery.start + start * QUARTER),
            "end": wire(battery.start + end * QUARTER),
            "market": market,
            "ratedChargePower": charge,
            "ratedDischargePower": discharge,
        },
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


async def put(battery, powers, offset=0, **headers):
    url = f"{battery.url}/schedule"
    return await battery.client.put(url, json=battery.points(powers, offset), headers=headers)


async def read(battery, **headers):
    params = {"start": battery.asset["start"], "end": battery.asset["end"]}
    return await battery.client.get(f"{battery.url}/schedule", params=params, headers=headers)


def powers(view, count):
    return [point["power"] for point in view["schedule"][:count]]


class TestAnAssetsSchedule:
    async def test_shows_the_window_that_is_asked_for(self, make_battery):
        battery = await make_battery()
        params = {"start": battery.asset["start"], "end": wire(battery.start + 3 * QUARTER)}
        answer = await battery.client.put(f"{battery.url}/schedule", json=battery.points([100], 120), params=params)
        assert powers(answer.json(), 9) == [0, 0, 0]
        for url in (f"{battery.url}/schedule", battery.block_url):
            for edge, shown in (
                ({"start": wire(battery.end - 2 * QUARTER)}, [0, 0]),
                ({"end": wire(battery.start + 4 * QUARTER)}, [0, 0, 0, 0]),
                ({}, [100]),
            ):
                answer = await battery.client.put(url, json=battery.points([100], 120), params=edge)
                assert powers(answer.json(), 9) == shown

    async def test_leaves_out_reserved_power(self, make_battery):
        battery = await make_battery()
        await carve(battery, 0, 16, 1000, 1000, market="FCR")
        for power in (-1, 201):
            refused = problem(await put(battery, [power], offset=3), 422, "power-beyond-available")
            assert (refused["availableCharge"], refused["availableDischarge"]) == (0, 200)
        assert (await put(battery, [0, 0], offset=15)).status_code == 200
        capacity = (await read(battery)).json()["powerCapacity"]
        assert [row["dischargePowerCapacity"] for row in capacity[15:17]] == [200, 1200]

    async def test_is_held_to_what_an_outage_leaves_of_each_direction(self, make_battery):
        """As a block's is: 400 of 1000 kW of charging and 900 of 1200 kW of discharging, in the second period alone."""
        battery = await make_battery()
        lost = await lose(battery, battery.start + QUARTER, battery.start + 2 * QUARTER, power=300, charge=600)
        assert lost.status_code == 201, lost.text
        for url in (f"{battery.url}/schedule", battery.block_url):
            for fits, beyond in (([1200, 900], 901), ([-1000, -400], -401)):
                refused = problem(await battery.put([0, beyond, 0], url=url), 422, "power-beyond-available")
                assert refused["firstPeriod"] == wire(battery.start + QUARTER)
                assert (refused["availableCharge"], refused["availableDischarge"]) == (400, 900)
                assert [one["value"] for one in refused["figures"]] == [400, 900, beyond]
                answer = await battery.put([*fits, fits[0]], url=url)
                assert answer.status_code == 200, answer.text
                shown = [[row[name] for name in CAPACITIES] for row in answer.json()["powerCapacity"]]
                assert shown == [[1000, 1200, 1000, 1200], [400, 900, 1000, 1200], [1000, 1200, 1000, 1200]]
                assert (await battery.put([0, 0, 0], url=url)).status_code == 200

    async def test_has_one_version_that_guards_it(self, make_battery):
        battery = await make_battery()
        await carve(battery, 0, 8, 250, 500)
        first = await put(battery, [10])
        assert first.headers["ETag"] == (await read(battery)).headers["ETag"]
        second = await put(battery, [20], **{"If-Match": first.headers["ETag"]})
        assert second.status_code == 200
        assert [one.json()["version"] for one in (first, second, await read(battery))] == [3, 4, 4]
        assert (await put(battery, [30], **{"If-Match": first.headers["ETag"]})).status_code == 412
        block = await battery.client.get(battery.block_url)
        assert block.headers["ETag"] == second.headers["ETag"]

    async def test_is_in_the_history_with_each_blocks_part(self, make_battery):
        battery = await make_battery()
        await carve(battery, 0, 8, 250, 500)
        await put(battery, [720, 720])
        history = (await battery.client.get(f"{battery.url}/schedule-history")).json()
        assert history[0]["kind"] == "SCHEDULE"
        assert history[0]["version"] == (await read(battery)).json()["version"]
        assert history[0]["authorName"] == (await battery.client.get("/auth/me")).json()["displayName"]
        assert sorted(powers(change, 2) for change in history[0]["changes"]) == [[300, 300], [420, 420]]

    async def test_is_refused_outside_the_assets_life(self, make_battery):
        battery = await make_battery()
        refused = problem(await put(battery, [1], offset=192), 400, "bad-request")
        assert "The asset runs from" in refused["detail"]

    async def test_is_refused_once_a_gate_has_closed(self, make_battery):
        start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=1)))
        problem(await put(battery, [1], offset=0), 409, "gate-closed")

    async def test_waits_for_the_assets_own_gate(self, make_battery):
        """Which closes two hours before: of the period in an hour and a half it has closed, of the one in three not.
        So it does for its blocks."""
        start = floor_to_period(datetime.now(UTC))
        life = {"start": wire(start), "end": wire(start + timedelta(days=1))}
        battery = await make_battery(**life, dispatchGateClosureSeconds=7200)
        refused = [
            await put(battery, [10], offset=6),
            await battery.put([10], offset=6),
            await battery.carve(6, 6, "WHOLESALE", 100, 100),
        ]
        for answer in refused:
            found = problem(answer, 409, "gate-closed")
            assert found["firstPeriod"] == wire(start + 6 * QUARTER)
            assert found["firstOpenPeriod"] in (wire(start + 9 * QUARTER), wire(start + 10 * QUARTER))
        assert (await put(battery, [10], offset=12)).status_code == 200
        assert (await battery.put([20], offset=12)).status_code == 200
        assert (await battery.carve(12, 6, "WHOLESALE", 100, 100)).status_code == 201
        for place, kind in ((6, "gate-closed"), (12, "nothing-to-join")):
            life["start"] = wire(start + place * QUARTER)
            later = await make_battery(**life, dispatchGateClosureSeconds=7200)
            problem(await later.client.delete(later.block_url), 409, kind)

    @pytest.mark.parametrize("media_type", ["text/csv", "application/vnd.apache.parquet"])
    async def test_can_be_read_as_a_table(self, make_battery, media_type):
        battery = await make_battery()
        await put(battery, [5, 6])
        answer = await read(battery, Accept=media_type)
        assert answer.status_code == 200, answer.text
        if media_type == "text/csv":
            lines = answer.text.splitlines()
            assert lines[0].startswith('"time","power","chargePowerCapacity"')
            assert len(lines) == 193
        else:
            assert pq.read_table(io.BytesIO(answer.content))["power"].to_pylist()[:3] == [5, 6, 0]


@st.composite
def sliced_assets(draw):
    """Wholesale and other blocks on a few lanes over a day, never overlapping on a lane."""
    blocks = []
    for lane in range(draw(st.integers(1, 4))):
        edges = sorted(draw(st.sets(st.integers(0, 96), min_size=2, max_size=5)))
        for first, end in pairwise(edges):
            market = draw(st.sampled_from([Market.WHOLESALE, Market.WHOLESALE, Market.FCR]))
            kw = [draw(st.floats(0, 1e4)) for _ in range(2)]
            blocks.append(Block(BlockID(uuid7()), lane, first, end, market, *kw))
    return blocks


@st.composite
def asked_points(draw):
    periods = sorted(draw(st.sets(st.integers(0, 95), min_size=1)))
    power_kw = [draw(st.floats(-1e4, 1e4)) for _ in periods]
    return SchedulePoints(np.array(periods), np.array(power_kw), np.arange(len(periods)))


class TestSpreading:
    @given(sliced_assets(), asked_points())
    def test_sets_what_was_asked_for_wherever_there_is_power(self, blocks, points):
        total_kw = np.zeros(96)
        for change in group_by_lane(distribute_over_blocks(blocks, points)).values():
            assert (np.diff(change.periods) > 0).all()
            total_kw[change.periods] += change.power_kw
        charge_kw, discharge_kw = rated_kw(blocks, points.periods)
        there = np.where(points.power_kw < 0, charge_kw, discharge_kw) > 0
        assert total_kw[points.periods] == pytest.approx(np.where(there, points.power_kw, 0.0), rel=1e-12, abs=1e-9)

    @given(sliced_assets(), asked_points())
    def test_asks_no_block_for_more_than_its_part(self, blocks, points):
        charge_kw, discharge_kw = rated_kw(blocks, points.periods)
        total_kw = dict(
            zip(points.periods.tolist(), np.where(points.power_kw < 0, charge_kw, discharge_kw), strict=True)
        )
        asked_kw = dict(zip(points.periods.tolist(), points.power_kw.tolist(), strict=True))
        for block, change in distribute_over_blocks(blocks, points).items():
            assert block.market is Market.WHOLESALE
            for period, power_kw in zip(change.periods.tolist(), change.power_kw.tolist(), strict=True):
                assert block.first <= period < block.end
                rated = block.charge_kw if asked_kw[period] < 0 else block.discharge_kw
                part = asked_kw[period] * (rated / total_kw[period]) if total_kw[period] > 0 else 0.0
                assert power_kw == pytest.approx(part, rel=1e-9, abs=1e-9)
