"""What one organisation asks for costs what it answers, and keeps nobody else waiting."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.assets import register_asset

from gridloom.monitoring import store
from gridloom.monitoring.reading import stream
from gridloom.monitoring.reading.stream import TelemetryHub
from gridloom.monitoring.reading.turns import AT_ONCE, turn_of

START, END = "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"


async def with_signals(owner, count, points=1):
    asset = await register_asset(owner)
    rows = [
        {"signal": f"s{number}", "time": f"2026-01-05T10:00:0{point}Z", "value": float(number)}
        for number in range(count)
        for point in range(points)
    ]
    written = await owner.admin.post(f"/monitoring/{asset.id}/datapoints", json=rows)
    assert written.status_code == 200, written.text
    return asset


class TestAReadOverThousandsOfSignals:
    async def test_takes_a_few_statements(self, new_organisation, monkeypatch):
        owner = await new_organisation()
        asset = await with_signals(owner, 2000)
        reads = []
        original = store.bodies_between

        async def counted(*arguments):
            reads.append(arguments)
            return await original(*arguments)

        monkeypatch.setattr(store, "bodies_between", counted)
        params = {"start": START, "end": END, "resolution": "raw"}
        answer = await owner.viewer.get(f"/monitoring/{asset.id}/datapoints", params=params)
        assert answer.status_code == 200
        data = answer.json()["data"]
        assert len(data) == 2000
        assert data["s1234"] == [{"time": "2026-01-05T10:00:00Z", "value": 1234.0}]
        assert len(reads) == 1

    async def test_in_buckets_or_sums_is_for_so_many_at_a_time(self, new_organisation):
        owner = await new_organisation()
        asset = await with_signals(owner, 300)
        window = {"start": START, "end": END}
        names = ",".join(f"s{number}" for number in range(256))
        for path, more in (
            ("datapoints", {"resolution": "daily"}),
            ("datapoints", {"resolution": "hourly"}),
            ("datapoints/sum/detailed", {}),
        ):
            refused = await owner.viewer.get(f"/monitoring/{asset.id}/{path}", params={**window, **more})
            assert refused.status_code == 400
            assert refused.json()["errors"][0]["pointer"] == "query:datapoints"
            named = {**window, **more, "datapoints": names}
            assert (await owner.viewer.get(f"/monitoring/{asset.id}/{path}", params=named)).status_code == 200


class TestTurns:
    async def test_of_one_organisation_are_no_others(self, new_organisation):
        one, other = (await new_organisation()).id, (await new_organisation()).id
        mine, theirs = turn_of(one), turn_of(other)
        for _ in range(AT_ONCE):
            await mine.acquire()
        assert turn_of(one).locked()
        assert not theirs.locked()


class TestStreams:
    async def test_are_limited_per_organisation(self, app, new_organisation, monkeypatch):
        monkeypatch.setattr("gridloom.monitoring.routes.MOST_STREAMS", 2)
        hub = app.resources[TelemetryHub]
        crowd, other = await new_organisation(), await new_organisation()
        theirs, own = await register_asset(crowd), await register_asset(other)
        with hub.follow(1, crowd.id), hub.follow(2, crowd.id):
            refused = await crowd.viewer.get(f"/monitoring/{theirs.id}/stream")
            assert refused.status_code == 429
            opened = asyncio.create_task(other.viewer.get(f"/monitoring/{own.id}/stream"))
            await asyncio.sleep(0.3)
            assert not opened.done(), "another organisation's stream goes on"
            opened.cancel()
            with suppress(asyncio.CancelledError):
                await opened
        assert hub.streams_of(crowd.id) == 0
        assert stream.MOST_STREAMS > 2
