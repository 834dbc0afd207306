"""The schedule of a physical asset: replaced period by period, all or nothing, read in any format."""

import asyncio
import io
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.assets import PARAMETERS, pointers, register_asset

from gridloom.kernel.market_time import PERIOD, floor_to_period
from gridloom.physical_assets.schedule import rules
from gridloom.physical_assets.schedule.model import NewSchedulePoint

START = floor_to_period(datetime.now(UTC)) + timedelta(days=1)


def at(period: float) -> str:
    return (START + timedelta(minutes=15) * period).isoformat().replace("+00:00", "Z")


async def put(asset, *powers, first=0, status=200, **options):
    body = {"schedule": [{"time": at(first + n), "power": power} for n, power in enumerate(powers)]}
    answer = await asset.owner.trader.put(asset.path("/schedule"), json=body, **options)
    assert answer.status_code == status, answer.text
    return answer


async def read(asset, first=0, last=8):
    answer = await asset.owner.viewer.get(asset.path("/schedule"), params={"start": at(first), "end": at(last)})
    assert answer.status_code == 200, answer.text
    return [(point["time"], point["power"]) for point in answer.json()["schedule"]]


class TestSchedule:
    async def test_keeps_what_was_not_given(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await put(asset, 1000, 2000, -3000, first=1)
        await put(asset, 500)
        await put(asset, 0, first=2)
        assert await read(asset) == [(at(0), 500), (at(1), 1000), (at(2), 0), (at(3), -3000)]
        assert await read(asset, 2, 3) == [(at(2), 0)]

    def test_names_the_earliest_period_that_has_started_and_points_at_all(self):
        day = datetime(2026, 6, 1, tzinfo=UTC)
        points = [NewSchedulePoint(time=day + n * PERIOD, power=1.0) for n in (7, 5, 6, 8)]
        with pytest.raises(rules.PeriodStarted, match="from 2026-06-01T01:15:00Z has started") as refusal:
            rules.check_not_started(points, day + 7 * PERIOD)
        assert [error.pointer for error in refusal.value.errors] == [f"/schedule/{n}/time" for n in (0, 1, 2)]
        assert refusal.value.members["firstOpenPeriod"] == "2026-06-01T02:00:00Z"

    async def test_of_the_running_period_is_a_conflict(self, new_organisation):
        asset = await register_asset(await new_organisation())
        running = floor_to_period(datetime.now(UTC)).isoformat()
        body = {"schedule": [{"time": running, "power": 1}]}
        answer = await asset.owner.trader.put(asset.path("/schedule"), json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "/docs/problems/period-started")

    async def test_names_the_earliest_period_that_does_not_fit(self, new_organisation):
        asset = await register_asset(await new_organisation())
        body = {"schedule": [{"time": at(2), "power": 99_000}, {"time": at(1), "power": -99_000}]}
        answer = await asset.owner.trader.put(asset.path("/schedule"), json=body)
        assert answer.json()["period"] == at(1)
        assert pointers(answer) == ["/schedule/1/power"]

    async def test_uses_the_rating_in_force_in_each_period(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asset.owner.engineer.put(
            asset.path("/parameters"), json={**PARAMETERS, "ratedDischargePower": 500, "validFrom": at(1)}
        )
        await put(asset, 12_000, 500)
        await put(asset, 12_000, 501, status=422)

    @pytest.mark.parametrize(
        ("time", "pointer"),
        [(at(0)[:-1] + ".001Z", "/schedule/1/time"), (at(0.5), "/schedule/1/time"), (at(0), "/schedule/1/time")],
        ids=["off by a millisecond", "between two periods", "twice"],  # not the time at which they were collected
    )
    async def test_needs_each_period_once_by_its_start(self, new_organisation, time, pointer):
        asset = await register_asset(await new_organisation())
        body = {"schedule": [{"time": at(0), "power": 1}, {"time": time, "power": 1}]}
        answer = await asset.owner.trader.put(asset.path("/schedule"), json=body)
        assert answer.status_code == 400
        assert pointers(answer) == [pointer]

    async def test_can_be_confined_to_a_window(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await put(asset, 1, 1, params={"start": at(0), "end": at(2)})
        answer = await put(asset, 1, 1, params={"start": at(0), "end": at(1)}, status=400)
        assert pointers(answer) == ["/schedule/1/time"]
        await put(asset, 1, params={"start": at(1), "end": at(0)}, status=400)
        for edge, pointer in (({"start": at(1)}, "/schedule/0/time"), ({"end": at(1)}, "/schedule/1/time")):
            assert pointers(await put(asset, 1, 1, params=edge, status=400)) == [pointer]
            await put(asset, 1, first=1 if "start" in edge else 0, params=edge)

    async def test_written_from_everywhere_at_once_holds_one_whole_request(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asyncio.gather(*(put(asset, *([power] * 96)) for power in range(1, 9)))
        assert len({power for _, power in await read(asset, 0, 96)}) == 1

    async def test_takes_a_year_at_once_but_no_two_ends_of_time(self, new_organisation):
        asset = await register_asset(await new_organisation())
        points = [{"time": at(n), "power": n % 100} for n in range(35_040)]
        answer = await asset.owner.trader.put(asset.path("/schedule"), json={"schedule": points})
        assert answer.status_code == 200
        far = [{"time": "1970-01-01T00:00:00Z", "power": 0}, {"time": "2199-01-01T00:00:00Z", "power": 0}]
        answer = await asset.owner.trader.put(asset.path("/schedule"), json={"schedule": far})
        assert answer.status_code == 400

    async def test_is_not_taken_by_an_inactive_asset(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asset.owner.engineer.change(asset.path(), json={"status": "DECOMMISSIONED"})
        await put(asset, 1, status=409)


class TestFormats:
    async def test_say_the_same(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await put(asset, 1.5, -2)
        rows = {}
        for accept in ("text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"):
            answer = await asset.owner.viewer.get(
                asset.path("/schedule"), params={"start": at(0), "end": at(9)}, headers={"Accept": accept}
            )
            assert answer.headers["content-type"].startswith(accept)
            assert "etag" in answer.headers
            rows[accept] = answer.content
        assert rows["text/csv"].decode().splitlines() == ['"time","power"', f'"{at(0)}",1.5', f'"{at(1)}",-2']
        arrow = pa.ipc.open_stream(rows["application/vnd.apache.arrow.stream"]).read_all()
        parquet = pyarrow.parquet.read_table(io.BytesIO(rows["application/vnd.apache.parquet"]))
        assert arrow.to_pylist() == parquet.to_pylist()
        assert [row["power"] for row in arrow.to_pylist()] == [1.5, -2]
        assert arrow.to_pylist()[0]["time"] == START

    @pytest.mark.parametrize("accept", ["text/csv", "application/vnd.apache.parquet", "application/json"])
    async def test_of_nothing_are_empty(self, new_organisation, accept):
        asset = await register_asset(await new_organisation())
        answer = await asset.owner.viewer.get(asset.path("/schedule"), headers={"Accept": accept})
        assert answer.status_code == 200
        if accept == "application/json":
            assert answer.json()["schedule"] == []
