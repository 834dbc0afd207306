"""Sources that misbehave on the network, and a month of outages: nothing wrong is ever written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.conftest import running
from tests.feeds.conftest import FeedService, Start
from tests.feeds.stand_in import Canned, StandIn, midnight, quarters, value
from tests.feeds.test_pulling import SERIES, at, list_day, list_events, run_now
from tests.people import People

LARGE = Canned(200, b"x" * 5_000_000)
CASES: list[tuple[str, Any, str]] = [
    ("a page", Canned(200, b"<html>Wartungsarbeiten</html>"), "<html>Wartungsarbeiten"),
    ("nothing", Canned(200, b""), "an empty answer"),
    ("too much", LARGE, "answers more than 4194304 bytes"),
    (
        "a redirect",
        Canned(302, b"", {"Location": "http://10.0.0.1/latest"}),
        "redirects (302) to 'http://10.0.0.1/latest'",
    ),
    ("compressed", Canned(200, b"\x1f\x8b", {"Content-Encoding": "gzip"}), "encoded as 'gzip'"),
    ("cut off", Canned(200, b'{"timestamps":[', {"Content-Length": "9000"}), "is not reached (RemoteProtocolError)"),
    ("forbidden", Canned(403, b"no"), "answered 403 Forbidden"),
    ("strange", Canned(418, b"teapot"), "answered 418 I'm a Teapot: 'teapot'"),
]


class TestAnswerOverTheNetwork:
    async def test_that_cannot_be_right_writes_nothing_and_the_next_source_is_asked(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        service = await start_feeds(at(10), feeds=())
        for name, answer, told in CASES:
            stand_in.faults["smard"] = answer
            run = await run_now(service, "smard")
            assert run["status"] == "FAILED", name
            assert told in run["fault"], (name, run["fault"])
            assert len(run["fault"]) <= 500
        stored = await service.edge.pool.fetchval("select count(*) from reference_price")
        assert (stored, await service.edge.pool.fetchval("select count(*) from feed_value")) == (0, 0)
        switched = await service.operator.put("/feeds/smard", json={"enabled": True})
        assert switched.json()["enabled"] is True
        await service.operator.put("/feeds/energy-charts", json={"enabled": True})
        await service.move(at(13, 45))
        assert {row["source"] for row in await list_day(service)} == {"energy-charts"}

    async def test_of_a_private_address_is_never_asked_for(self, start_feeds: Start) -> None:
        service = await start_feeds(at(10), feeds=(), host="0.0.0.0")
        run = await run_now(service, "smard")
        assert run["fault"].endswith("127.0.0.1 does not lie in the public internet.")
        assert service.stand_in.calls == []

    async def test_to_come_back_later_is_obeyed_by_every_topic_of_the_source(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        stand_in.faults["smard"] = Canned(429, b"", {"Retry-After": "3600"})
        service = await start_feeds(at(12, 39), feeds=("smard",))
        await service.move(at(18))
        assert len([call for call in stand_in.calls if "index" in call]) == 1
        assert len(await list_events(service, "feed.failed")) == 0, "one outage is none"
        assert (await service.series("smard", SERIES))["status"] == "LATE"

    async def test_needs_credentials_that_are_named_and_never_shown(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        service = await start_feeds(at(10), feeds=())
        stand_in.faults["entsoe"] = Canned(401, b"")
        run = await run_now(service, "entsoe")
        assert "stand-in-token" not in str(run)
        assert "answered 401" in run["fault"]
        bare = replace(service.settings, entsoe_token=None)
        async with running(bare) as edge, People(edge) as people:
            operator = (await people.operator()).client
            refused = await operator.put("/feeds/entsoe", json={"enabled": True})
        assert (refused.status_code, refused.json()["setting"]) == (409, "GRIDLOOM_ENTSOE_TOKEN")
        assert refused.json()["type"] == "/docs/problems/not-configured"


class TestMonth:
    @pytest.mark.slow
    async def test_of_outages_of_each_source_in_turn_leaves_no_gap_that_another_could_fill(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        """Thirty days of a service take most of half a minute."""
        first = date(2027, 3, 12)
        start = datetime(2027, 3, 11, 11, tzinfo=UTC)
        service = await start_feeds(start, feeds=("smard", "energy-charts", "entsoe"))
        down = [("smard",), ("smard", "energy-charts"), ("energy-charts",), ("entsoe", "smard"), ("smard",)]
        for number in range(30):
            stand_in.faults = {name: Canned(503) for name in down[number // 6]}
            day = first + timedelta(days=number)
            await service.move(midnight(day) - timedelta(hours=9))
            rows = await list_day(service, day)
            assert [row["price"] for row in rows] == [value("DAY_AHEAD", at) for at in quarters(day)], day
            known = datetime.fromisoformat(rows[0]["firstSeenAt"])
            assert known < midnight(day), "and none was known before it was seen"
            before = (known - timedelta(seconds=1)).isoformat()
            assert await list_day(service, day, as_of=before) == []
        assert await service.edge.pool.fetchval("select count(*) from reference_price_superseded") == 0


class TestBacktest:
    async def test_plans_on_what_was_first_seen_not_on_what_was_corrected_later(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        """The garbage comes weeks after the days that it is about."""
        first = date(2027, 3, 12)
        service = await start_feeds(midnight(first) - timedelta(hours=11), feeds=("smard",))
        for number in range(6):
            await service.move(midnight(first + timedelta(days=number)) - timedelta(hours=10))
        await service.move(midnight(first) + timedelta(days=20))
        before = await play(service, first, first + timedelta(days=4))
        for start in quarters(first + timedelta(days=1)):
            stand_in.changes[("smard", start)] = 3000.0 - value("DAY_AHEAD", start) * 9
        window = {"start": midnight(first).isoformat(), "end": midnight(first + timedelta(days=3)).isoformat()}
        run = await run_now(service, "smard", **window)
        assert (run["status"], run["rowsChanged"]) == ("DONE", 4 * 96)
        after = await play(service, first, first + timedelta(days=4))
        assert [(day["charged"], day["discharged"]) for day in after] == [
            (day["charged"], day["discharged"]) for day in before
        ]
        assert after[1]["earned"] != before[1]["earned"], "it is paid what came in the end"
        assert after[2]["earned"] == before[2]["earned"]


async def play(service: FeedService, first: date, end: date) -> list[Any]:
    battery = {"ratedPower": 1000, "energyCapacity": 2000, "chargeEfficiency": 0.95, "dischargeEfficiency": 0.95}
    body = {"start": str(first), "end": str(end), "policy": "YESTERDAY", "battery": battery}
    answer = await service.operator.post("/backtests", json=body)
    assert answer.status_code == 202, answer.text
    path = f"/backtests/{answer.json()['id']}"
    async with asyncio.timeout(60):
        while (found := await service.get(path))["status"] not in ("DONE", "FAILED"):
            await asyncio.sleep(0.1)
    assert found["status"] == "DONE", found
    return list(await service.get(f"{path}/days"))
