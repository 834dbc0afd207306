"""What follows from the schedules: state of charge, stored energy, operational series."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from tests.virtual_assets.conftest import QUARTER, wire
from tests.virtual_assets.test_revalidation import advance, make

__all__ = ["make"]  # a fixture


class TestStateOfCharge:
    async def test_refuses_a_window_that_ends_before_it_starts(self, make_battery):
        battery = await make_battery()
        of_energy = ("state-of-charge", "state-of-energy/projected", "operational")
        for path in (*of_energy, "adjustments", "schedule-history", "blocks", "schedule"):
            params = {"start": battery.asset["end"], "end": battery.asset["start"]}
            answer = await battery.client.get(f"{battery.url}/{path}", params=params)
            assert answer.status_code == 400, path


class TestWindowOutsideTheLife:
    async def test_is_empty_everywhere(self, make_battery):
        battery = await make_battery()
        for start, end in (
            ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"),
            ("2090-01-01T00:00:00Z", "2090-01-02T00:00:00Z"),
        ):
            params = {"start": start, "end": end}
            for path in ("state-of-charge", "state-of-energy/projected", "adjustments"):
                assert (await battery.client.get(f"{battery.url}/{path}", params=params)).json() == []
            block = (await battery.client.get(battery.block_url, params=params)).json()
            assert block["schedule"] == block["powerCapacity"] == []
            operational = (await battery.client.get(f"{battery.url}/operational", params=params)).json()
            assert set(map(len, operational["data"].values())) == {0}
            (listed,) = (await battery.client.get(f"{battery.url}/blocks", params=params)).json()
            assert listed["schedule"] == []
        after = {"start": battery.asset["end"]}
        answer = await battery.client.get(f"{battery.url}/state-of-energy/projected", params=after)
        assert (answer.status_code, answer.json()) == (200, [])


class TestStateOfEnergy:
    async def test_now_follows_the_running_period(self, make_battery):
        start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=1)))
        before = datetime.now(UTC).replace(microsecond=0)
        body = (await battery.client.get(f"{battery.url}/state-of-energy/latest")).json()
        assert body["energy"] == 1000
        assert body["stateOfChargePercentage"] == 50
        assert before <= datetime.fromisoformat(body["time"]) <= datetime.now(UTC)

    async def test_now_lies_between_those_at_the_edges_of_the_running_period(self, make):
        battery = await make()
        assert (await battery.put([-1000])).status_code == 200  # 225 kWh within the quarter-hour
        await advance(battery.edge, battery.start + QUARTER / 3)
        body = (await battery.client.get(f"{battery.url}/state-of-energy/latest")).json()
        passed = (datetime.fromisoformat(body["time"]) - battery.start) / QUARTER
        assert 1 / 3 <= passed < 1
        assert body["energy"] == pytest.approx(1000 + 225 * passed, abs=0.01)

    async def test_before_its_life_is_what_it_starts_with(self, make_battery):
        battery = await make_battery(initialStateOfChargePercentage=30)
        body = (await battery.client.get(f"{battery.url}/state-of-energy/latest")).json()
        assert (body["time"], body["energy"]) == (battery.asset["start"], 600)

    async def test_after_its_life_is_what_it_ended_with(self, make):
        battery = await make()
        last = round((battery.end - battery.start) / QUARTER) - 1
        assert (await battery.put([-1000], offset=last)).status_code == 200
        await advance(battery.edge, battery.end + QUARTER)
        body = (await battery.client.get(f"{battery.url}/state-of-energy/latest")).json()
        assert (body["time"], body["energy"]) == (battery.asset["end"], 1225)

    async def test_projected_reaches_from_now_to_the_end_of_life(self, make_battery):
        battery = await make_battery()
        points = (await battery.client.get(f"{battery.url}/state-of-energy/projected")).json()
        assert len(points) == 192


class TestOperational:
    async def test_has_each_category_with_its_unit(self, make_battery):
        battery = await make_battery(ratedDischargePower=900, dischargeEfficiency=0.8)
        assert (await battery.put([-1000] * 4 + [0] * 4 + [900] * 6)).status_code == 200
        params = {"start": battery.asset["start"], "end": battery.asset["end"]}
        body = (await battery.client.get(f"{battery.url}/operational", params=params)).json()
        assert [entry["dataPointName"] for entry in body["metaData"]] == list(body["data"])
        assert len(body["data"]) == 14
        at = {name: [point["value"] for point in points] for name, points in body["data"].items()}
        assert (at["maximumDeliverablePower"][0], at["minimumDeliverablePower"][0]) == (900, -1000)
        assert at["minimumDeliverablePower"][4] == pytest.approx(-(2000 - 1900) / 0.9 * 4)
        assert at["maximumDeliverablePower"][14] == pytest.approx((1900 - 6 * 225 / 0.8) * 0.8 * 4)
        assert at["cyclesTotal"][-1] == pytest.approx(6 * 225 / 2000)
        assert at["cyclesWholesale"] == at["cyclesTotal"]
        assert set(at["cyclesFCR"]) == {0}
        assert set(at["energyCapacityRated"]) == set(at["energyCapacityAvailable"]) == {2000}
        for name, value in (("Charge", 1000), ("Discharge", 900)):
            assert set(at[f"powerCapacity{name}Rated"]) == set(at[f"powerCapacity{name}Available"]) == {value}
        assert (set(at["chargeEfficiency"]), set(at["dischargeEfficiency"])) == ({0.9}, {0.8})

    async def test_counts_settled_upward_activations_as_cycles(self, make_battery, operator):
        """Over the long night of autumn: the day has 100 quarter-hours, and the window starts in the middle of it."""
        start = datetime(2036, 10, 25, 22, tzinfo=UTC)
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=3)))
        await battery.put([800] * 2, offset=4)
        facts = [(0, "POS", 0.05), (7, "POS", 0.1), (7, "NEG", 0.3), (99, "POS", 0.2), (100, "POS", 0.025)]
        answer = await operator.post(
            "/settlements/afrr-energy",
            json=[
                {
                    "assetID": battery.asset["id"],
                    "time": wire(start + place * QUARTER),
                    "direction": direction,
                    "volume": volume,
                    "price": 90,
                }
                for place, direction, volume in facts
            ],
        )
        assert answer.status_code in (200, 201), answer.text
        params = {"start": wire(start + 5 * QUARTER), "end": battery.asset["end"]}
        body = (await battery.client.get(f"{battery.url}/operational", params=params)).json()
        at = {name: [point["value"] for point in points] for name, points in body["data"].items()}
        afrr = [round(2000 * cycles, 6) for cycles in at["cyclesAFRR"]]
        assert afrr[:3] == [50, 50, 150]
        assert afrr[93:96] == [150, 350, 375]
        assert afrr[-1] == 375
        assert at["cyclesWholesale"][0] == pytest.approx(400 / 2000)
        assert at["cyclesTotal"] == pytest.approx(np.add(at["cyclesWholesale"], at["cyclesAFRR"]).tolist())
        later = {"start": wire(start + 150 * QUARTER), "end": battery.asset["end"], "categories": "cyclesAFRR"}
        points = (await battery.client.get(f"{battery.url}/operational", params=later)).json()["data"]["cyclesAFRR"]
        assert {round(2000 * point["value"], 6) for point in points} == {375}

    async def test_answers_only_what_was_asked_for(self, make_battery):
        battery = await make_battery()
        params = {"categories": "cyclesTotal,chargeEfficiency"}
        body = (await battery.client.get(f"{battery.url}/operational", params=params)).json()
        assert list(body["data"]) == ["cyclesTotal", "chargeEfficiency"]
        answer = await battery.client.get(f"{battery.url}/operational", params={"categories": "cyclesTotal,speed"})
        assert answer.status_code == 400
        assert "speed" in answer.json()["detail"]


class TestTables:
    async def test_of_the_history_list_every_period_that_a_version_set(self, make_battery):
        battery = await make_battery()
        await battery.put([-100, -200])
        await battery.carve(1, 4, "WHOLESALE", 900, 900)
        await battery.put([300] * 3, offset=5)
        url = f"{battery.url}/schedule-history"
        versions = (await battery.client.get(url)).json()
        expected = [
            (version["version"], version["kind"], change["blockID"], point["time"], point["power"])
            for version in versions
            for change in version["changes"]
            for point in change["schedule"]
        ]
        answer = await battery.client.get(url, headers={"Accept": "application/vnd.apache.arrow.stream"})
        rows = pa.ipc.open_stream(answer.content).read_all().to_pylist()
        assert [
            (row["version"], row["kind"], row["blockID"], wire(row["time"]), row["power"])
            for row in rows
            if row["time"] is not None
        ] == expected
        assert [row["kind"] for row in rows if row["time"] is None] == ["ALLOCATION"]
        assert {row["authorID"] for row in rows[:3]} == {str(battery.organisation.people["TRADER"].id)}
        for media_type in ("text/csv", "application/vnd.apache.parquet"):
            answer = await battery.client.get(url, headers={"Accept": media_type}, params={"limit": 1})
            assert answer.headers["Content-Type"].startswith(media_type)
            assert 'rel="next"' in answer.headers["Link"]
            assert answer.content
        alone = await battery.client.get(url, headers={"Accept": "text/csv"}, params={"version": 2})
        assert len(alone.text.splitlines()) == 1 + 2

    async def test_of_adjustments_are_there_when_there_are_none(self, make_battery):
        battery = await make_battery()
        answer = await battery.client.get(f"{battery.url}/adjustments", headers={"Accept": "text/csv"})
        assert answer.text.splitlines() == ['"timestamp","acceptedSchedule","adjustedSchedule","reason"']
