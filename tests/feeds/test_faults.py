"""Sources that misbehave on the network, and a month of outages: nothing wrong is ever written."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.conftest import running
from tests.feeds.conftest import FeedService, Start
from tests.feeds.stand_in import Canned, StandIn, make_sheet, midnight, quarters, time_series, value
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


DEEP = b"[" * 100_000


def quoting(secret: str) -> bytes:
    """An error page that quotes the request."""
    return f"<html>of {secret}, refused: {secret}".encode()


def in_spite_of_a_token(answer: Canned) -> Callable[[str], Canned | None]:
    """What the data service of netztransparenz.de answers once the token is given."""
    given = Canned(200, b'{"access_token":"stand-in-access"}')
    return lambda target: given if "token" in target else answer


def sheet_of(rows: str) -> Canned:
    """A spreadsheet whose rows are written out."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(make_sheet("FCR", date(2027, 3, 11)))) as true, zipfile.ZipFile(file, "w") as other:
        for name in true.namelist():
            body = true.read(name)
            if name == "xl/worksheets/sheet1.xml":
                body = re.sub(rb"<sheetData>.*</sheetData>", f"<sheetData>{rows}</sheetData>".encode(), body)
            other.writestr(name, body)
    return Canned(200, file.getvalue())


def document_with(periods: str) -> Canned:
    """A document of ENTSO-E's of the coupled auction with these periods."""
    start, end = "<Period>", "</Period>"
    series = time_series(date(2027, 3, 11), "1", 15, lambda _: 1.0)
    series = series[: series.index(start)] + periods + series[series.index(end) + len(end) :]
    return Canned(200, f"<Publication_MarketDocument><type>A44</type>{series}</Publication_MarketDocument>".encode())


LONG_PERIOD = (
    "<Period><timeInterval><start>2027-03-01T23:00Z</start><end>2027-03-30T22:00Z</end></timeInterval>"
    "<resolution>PT15M</resolution><Point><position>1</position><price.amount>1</price.amount></Point></Period>"
)
TABLE = "Datum;Zeitzone;von;bis;Datenkategorie;Datentyp;Einheit;reBAP unterdeckt;reBAP ueberdeckt;ID AEP\n"
HOSTILE: list[tuple[str, Any, str]] = [
    ("smard", Canned(200, b'{"timestamps":[1],"more":' + DEEP), "cannot be read: RecursionError"),
    ("smard", Canned(200, b'{"timestamps":[' + b"9" * 5_000 + b"]}"), "no list of timestamps"),
    ("smard", Canned(200, b'{"timestamps":[1,2,2]}'), "its order is not by time"),
    ("energy-charts", Canned(200, b'{"unix_seconds":[0],"price":[1e999]}'), "no table of prices"),
    ("energy-charts", Canned(200, b'{"unix_seconds":[99999999999999],"price":[1]}'), "no seconds since 1970"),
    ("energy-charts", Canned(200, b'{"price":[],"unix_seconds":' + DEEP), "no table of prices"),
    ("energy-charts", Canned(200, b'{"unix_seconds":[0,900],"price":[1,2]}'), "none of what was asked for"),
    ("entsoe", Canned(500, quoting("stand-in-token")), "500 Internal Server Error"),
    ("entsoe", Canned(403, quoting("stand-in-token")), "403 Forbidden"),
    ("entsoe", Canned(418, quoting("stand-in-token")), "'<html>of (hidden), refused: (hidden)'"),
    ("entsoe", Canned(302, b"", {"Location": "https://x/?securityToken=stand-in-token"}), "securityToken=(hidden)"),
    ("entsoe", Canned(200, "<?xml version='1.0' encoding='UTF-16'?><x/>".encode("utf-16")), "not written in UTF-8"),
    ("entsoe", document_with(LONG_PERIOD * 5_000), "more than 100000 values"),
    ("regelleistung", sheet_of('<row r="99999999999"><c r="A1"><v>1</v></c></row>'), "more than 1048576 rows"),
    ("regelleistung", sheet_of('<row><c r="XFD1"><v>1</v></c></row>' * 9), "256 columns"),
    ("regelleistung", sheet_of('<row><c r="1A"><v>1</v></c></row>'), "not a whole spreadsheet"),
    (
        "netztransparenz",
        in_spite_of_a_token(
            Canned(200, f"{TABLE}11.03.2027;UTC;00:00;00:15;a;b;c;{';'.join(['9' * 40] * 3)}\n".encode())
        ),
        "cannot be read: InvalidOperation",
    ),
    (
        "netztransparenz",
        in_spite_of_a_token(Canned(200, f"{TABLE}01.01.0001;CET;00:00;00:15;a;b;c;1;1;1\n".encode())),
        "cannot be read: OverflowError",
    ),
    ("netztransparenz", in_spite_of_a_token(Canned(418, quoting("stand-in-access"))), "'<html>of (hidden)"),
    ("netztransparenz", Canned(400, quoting("stand-in-secret")), "'<html>of (hidden)"),
    ("netztransparenz", Canned(200, b'{"access_token":"a\\r\\nX-Other: 1"}'), "without an access token"),
]


class TestAnswerOverTheNetwork:
    async def test_that_is_hostile_is_told_without_secrets_and_writes_nothing(
        self, start_feeds: Start, stand_in: StandIn
    ) -> None:
        service = await start_feeds(at(18), feeds=())
        for source, answer, told in HOSTILE:
            stand_in.faults = {source: answer}
            run = await run_now(service, source)
            assert told in run["fault"], (source, told, run["fault"])
            assert "stand-in-" not in run["fault"], "no secret"
            assert len(run["fault"]) <= 500
        for table in ("reference_price", "feed_value", "feed_day"):
            assert await service.edge.pool.fetchval(f"select count(*) from {table}") == 0, table

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
