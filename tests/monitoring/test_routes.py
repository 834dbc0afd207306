"""Points go in through HTTP and come out as they went in, in every format and resolution."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.assets import PARAMETERS, register_asset
from tests.monitoring.calls import ARROW, DAY, PARQUET, minutes, read, stream_of, write

from gridloom.monitoring.compaction import jobs
from gridloom.monitoring.query.latest import latest_of_asset
from gridloom.monitoring.store.bodies import next_day
from gridloom.physical_assets.telemetry import LatestTelemetry
from gridloom.platform.database.clock import platform_now


class TestWriting:
    async def test_takes_every_format(self, owner: Any, asset: str) -> None:
        table = pa.table({"time": minutes(100), "active_power": np.arange(100.0), "temperature": np.full(100, 20.5)})
        lines = b'{"signal": "frequency", "time": "2026-03-29T00:00:00Z", "value": 50}\n'
        csv = b"signal,time,value\ncycles,2026-03-29T01:00:00+01:00,7\n"
        bodies = [(stream_of(table), ARROW, 200), (lines, "application/x-ndjson", 1), (csv, "text/csv", 1)]
        for body, media_type, count in bodies:
            answer = await owner.engineer.post(
                f"/monitoring/{asset}/datapoints", content=body, headers={"Content-Type": media_type}
            )
            assert answer.json()["written"] == count, answer.text
        found = await read(owner, asset, start=DAY[0], end=DAY[1])
        assert {name: len(points) for name, points in found["data"].items()} == {
            "active_power": 100,
            "cycles": 1,
            "frequency": 1,
            "temperature": 100,
        }

    async def test_takes_back_what_it_answers_for_excel(self, owner: Any, asset: str) -> None:
        await write(
            owner, asset, {"power": {"time": [*DAY], "value": [-1.5, 2e-7]}, "soc": {"time": [DAY[0]], "value": [3]}}
        )
        url, headers = f"/monitoring/{asset}/datapoints", {"Content-Type": "text/csv"}
        window = {"start": DAY[0], "end": "2026-04-01T00:00:00Z"}
        answer = await owner.viewer.get(url, params={**window, "excel": "true"})
        lines = answer.text.split("\r\n")
        assert (lines[0], lines[1]) == ("\ufeffsignal;time;value", "power;2026-03-28T23:00:00Z;-1,5")
        taken = await owner.engineer.post(url, content=answer.content, headers=headers)
        assert (taken.json()["overwritten"], taken.json()["refused"]) == (3, 0)
        wide = f"time;power;soc\r\n{DAY[0]};1,5;x\r\n{DAY[1]};1.5;2\r\n"
        taken = await owner.engineer.post(url, content=wide.encode(), headers=headers)
        assert (taken.json()["overwritten"], taken.json()["written"], taken.json()["refused"]) == (1, 1, 2)

    async def test_refuses_what_lies_far_ahead_of_the_platforms_clock(self, owner: Any, asset: str) -> None:
        now = datetime.fromisoformat((await owner.viewer.get("/sandbox/clock")).json()["now"])
        for ahead, outcome in ((timedelta(hours=23, minutes=59), 200), (timedelta(hours=24, minutes=1), 422)):
            row = {"signal": "x", "time": (now + ahead).isoformat(), "value": 1}
            await write(owner, asset, [row], outcome)  # a day ahead, and no more

    async def test_of_which_nothing_is_left_is_a_problem_with_the_faults(self, owner: Any, asset: str) -> None:
        good = {"signal": "x", "time": DAY[0], "value": 1}
        problem = await write(owner, asset, [good | {"time": "2099-01-01T00:00:00Z"}, good | {"value": "x"}], 422)
        assert problem["type"] == "/docs/problems/nothing-written"
        assert [problem[name] for name in ("received", "written", "refused")] == [2, 0, 2]
        assert {one["reason"] for one in problem["refusals"]} == {"TIME_OUT_OF_RANGE", "INVALID_VALUE"}
        assert {error["pointer"] for error in problem["errors"]} == {"/1/value", "/0/time"}
        assert (await write(owner, asset, [good, good | {"value": "x"}]))["refused"] == 1
        assert (await write(owner, asset, {}))["received"] == 0

    @pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
    async def test_takes_numbers_as_times_in_every_format(
        self, owner: Any, asset: str, unit: str, per_second: int
    ) -> None:
        """A bool, a text and a number that is none are no times, wherever they stand."""
        start = int(datetime.fromisoformat(DAY[0]).timestamp())
        times = [(start + second) * per_second for second in range(4)]
        half, url = times[3] + (0.5 if unit == "s" else per_second // 2), f"/monitoring/{asset}/datapoints"
        arrow = stream_of(pa.table({"time": times, "a": [1.0, 2.0, 3.0, 4.0]}))
        rows = "\n".join(json.dumps({"signal": "d", "time": time, "value": 1}) for time in [*times, True, "x", half])
        columns = {"e": {"time": [*times, half], "value": [1] * 5}, "f": {"time": [DAY[0], times[0]], "value": [1, 2]}}
        bodies = (
            (arrow, ARROW, 4, 0),
            (f"time,b\n{times[0]},1\n{half},2\n1e400,3\n{DAY[0]},4\n".encode(), "text/csv", 2, 2),
            (f"time,c\n{times[0]},1\n{times[1]},2\n".encode(), "text/csv", 2, 0),
            (rows.encode(), "application/x-ndjson", 5, 2),
            (json.dumps(columns).encode(), "application/json", 6, 1),
            (json.dumps({"g": {"time": times, "value": [1] * 4}}).encode(), "application/json", 4, 0),
        )
        for body, media_type, written, refused in bodies:
            answer = await owner.engineer.post(
                url, content=body, headers={"Content-Type": media_type}, params={"time-unit": unit}
            )
            counts = answer.json()
            assert (counts.get("written"), counts.get("refused")) == (written, refused), (media_type, answer.text)
        found = (await read(owner, asset, start=DAY[0], end=DAY[1]))["data"]
        assert {name: (points[0]["time"][:19], points[-1]["time"][17:]) for name, points in found.items()} == {
            **dict.fromkeys("ag", (DAY[0][:19], "03Z")),
            **dict.fromkeys("bde", (DAY[0][:19], "03.500Z")),
            **{"c": (DAY[0][:19], "01Z"), "f": (DAY[0][:19], "00Z")},
        }
        without = await owner.engineer.post(url, content=arrow, headers={"Content-Type": ARROW})
        assert (without.status_code, "time-unit" in without.text) == (400, True)

    async def test_of_many_assets_takes_one_request(self, owner: Any, asset: str) -> None:
        other = str((await register_asset(owner)).id)
        column = {"time": [DAY[0]], "value": [5]}
        body = {asset: {"frequency": column}, other: {"frequency": column, "cycles": column}}
        answer = await owner.engineer.post("/monitoring/datapoints", json=body)
        assert answer.json()["written"] == 3
        assert {one["physicalAssetID"]: one["written"] for one in answer.json()["assets"]} == {asset: 1, other: 2}
        found = await read(owner, other, start=DAY[0], end=DAY[1])
        assert set(found["data"]) == {"frequency", "cycles"}

    async def test_of_many_assets_is_refused_whole_when_one_is_out_of_reach(
        self, owner: Any, asset: str, new_organisation: Any
    ) -> None:
        stranger = await register_asset(await new_organisation())
        column = {"frequency": {"time": [DAY[0]], "value": [5]}}
        answer = await owner.engineer.post("/monitoring/datapoints", json={asset: column, str(stranger.id): column})
        assert answer.status_code == 403
        unknown = await owner.engineer.post("/monitoring/datapoints", json={asset: column, str(uuid4()): column})
        assert unknown.status_code == 404
        refused = [{"physicalAssetID": str(uuid4()), "signal": "x", "time": "never", "value": 1}]
        assert (await owner.engineer.post("/monitoring/datapoints", json=refused)).status_code == 404
        assert (await read(owner, asset, start=DAY[0], end=DAY[1]))["data"] == {}

    async def test_may_be_repeated_safely_with_a_key(self, owner: Any, asset: str) -> None:
        request = {"json": [{"signal": "x", "time": DAY[0], "value": 1}], "headers": {"Idempotency-Key": "once"}}
        first = await owner.engineer.post(f"/monitoring/{asset}/datapoints", **request)
        second = await owner.engineer.post(f"/monitoring/{asset}/datapoints", **request)
        assert second.json() == first.json()
        assert second.headers["Idempotency-Replayed"] == "true"

    @pytest.mark.parametrize(
        ("body", "media_type", "status"),
        [
            (b"{", "application/json", 400),
            (b"\x00\x01", ARROW, 400),
            (b"a,b\n1,2\n", "text/csv", 400),
            (b"<points/>", "application/xml", 415),
        ],
    )
    async def test_refuses_an_unreadable_body(
        self, owner: Any, asset: str, body: bytes, media_type: str, status: int
    ) -> None:
        answer = await owner.engineer.post(
            f"/monitoring/{asset}/datapoints", content=body, headers={"Content-Type": media_type}
        )
        assert answer.status_code == status
        assert answer.headers["Content-Type"] == "application/problem+json"

    async def test_needs_the_permission(self, owner: Any, asset: str, new_organisation: Any) -> None:
        body = [{"signal": "x", "time": DAY[0], "value": 1}]
        assert (await owner.viewer.post(f"/monitoring/{asset}/datapoints", json=body)).status_code == 403
        stranger = await new_organisation()
        assert (await stranger.engineer.post(f"/monitoring/{asset}/datapoints", json=body)).status_code == 403
        assert (await owner.engineer.post(f"/monitoring/{uuid4()}/datapoints", json=body)).status_code == 404
        assert (await owner.engineer.post("/monitoring/seven/datapoints", json=body)).status_code == 400

    async def test_of_many_assets_needs_the_permission_on_each_of_them(
        self, owner: Any, asset: str, new_organisation: Any
    ) -> None:
        guest = await new_organisation()
        body, path = {"x": {"time": [DAY[0]], "value": [1]}}, f"/monitoring/{asset}"
        for granted in ("Read:monitoring", "Create:monitoring"):
            grant = f"/physical-assets/{asset}/grants/{guest.id}"
            assert (await owner.admin.put(grant, json={"permissions": [granted]})).status_code == 200
            for write_it in (
                guest.admin.post(f"{path}/datapoints", json=body),
                guest.admin.post("/monitoring/datapoints", json={asset: body}),
            ):
                assert (await write_it).status_code == (200 if granted == "Create:monitoring" else 403)
            for rest in ("/signals", "/datapoints", "/datapoints/latest", "/datapoints/sum/detailed"):
                answer = await guest.admin.get(path + rest)
                assert answer.status_code == (200 if granted == "Read:monitoring" else 403), rest

    async def test_of_a_million_points_at_once_is_possible(self, owner: Any, asset: str) -> None:
        count = 50_000
        table = pa.table(
            {"time": minutes(count, "2025-01-01T00:00:00Z")} | {f"s{n}": np.arange(count) * 0.1 for n in range(20)}
        )
        answer = await owner.engineer.post(
            f"/monitoring/{asset}/datapoints", content=stream_of(table), headers={"Content-Type": ARROW}
        )
        assert answer.json()["written"] == 1_000_000
        table = table.append_column("one_more", pa.array(np.arange(float(count))))
        beyond = await owner.engineer.post(
            f"/monitoring/{asset}/datapoints", content=stream_of(table), headers={"Content-Type": ARROW}
        )
        assert beyond.status_code == 413
        assert beyond.json()["type"] == "/docs/problems/too-many-points"

    async def test_at_the_same_time_loses_nothing(self, owner: Any, asset: str) -> None:
        async def write_one(number: int) -> Any:
            row = {"signal": f"s{number % 3}", "time": f"2026-03-29T00:00:{number:02}Z", "value": number}
            return await write(owner, asset, [row, row | {"signal": "shared", "time": DAY[0]}])

        answers = await asyncio.gather(*(write_one(number) for number in range(30)))
        assert sum(answer["written"] for answer in answers) == 31
        assert sum(answer["overwritten"] for answer in answers) == 29
        found = await read(owner, asset, start=DAY[0], end=DAY[1])
        assert {name: len(points) for name, points in found["data"].items()} == {
            "s0": 10,
            "s1": 10,
            "s2": 10,
            "shared": 1,
        }


class TestReading:
    @pytest.fixture
    async def filled(self, owner: Any, asset: str) -> str:
        table = pa.table(
            {"time": minutes(23 * 60), "active_power": np.arange(23 * 60.0), "frequency": np.full(23 * 60, 50.0)}
        )
        answer = await owner.engineer.post(
            f"/monitoring/{asset}/datapoints", content=stream_of(table), headers={"Content-Type": ARROW}
        )
        assert answer.json()["written"] == 2 * 23 * 60
        return asset

    async def test_gives_the_same_points_in_every_format(self, owner: Any, filled: str) -> None:
        async def fetch(media_type: str) -> bytes:
            answer = await owner.viewer.get(
                f"/monitoring/{filled}/datapoints",
                params={"start": DAY[0], "end": DAY[1], "datapoints": "frequency,active_power"},
                headers={"Accept": media_type},
            )
            assert answer.headers["Content-Type"].startswith(media_type)
            content: bytes = answer.content
            return content

        arrow = pa.ipc.open_stream(await fetch(ARROW)).read_all()
        parquet = pq.read_table(io.BytesIO(await fetch(PARQUET)))
        csv = pa_csv.read_csv(io.BytesIO(await fetch("text/csv")))
        data = json.loads(await fetch("application/json"))["data"]
        assert list(data) == ["frequency", "active_power"]
        assert arrow.num_rows == parquet.num_rows == csv.num_rows == 2 * 23 * 60
        assert (
            arrow.column("signal").to_pylist()
            == parquet.column("signal").to_pylist()
            == csv.column("signal").to_pylist()
        )
        assert arrow.column("time").equals(parquet.column("time"))
        assert [point["value"] for name in data for point in data[name]] == arrow.column("value").to_pylist()
        assert data["active_power"][-1] == {"time": "2026-03-29T21:59:00Z", "value": 1379.0}

    @pytest.mark.parametrize("aggregation", ["avg", "time-weighted-avg"])
    async def test_begins_with_the_points_of_the_span_in_every_resolution(
        self, owner: Any, filled: str, aggregation: str
    ) -> None:
        """Only a value that is weighed by its time holds on into the span."""
        span = {"start": "2026-03-29T05:07:30Z", "end": "2026-03-29T05:10:00Z", "datapoints": "active_power"}
        minute = 6 * 60 + 8
        held = {"2026-03-29T05:07:00Z": minute - 1.0} if aggregation == "time-weighted-avg" else {}
        points = {"2026-03-29T05:08:00Z": float(minute), "2026-03-29T05:09:00Z": minute + 1.0}
        for resolution, expected in (("raw", points), ("1-minute", held | points)):
            found = await read(owner, filled, **span, aggregation=aggregation, resolution=resolution)
            assert {point["time"]: point["value"] for point in found["data"]["active_power"]} == expected

    @pytest.mark.parametrize(
        ("resolution", "count"), [("raw", 1380), ("1-minute", 1380), ("15-minute", 92), ("hourly", 23), ("daily", 1)]
    )
    async def test_cuts_the_short_day_into_its_true_buckets(
        self, owner: Any, filled: str, resolution: str, count: int
    ) -> None:
        found = await read(owner, filled, start=DAY[0], end=DAY[1], resolution=resolution, datapoints="frequency")
        assert len(found["data"]["frequency"]) == count
        assert found["data"]["frequency"][0]["time"] == DAY[0]

    async def test_knows_the_standard_signals_and_names_those_it_does_not(self, owner: Any, filled: str) -> None:
        assert (await read(owner, filled, datapoints="state_of_health"))["data"] == {"state_of_health": []}
        answer = await owner.viewer.get(f"/monitoring/{filled}/datapoints", params={"datapoints": "frequency,colour"})
        assert answer.status_code == 400
        assert answer.json()["errors"] == [
            {"pointer": "query:datapoints", "detail": "colour is not a signal of this asset"}
        ]

    @pytest.mark.parametrize(
        "query",
        [
            {"start": DAY[1], "end": DAY[0]},
            {"start": "2026-03-29T00:00:00"},
            {"resolution": "weekly"},
            {"aggregation": "median"},
            {"datapoints": ""},
            {"colour": "red"},
        ],
    )
    async def test_refuses_a_question_that_makes_no_sense(self, owner: Any, filled: str, query: dict[str, str]) -> None:
        answer = await owner.viewer.get(f"/monitoring/{filled}/datapoints", params=query)
        assert answer.status_code == 400

    async def test_lists_the_signals_with_their_first_and_last_points(self, owner: Any, filled: str) -> None:
        answer = await owner.viewer.get(f"/monitoring/{filled}/signals", params={"limit": 1})
        assert answer.json() == [
            {
                "name": "active_power",
                "unit": "kW",
                "kind": "GAUGE",
                "description": "Power at the connection point, positive when discharging",
                "first": DAY[0],
                "last": "2026-03-29T21:59:00Z",
            }
        ]
        following = answer.headers["Link"].split(">")[0].removeprefix("<")
        rest = await owner.viewer.get(following)
        assert [signal["name"] for signal in rest.json()] == ["frequency"]
        assert "Link" not in rest.headers

    async def test_gives_the_health_of_the_asset_the_newest_point_of_any_signal(
        self, owner: Any, asset: str, app: Any
    ) -> None:
        key = await app.pool.fetchval("select key from asset where id = $1", asset)
        assert await latest_of_asset(app.pool, key) is None
        charges = [("state_of_charge", f"2026-03-29T{hour}:00:00Z", hour + 31.5) for hour in (10, 11)]
        for known, percentage in ((0, None), (2, 42.5)):
            points = [("frequency", "2026-03-29T12:00:00Z", 50.0), *charges[:known], ("x", "2026-03-29T09:00:00Z", 1.0)]
            await write(owner, asset, [dict(zip(("signal", "time", "value"), point, strict=True)) for point in points])
            assert await latest_of_asset(app.pool, key) == LatestTelemetry(
                datetime(2026, 3, 29, 12, tzinfo=UTC), percentage
            )

    async def test_sums_up_with_energy_and_cycles(self, owner: Any, asset: str) -> None:
        for hour, factor in (("10:00", 1), ("11:00", 2)):  # it grows in between: the capacity at the start counts
            capacity = factor * PARAMETERS["energyCapacity"]
            body = {**PARAMETERS, "validFrom": f"2026-03-29T{hour}:00Z", "energyCapacity": capacity}
            grown = await owner.engineer.put(f"/physical-assets/{asset}/parameters", json=body)
            assert grown.status_code == 200, grown.text
        power = [600.0] * 60 + [-300.0] * 60
        times = [f"2026-03-29T{hour:02}:{minute:02}:00Z" for hour in (10, 11) for minute in range(60)]
        await write(owner, asset, {"active_power": {"time": times, "value": power}})
        answer = await owner.viewer.get(
            f"/monitoring/{asset}/datapoints/sum/detailed",
            params={
                "start": "2026-03-29T10:00:00Z",
                "end": "2026-03-29T12:00:00Z",
                "datapoints": "active_power,frequency",
            },
        )
        found = answer.json()["data"]
        assert found["frequency"] == {"unit": "Hz", "count": 0, "sum": None, "min": None, "max": None, "mean": None}
        power_sum = found["active_power"]
        assert (power_sum["count"], power_sum["sum"], power_sum["mean"]) == (120, 18_000.0, 150.0)
        assert power_sum["energyDischarged"] == pytest.approx(600)
        assert power_sum["energyCharged"] == pytest.approx(300)
        assert power_sum["energyNet"] == pytest.approx(300)
        assert power_sum["cycles"] == pytest.approx(600 / PARAMETERS["energyCapacity"])
        able = {"available_charge_power": {"time": times[:1], "value": [600]}}
        await write(owner, asset, able)
        answer = await owner.viewer.get(
            f"/monitoring/{asset}/datapoints/sum/detailed", params={"start": times[0], "end": "2026-03-29T12:00:00Z"}
        )
        could_have = answer.json()["data"]["available_charge_power"]
        alone = {"unit": "kW", "count": 1, "sum": 600, "min": 600, "max": 600, "mean": 600}
        assert could_have == alone, "no energy flows by a power that is only available"
        late = ["2026-04-04T21:55:00Z", "2026-04-04T22:05:00Z"]  # a week later, over the midnight of a market day
        await write(owner, asset, {"active_power": {"time": late, "value": [600, 0]}})
        weeks = {"start": "2026-03-28T23:00:00Z", "end": "2026-04-12T22:00:00Z", "datapoints": "active_power"}
        answer = await owner.viewer.get(f"/monitoring/{asset}/datapoints/sum/detailed", params=weeks)
        long = answer.json()["data"]["active_power"]
        assert (long["count"], long["sum"]) == (122, 18_600)
        assert long["energyDischarged"] == pytest.approx(700), "a value that holds over a midnight counts once"
        assert long["energyCharged"] == pytest.approx(300 + 14 * 300 / 60), "the last holds for a quarter of an hour"
        brief = {"start": "2026-03-29T10:05:30Z", "end": "2026-03-29T10:06:30Z", "datapoints": "active_power"}
        answer = await owner.viewer.get(f"/monitoring/{asset}/datapoints/sum/detailed", params=brief)
        within = answer.json()["data"]["active_power"]
        assert (within["count"], within["energyDischarged"]) == (1, pytest.approx(10)), "what held at the start counts"

    async def test_is_the_same_before_and_after_folding(self, owner: Any, filled: str, app: Any) -> None:
        questions = [
            {"resolution": r, "aggregation": a} for r in ("raw", "15-minute", "daily") for a in ("avg", "sum", "last")
        ]
        questions.append({"resolution": "hourly", "aggregation": "time-weighted-avg"})
        later = {"time": ["2026-04-02T10:00:00Z"], "value": [7.0]}
        await write(owner, filled, {"active_power": later, "frequency": later})
        part_of_a_day = {"start": "2026-03-29T05:07:00Z", "end": "2026-03-29T15:40:00Z"}

        async def see() -> list[Any]:
            asks = [{"start": DAY[0], "end": DAY[1]}, part_of_a_day]
            found = [await read(owner, filled, **ask, **question) for ask in asks for question in questions]
            return [*found, (await owner.viewer.get(f"/monitoring/{filled}/signals")).json()]

        before = await see()
        key = await app.pool.fetchval("select key from asset where id = $1", filled)
        await app.pool.execute(
            "update telemetry_segment set written_at = written_at - interval '1 hour' where asset_key = $1", key
        )
        await app.pool.execute(
            "update schema_migration set applied_at = applied_at - interval '1 day' where name like '0340%'"
        )
        await self._run_upkeep(app, key)
        assert await app.pool.fetchval("select count(*) from telemetry_segment where asset_key = $1", key) == 0
        blocks = await app.pool.fetch("select signal_ids from telemetry_block where asset_key = $1", key)
        assert [row["signal_ids"] for row in blocks] == [[0, 1], [0, 1]]
        assert await see() == before

    async def _run_upkeep(self, app: Any, key: int) -> None:
        from datetime import UTC, datetime

        from gridloom.platform.jobs import JobRun

        async with app.pool.acquire() as connection, connection.transaction():
            now = datetime.now(UTC)
            common = {"db": connection, "payload": {}, "due": now, "attempt": 1}
            await jobs.enqueue_due(JobRun(kind="monitoring.schedule-compaction", key="", **common))
            await jobs.fold_asset(JobRun(kind="monitoring.compact", key=str(key), **common))

    async def test_lets_the_health_of_the_asset_know_the_state_of_charge(
        self, owner: Any, asset: str, app: Any
    ) -> None:
        now = await platform_now(app.pool)
        text = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        await write(owner, asset, {"state_of_charge": {"time": [text], "value": [42]}})
        health = (await owner.viewer.get(f"/physical-assets/{asset}/health")).json()
        assert health["stateOfCharge"] == 0.42
        assert health["lastTelemetryAt"] == text
        earlier = (now - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        await write(owner, asset, {"temperature": {"time": [earlier], "value": [21]}})
        health = (await owner.viewer.get(f"/physical-assets/{asset}/health")).json()
        assert (health["stateOfCharge"], health["lastTelemetryAt"]) == (0.42, text), "the newest of any signal"


class TestALongSilence:
    async def test_is_passed_over_to_the_next_day_that_may_have_points(self, owner: Any, asset: str, app: Any) -> None:
        """In blocks of a day and of several, and in what came last."""
        await write(owner, asset, {"frequency": {"time": [DAY[0]], "value": [50]}})
        async with app.pool.acquire() as db:
            attempt = db.transaction()
            await attempt.start()
            key = await db.fetchval("select key from asset where id = $1", asset)
            for first, last in ((date(2026, 1, 10), date(2026, 1, 10)), (date(2026, 2, 3), date(2026, 2, 20))):
                await db.execute(
                    "insert into telemetry_block values ($1, $2, $3, '{0}', '{1}', '{0}', '{0,0}', '', '', '')",
                    key,
                    first,
                    last,
                )
            for asked, found in (
                (date(2026, 1, 1), date(2026, 1, 10)),
                (date(2026, 1, 10), date(2026, 1, 10)),
                (date(2026, 1, 11), date(2026, 2, 3)),
                (date(2026, 2, 20), date(2026, 2, 20)),
                (date(2026, 2, 21), date(2026, 3, 29)),
                (date(2026, 3, 30), None),
            ):
                assert await next_day(db, key, 0, asked) == found, asked
            assert await next_day(db, key, 1, date(2026, 1, 1)) == date(2026, 3, 29), "of another signal"
            await attempt.rollback()  # blocks without points are of no use to other tests
