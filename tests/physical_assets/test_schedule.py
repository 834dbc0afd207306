"""The schedule of a physical asset: replaced period by period, all or nothing, read in any format."""

import asyncio
import io
import threading
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.assets import PARAMETERS, pointers, register_asset
from tests.clock_changes import next_day_of
from tests.emitted import events_of, is_of_asset

from gridloom.kernel.market_time import PERIOD, floor_to_period, market_day_window
from gridloom.physical_assets.schedule import routes, rules
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

    async def test_of_many_periods_is_validated_beside_the_event_loop(self, new_organisation, monkeypatch):
        judged_by: list[tuple[int, bool]] = []

        def noting(points, series) -> None:
            judged_by.append((len(points), threading.current_thread() is threading.main_thread()))
            rules.check_available(points, series)

        monkeypatch.setattr(routes, "check_available", noting)
        asset = await register_asset(await new_organisation())
        await put(asset, 1, 2)
        many = await put(asset, *[5.0] * 2001)
        assert judged_by == [(2, True), (2001, False)]
        assert many.json()["schedule"][2000] == {"time": at(2000), "power": 5.0}
        beyond = await put(asset, *[5.0] * 2001, 99_000, status=422)
        assert pointers(beyond) == ["/schedule/2001/power"]

    async def test_tells_which_periods_were_set(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        answer = await put(asset, 1, 2, 3)
        shown = [{"time": at(number), "power": number + 1} for number in range(3)]
        assert answer.json() == {
            "physicalAssetID": asset.id,
            "start": at(0),
            "end": at(3),
            "schedule": shown,
            "unitsPower": "kW",
        }
        read_back = await asset.owner.viewer.get(asset.path("/schedule"), params={"start": at(0), "end": at(3)})
        assert read_back.json() == answer.json()
        await put(asset, 99_000, status=422)
        [told] = await events_of(app.pool, asset.owner.id, subject=f"physical-assets/{asset.id}")
        assert (told.type, told.permission) == ("schedule.updated", "Read:schedules")
        assert (told.data["start"], told.data["end"], told.data["periods"]) == (at(0), at(3), 3)
        assert await is_of_asset(app.pool, told, asset.id), "a grant of it is enough to read it"

    @pytest.mark.parametrize(
        ("now", "time", "is_open"),
        [
            ("12:00:00", "12:00:00", False),
            ("12:14:59.999", "12:00:00", False),
            ("12:00:00", "12:15:00", True),
            ("12:14:59.999", "12:15:00", True),
            ("12:15:00", "12:15:00", False),
        ],
    )
    def test_is_open_until_its_period_starts(self, now: str, time: str, is_open: bool):
        moment = datetime.fromisoformat(f"2026-06-01T{now}+00:00")
        point = NewSchedulePoint(time=datetime.fromisoformat(f"2026-06-01T{time}+00:00"), power=1.0)
        if is_open:
            rules.check_not_started([point], moment)
            return
        with pytest.raises(rules.PeriodStarted):
            rules.check_not_started([point], moment)

    def test_names_the_earliest_period_that_has_started_and_points_at_all(self):
        day = datetime(2026, 6, 1, tzinfo=UTC)
        points = [NewSchedulePoint(time=day + n * PERIOD, power=1.0) for n in (7, 5, 6, 8)]
        with pytest.raises(rules.PeriodStarted, match="from 2026-06-01T01:15:00Z has started") as refusal:
            rules.check_not_started(points, day + 7 * PERIOD)
        assert [error.pointer for error in refusal.value.errors] == [f"/schedule/{n}/time" for n in (0, 1, 2)]
        assert refusal.value.members["firstOpenPeriod"] == "2026-06-01T02:00:00Z"

    async def test_charges_with_the_power_for_charging_and_no_more(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await put(asset, -10_000, 12_000)
        for power in (-10_001, 12_001):
            answer = await put(asset, power, status=422)
            assert answer.json()["available"] == (10_000 if power < 0 else 12_000)
            able = "can import 10000 kW, not 10001 kW" if power < 0 else "can export 12000 kW, not 12001 kW"
            assert able in answer.json()["detail"]

    async def test_of_the_running_period_is_a_conflict(self, new_organisation):
        asset = await register_asset(await new_organisation())
        running = floor_to_period(datetime.now(UTC)).isoformat()
        body = {"schedule": [{"time": running, "power": 1}]}
        answer = await asset.owner.trader.put(asset.path("/schedule"), json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "/docs/problems/period-started")

    async def test_is_replaced_all_or_nothing(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await put(asset, 1, 1, 1)
        answer = await put(asset, 2, 12_001, -10_001, status=422)
        assert answer.json()["type"] == "/docs/problems/power-not-available"
        assert pointers(answer) == ["/schedule/1/power"]
        assert answer.json()["period"] == at(1)
        assert [power for _, power in await read(asset)] == [1, 1, 1]

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

    async def test_is_read_until_two_days_after_a_start_and_from_one_day_before_an_end(self, new_organisation):
        asset = await register_asset(await new_organisation())
        far = timedelta(days=30)

        async def window(**asked):
            answer = await asset.owner.viewer.get(asset.path("/schedule"), params=asked)
            assert answer.status_code == 200, answer.text
            return [datetime.fromisoformat(answer.json()[edge]) for edge in ("start", "end")]

        after, before = START + far, START - far
        assert await window(start=after.isoformat()) == [after, after + timedelta(hours=48)]
        assert await window(end=before.isoformat()) == [before - timedelta(hours=24), before]
        hour = timedelta(hours=1)
        for asked, edge, since in (
            ({"end": after}, 0, -24 * hour),
            ({"start": before}, 1, 48 * hour),
            ({}, 1, 48 * hour),
        ):
            found = await window(**{name: one.isoformat() for name, one in asked.items()})
            assert -hour < found[edge] - (datetime.now(UTC) + since) < hour, "around now"
            assert set(asked.values()) <= set(found)

    async def test_respects_if_match(self, new_organisation):
        asset = await register_asset(await new_organisation())
        tag = (await asset.owner.viewer.get(asset.path("/schedule"))).headers["etag"]
        first = await put(asset, 1, headers={"If-Match": tag})
        assert first.headers["etag"] != tag
        await put(asset, 2, headers={"If-Match": tag}, status=412)
        assert (await asset.owner.viewer.get(asset.path("/schedule"))).headers["etag"] == first.headers["etag"]

    async def test_written_from_everywhere_at_once_holds_one_whole_request(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await asyncio.gather(*(put(asset, *([power] * 96)) for power in range(1, 9)))
        assert len({power for _, power in await read(asset, 0, 96)}) == 1

    @pytest.mark.parametrize(("hours", "count"), [(23, 92), (25, 100)])
    async def test_covers_the_days_of_the_clock_changes(self, new_organisation, hours, count):
        asset = await register_asset(await new_organisation())
        window = market_day_window(next_day_of(hours))
        starts = [window.start + index * PERIOD for index in range(window.duration // PERIOD)]
        points = [{"time": period.isoformat(), "power": 1} for period in starts]
        assert len(points) == count
        answer = await asset.owner.trader.put(asset.path("/schedule"), json={"schedule": points})
        assert len(answer.json()["schedule"]) == count

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
        await asset.owner.engineer.patch(asset.path(), json={"status": "DECOMMISSIONED"})
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
