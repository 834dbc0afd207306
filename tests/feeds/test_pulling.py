"""Feeds at work: looks by the clock, the next source where one is late, windows, and faults that change nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.feeds.conftest import FeedService, Start
from tests.feeds.stand_in import Canned, StandIn, midnight, quarters, value

SERIES = "DAY_AHEAD_DE_LU"
DAY = date(2027, 3, 11)
MORNING = datetime(2027, 3, 10, 9, tzinfo=UTC)
"""Ten o'clock in Berlin on the day before."""


def at(hour: int, minute: int = 0) -> datetime:
    """On the wall clock of the day before."""
    return MORNING + timedelta(hours=hour - 10, minutes=minute)


async def list_day(service: FeedService, day: date = DAY, series: str = SERIES, **query: Any) -> list[Any]:
    return await service.prices(series, midnight(day), midnight(day + timedelta(days=1)), **query)


async def wait_for_run(service: FeedService, feed: str) -> Any:
    async with asyncio.timeout(30):
        while True:
            run = (await service.get(f"/feeds/{feed}/runs"))[0]
            if run["status"] in ("DONE", "FAILED"):
                return run
            await asyncio.sleep(0.05)


async def run_now(service: FeedService, feed: str, **window: str) -> Any:
    answer = await service.operator.post(f"/feeds/{feed}/runs", json=window)
    assert answer.status_code == 202, answer.text
    run = await wait_for_run(service, feed)
    assert run["id"] == answer.json()["id"]
    return run


async def list_events(service: FeedService, type: str) -> list[Any]:
    rows = await service.edge.pool.fetch("select data::text as data from event_outbox where type = $1", type)
    rows += await service.edge.pool.fetch("select data::text as data from event where type = $1", type)
    return [row["data"] for row in rows]


class TestFeed:
    async def test_pulls_a_day_once_it_is_out_and_never_writes_it_twice(self, start_feeds: Start) -> None:
        service = await start_feeds(at(10), feeds=("smard",))
        await service.move(at(12, 35))
        assert await list_day(service) == [], "it is not asked for before its hour"
        await service.move(at(12, 45))
        rows = await list_day(service)
        assert [row["price"] for row in rows] == [value("DAY_AHEAD", start) for start in quarters(DAY)]
        assert {row["source"] for row in rows} == {"smard"}
        first_seen = {row["firstSeenAt"] for row in rows}
        assert {seen[:19] for seen in first_seen} == {"2027-03-10T11:40:00"}
        state = await service.series("smard", SERIES)
        assert (state["status"], state["source"], state["completeUntil"]) == (
            "COMPLETE",
            "smard",
            "2027-03-11T23:00:00Z",
        )
        await service.move(at(20))
        assert {row["firstSeenAt"] for row in await list_day(service)} == first_seen, "the look for revisions"
        looks = [run for run in await service.get("/feeds/smard/runs") if run["asked"].startswith("day-ahead")]
        assert [(run["rowsNew"], run["rowsChanged"], run["fault"]) for run in looks][:2] == [
            (0, 0, None),
            (96, 0, None),
        ]
        versions = await service.edge.pool.fetchval("select count(*) from reference_price_superseded")
        assert versions == 0

    async def test_that_is_late_has_the_next_source_asked_and_told(self, start_feeds: Start, stand_in: StandIn) -> None:
        stand_in.faults["smard"] = Canned(503)
        service = await start_feeds(at(10), feeds=("smard", "energy-charts"))
        await service.move(at(13, 25))
        assert await list_day(service) == []
        await service.move(at(13, 35))
        rows = await list_day(service)
        assert len(rows) == 96
        assert {row["source"] for row in rows} == {"energy-charts"}
        state = await service.series("smard", SERIES)
        assert (state["status"], state["source"]) == ("FAILED", "energy-charts")
        assert "answered 503" in state["detail"]
        ready = (await service.operator.get("/health/ready")).json()
        assert ready["status"] == "DEGRADED"
        assert "smard: day-ahead fails" in next(one["detail"] for one in ready["checks"] if one["name"] == "feeds")
        assert len([one for one in await list_events(service, "feed.late") if SERIES in one]) == 1
        assert len([one for one in await list_events(service, "feed.failed") if SERIES in one]) == 1
        stand_in.faults.clear()
        await service.move(at(16, 5))
        assert (await service.series("smard", SERIES))["status"] == "COMPLETE"
        assert {row["source"] for row in await list_day(service)} == {"energy-charts"}, "the same values stay"
        checks = (await service.operator.get("/health/ready")).json()["checks"]
        assert next(one["status"] for one in checks if one["name"] == "feeds") == "OK"

    async def test_of_the_preferred_source_replaces_what_another_said_and_tells_differences(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        first, second = quarters(DAY)[:2]
        stand_in.faults["smard"] = Canned(503)
        stand_in.changes = {("energy-charts", first): 1.0, ("energy-charts", second): value("DAY_AHEAD", second) + 0.01}
        service = await start_feeds(at(10), feeds=("smard", "energy-charts"))
        await service.move(at(13, 40))
        before = await list_day(service)
        assert before[0]["price"] == 1.0
        stand_in.faults.clear()
        await service.move(at(16))
        after = await list_day(service)
        assert [row["price"] for row in after] == [value("DAY_AHEAD", start) for start in quarters(DAY)]
        assert [row["source"] for row in after[:3]] == ["smard", "smard", "energy-charts"]
        assert await list_day(service, as_of=at(13, 45).isoformat()) == before
        [told] = await list_events(service, "feed.differs")
        assert '"periods": 1' in told, "a cent is none"
        assert '"start": "2027-03-10T23:00:00Z"' in told

    async def test_gives_way_to_a_price_by_hand_until_that_is_deleted(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        service = await start_feeds(at(12), feeds=("smard",))
        start, end = midnight(DAY), midnight(DAY) + timedelta(hours=1)
        row = {"series": SERIES, "start": start.isoformat(), "end": end.isoformat(), "price": 500}
        assert (await service.operator.post("/reference-prices", json=[row])).status_code == 200
        await service.move(at(12, 50))
        rows = await list_day(service)
        assert [(one["price"], one["source"]) for one in rows[:2]] == [
            (500, "MANUAL"),
            (value("DAY_AHEAD", end), "smard"),
        ]
        window = {"series": SERIES, "start": start.isoformat(), "end": end.isoformat()}
        assert (await service.operator.delete("/reference-prices", params=window)).status_code == 204
        rows = await list_day(service)
        assert [one["price"] for one in rows] == [value("DAY_AHEAD", quarter) for quarter in quarters(DAY)]
        assert {one["source"] for one in rows} == {"smard"}
        assert {one["firstSeenAt"][:19] for one in rows} == {"2027-03-10T11:40:00"}
        assert (await service.operator.delete("/reference-prices", params=window)).status_code == 204
        assert len(await list_day(service)) == 96, "a feed's prices are not withdrawn"

    async def test_fills_a_window_with_progress(self, start_feeds: Start) -> None:
        service = await start_feeds(at(10), feeds=())
        window = {"start": "2025-08-15T00:00:00Z", "end": "2025-11-02T00:00:00Z"}
        run = await run_now(service, "smard", **window)
        assert (run["status"], run["progress"], run["byHand"]) == ("DONE", 1, True)
        change, autumn = date(2025, 10, 1), date(2025, 10, 26)
        assert len(await list_day(service, date(2025, 9, 30))) == 24
        assert len(await list_day(service, change)) == 96
        assert len(await list_day(service, autumn)) == 100
        assert len(await list_day(service, autumn, "LOAD_FORECAST_DE")) == 100
        again = await run_now(service, "smard", **window)
        assert (again["rowsNew"], again["rowsChanged"]) == (0, 0)

    @pytest.mark.parametrize(
        ("feed", "body", "status", "told"),
        [
            ("smard", {"end": "2027-03-10T00:00:00Z"}, 400, "/start"),
            ("smard", {"start": "2027-03-10T00:00:00Z", "end": "2027-03-10T00:00:00Z"}, 400, "/end"),
            (
                "smard",
                {"start": "2026-03-08T00:00:00Z", "end": "2027-03-10T00:00:00Z"},
                422,
                "not-possible",
            ),
            (
                "smard",
                {"start": "2027-03-10T00:00:00Z", "end": "2028-01-10T00:00:00Z"},
                422,
                "not-possible",
            ),
            ("nordpool", {}, 404, "There is no feed"),
            ("smard", {"day": 1}, 400, "/day"),
        ],
    )
    async def test_refuses_windows_that_make_no_sense(
        self, start_feeds: Start, feed: str, body: Any, status: int, told: str
    ) -> None:
        service = await start_feeds(at(10), feeds=())
        answer = await service.operator.post(f"/feeds/{feed}/runs", json=body)
        assert (answer.status_code, told in answer.text) == (status, True), answer.text
        assert await service.get("/feeds/smard/runs") == []
