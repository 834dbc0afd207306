"""What each command shows a person, word by word; the service itself is played."""

from __future__ import annotations

import io
import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.played import BATTERY, OTHERS, OURS, SECOND, THING, VIRTUAL, PlayedService, Run, refuse

from gridloom_client import ARROW
from gridloom_client.commands import imports
from gridloom_client.profiles import Profile, Profiles, Secret

pytestmark = pytest.mark.pure

SHORT, MORNING, LATER = THING[-8:], "2026-07-01T10:30:00Z", "2026-07-01T11:00:00Z"
DAY = {"start": "2026-06-30T22:00:00Z", "end": "2026-07-01T22:00:00Z"}
VIRTUAL_PATH = f"/organisations/{OURS}/virtual-assets/{VIRTUAL}"
RATED: dict[str, float] = {"ratedChargePower": 10, "ratedDischargePower": 20, "energyCapacity": 40}
RATED |= {"chargeEfficiency": 0.9, "dischargeEfficiency": 0.8}
LIFE = {
    **{"id": VIRTUAL, "name": "Elbe", "deliveryZone": "TenneT", "start": DAY["start"], "end": "2026-07-02T22:00:00Z"},
    **RATED,
    **{"energyCapacity": 4000, "availableEnergyCapacity": 3900, "finalSoCTolerance": 0.01},
    **{"endStateOfChargePercentage": 50, "feedback": "It is balanced.", "dispatchGateClosureSeconds": 300},
    "blockMetadata": [{"id": SECOND, "market": "OTC", **DAY}],
}
SCHEDULE = [{"time": "2026-07-01T10:00:00Z", "power": 1500}, {"time": "2026-07-01T10:15:00Z", "power": -5}]
AUCTION = {
    **{"id": THING, "status": "WON", "start": "2026-06-29T08:00:00Z", "end": "2026-06-29T14:00:00Z"},
    "item": {**DAY, "deliveryZone": "TenneT", **RATED, "dailyCycleLimit": 1.5}
    | {"availability": {"power": 0.75, "energy": 0.5}},
    "currentBid": {"id": SECOND, "price": 1250.5, "timestamp": MORNING},
    **{"virtualAssetID": VIRTUAL, "hurdlePrice": 900, "outcome": "ALLOCATED", "winnerID": OURS, "price": 1300.5},
    "backing": [{"physicalAssetID": BATTERY, "share": 0.6}, {"physicalAssetID": SECOND, "share": 0.4}],
    "participants": [OURS, OTHERS],
}
OUTAGE = {"start": "2026-07-02T04:00:00Z", "end": "2026-07-02T10:00:00Z"}
BATTERIES = {
    "/physical-assets": [
        {"id": id, "name": name, "deliveryZone": "TenneT", "status": "OPERATIONAL", "parameters": RATED}
        for id, name in ((BATTERY, "Husum"), (SECOND, "Heide"))
    ]
}


def echo(request: httpx2.Request) -> httpx2.Response:
    """Answers what counts rows and what does not."""
    return httpx2.Response(200, json={"received": 1, "inserted": 1, "replaced": 0, "unchanged": 0})


SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "webhooks list": (
        {
            "/webhooks": [
                {"id": SECOND, "url": "https://a.example", "types": ["bid.placed", "auction.opened"], "enabled": True},
                {"id": VIRTUAL, "url": "https://c.example", "types": ["bid.placed"], "enabled": False},
                {"id": THING, "url": "https://b.example", "enabled": False, "disabledBecause": "it answered 500"},
            ]
        },
        """
        Webhooks
        ID        State  Address            Types                       Off because
        00000051  on     https://a.example  bid.placed, auction.opened  –
        00000041  off    https://c.example  bid.placed                  –
        00000061  off    https://b.example                              it answered 500
        """,
    ),
    "schedule show Elbe --day 2026-07-01 --utc": (
        {
            VIRTUAL_PATH: LIFE,
            f"{VIRTUAL_PATH}/schedule": {
                "schedule": [*SCHEDULE, {"time": "2026-07-01T22:00:00Z", "power": 7}],
            },
            f"{VIRTUAL_PATH}/state-of-charge": [{"time": SCHEDULE[0]["time"], "stateOfChargePercentage": 42.5}],
        },
        """
        Schedule
        Time               Power kW  State of charge %
        2026-07-01 10:00Z     1,500               42.5
        2026-07-01 10:15Z        -5                  –
        It is balanced.
        """,
    ),
    "statement Elbe --start 2026-06-01 --end 2026-08-01": (
        {
            f"/revenue-reporting/virtual-assets/{VIRTUAL}/statement": {
                "total": 1234.5,
                "lines": [
                    {"time": MORNING, "line": "TRADING", "amount": 1240, "counterparty": "REGELLEISTUNG"},
                    {"time": MORNING, "line": "TOLLING", "amount": -4, "counterparty": OTHERS},
                    {"time": MORNING, "line": "TOLLING", "amount": -1.5, "counterparty": OTHERS},
                    {"time": MORNING, "line": "TOLLING", "amount": 0, "counterparty": THING},
                ],
            }
        },
        """
        Statement of Elbe
        Time              Line          EUR  With
        2026-07-01 12:30  TRADING  1,240.00  REGELLEISTUNG
        2026-07-01 12:30  TOLLING     -5.50  Südwind
        2026-07-01 12:30  TOLLING      0.00  00000061
        Total 1,234.50 EUR
        From your side: auctions and tolls are taken off where you pay them, and added where you are paid.
        What the batteries earned for all parties: gridloom revenue Elbe.
        """,
    ),
    "statements missing 2026-08": ({}, "2026-08 lacks nothing."),
    f"backtest show {SHORT}": (
        {
            "/backtests": [{"id": THING}],
            f"/backtests/{THING}": {"id": THING, "status": "DONE", "policy": "FORECAST"}
            | {"earned": 30, "foresight": 40, "share": 0.75},
            f"/backtests/{THING}/days": [
                {"deliveryDay": day, "earned": earned, "foresight": best}
                for day, earned, best in (("2026-09-29", 10, 10), ("2026-09-30", 5, 15), ("2026-10-01", 15, 15))
            ],
        },
        f"""
        Months
        Month    Days  Earned EUR  Foresight EUR  Share
        2026-09     2       15.00          25.00  60.0%
        2026-10     1       15.00          15.00  100.0%
        Altogether
        ID                  {THING}
        Policy              FORECAST
        Earned EUR          30.00
        With foresight EUR  40.00
        Share               75.0%
        """,
    ),
    "clock --utc": (
        {"/sandbox/clock": {"now": "2026-11-18T12:00:05Z", "walk": {"target": "2026-11-19T12:00:00Z"}}},
        """
        2026-11-18 12:00:05 UTC
        on its way to 2026-11-19 12:00:00 UTC
        """,
    ),
    "sandbox simulator --running --speed 1 --utc": (
        {
            "PUT /sandbox/simulator": {"running": True, "now": MORNING, "speed": 1, "seed": 8}
            | {"historyComplete": False, "progress": 0.314, "historySecondsLeft": 80}
        },
        """
        The simulated world
        Running  yes
        Time     2026-07-01 10:30Z
        Speed    1
        Seed     8
        History  31 %, about 80 s left
        """,
    ),
    "sandbox wait": ({"/sandbox/simulator": {"historyComplete": True}}, "The history is complete."),
    "auctions create --backing Husum=0.6 --backing Heide=0.4 --invite Südwind --power 20 --charge-power 10 --energy 40"
    " --day 2026-11-25 --hurdle 900 --opens 2026-11-20T08:00 --closes 2026-11-20T10:00 --yes": (
        {**BATTERIES, "/auctions": [], "POST /auctions": AUCTION},
        f"""
        The auction
        Opens          2026-11-20 08:00
        Closes         2026-11-20 10:00
        Delivery       2026-11-25
        Delivery zone  TenneT
        Charge kW      10
        Discharge kW   20
        Energy kWh     40
        Hurdle EUR     900.00
        Batteries      Husum 60%, Heide 40%
        Invited        Südwind
        The auction is created.
        ID      {THING}
        Opens   2026-06-29 10:00
        Closes  2026-06-29 16:00
        """,
    ),
}
MISUNDERSTOOD = {
    "portfolios change North": "Say what to change: --name, --assets or both.",
    "sessions end": "Name a session, or say --others.",
    f"sessions end {THING} --others": "Name a session, or say --others.",
    "keys create G Create:monitoring --expires-at 2027-01-01T00:00": "--expires-at needs an offset",
    "clock --advance 1h --stop": "Give one of --advance, --to and --stop.",
    "clock --advance 1h --to 2026-07-01": "Give one of --advance, --to and --stop.",
    "second-factor disable": "Expected a code on standard input.",
    "auctions create --backing Husum --backing Heide=0.4 --invite Südwind --power 2 --energy 4 --yes": "not sum to 1",
    "auctions create --backing Husum=much --invite Südwind --power 2 --energy 4 --yes": "much is no share of Husum",
    "statements show 2026-01": "There is no statement 2026-01",
    f"auctions bid {SHORT} much": "much is not a price; expected a number such as 1250.50",
    f"auctions bid {SHORT} NaN": "a price is finite",
}


class TestACommand:
    @pytest.mark.parametrize("command", SHOWN)
    def test_shows(self, run: Run, command: str):
        known, text = SHOWN[command]
        shown = run(command, known)
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.splitlines() == dedent(text).strip().splitlines()

    @pytest.mark.parametrize("command", MISUNDERSTOOD)
    def test_that_cannot_be_meant_changes_nothing(self, run: Run, command: str):
        shown = run(command, BATTERIES)
        assert (shown.code, shown.out, shown.service.changes) == (2, "", [])
        assert MISUNDERSTOOD[command] in shown.err


class TestAFileOfPoints:
    @pytest.mark.parametrize(
        ("header", "words", "said"),
        [
            ("physicalAssetID,signal,time,value", "--asset Husum", "names the assets in its column physicalAssetID"),
            ("signal,time,value", "", "say whose points these are with --asset"),
        ],
    )
    def test_says_whose_they_are_once(self, run: Run, tmp_path: Path, header: str, words: str, said: str):
        file = tmp_path / "points.csv"
        file.write_text(f"{header}\n")
        shown = run(f"monitoring import {file} {words}")
        assert (shown.code, said in shown.err, shown.service.changes) == (2, True, [])

    def test_is_told_row_by_row_of_the_file_what_was_refused(self, run: Run, tmp_path: Path):
        file = tmp_path / "points.csv"
        file.write_text("signal,time,value\n" + "active_power,2026-07-01T10:00:00Z,1\n" * 4)
        answer: dict[str, Any] = {"received": 4, "written": 1, "overwritten": 0, "refused": 3}
        answer |= {"refusals": [{"reason": "unknown signal", "count": 3, "pointers": ["/0/signal", "/2/signal"]}]}
        shown = run(f"monitoring import {file} --asset Husum", {f"POST /monitoring/{BATTERY}/datapoints": answer})
        assert shown.out.splitlines() == [
            "1 points written, 0 overwritten, 3 refused.",
            "Refused",
            "Reason          Points  First places",
            "unknown signal       3  row 1 (signal), row 3 (signal)",
        ], shown.err
        assert shown.code == 1


class TestAnExport:
    DAYS = "--start 2026-07-01 --end 2026-07-04"

    @staticmethod
    def answer_with(*days: str) -> Any:
        left = list(days)
        return lambda _: httpx2.Response(200, text=left.pop(0), headers={"Content-Type": "text/csv"})

    def test_of_parquet_is_a_whole_file_of_all_days(self, run: Run, tmp_path: Path):
        def write_day(power: float) -> bytes:
            table, sink = pa.table({"time": [1], "power": [power]}), io.BytesIO()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            return sink.getvalue()

        left, asked = [write_day(power) for power in (5.0, 6.0, 7.0)], list[str]()

        def answer(request: httpx2.Request) -> httpx2.Response:
            asked.append(request.headers["accept"])
            return httpx2.Response(200, content=left.pop(0))

        file = tmp_path / "out.parquet"
        shown = run(
            f"monitoring export Husum {file} {self.DAYS} -o json", {f"/monitoring/{BATTERY}/datapoints": answer}
        )
        assert pq.read_table(file)["power"].to_pylist() == [5, 6, 7], shown.err
        assert json.loads(shown.out) == {"file": str(file), "rows": 3, "days": 3}
        assert asked == [ARROW] * 3

    @pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
    def test_of_columns_that_differ_from_day_to_day_leaves_no_file(self, run: Run, tmp_path: Path):
        def write_day(name: str) -> bytes:
            table, sink = pa.table({"time": [1], name: [5.0]}), io.BytesIO()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            return sink.getvalue()

        left = [write_day(name) for name in ("power", "charge", "power")]
        known = {f"/monitoring/{BATTERY}/datapoints": lambda _: httpx2.Response(200, content=left.pop(0))}
        shown = run(f"monitoring export Husum {tmp_path / 'out.PARQUET'} {self.DAYS}", known)
        assert (shown.code, "The signals differ from day to day" in shown.err) == (2, True)
        assert [path for path in tmp_path.iterdir() if path.is_file()] == []

    def test_of_days_with_other_signals_leaves_no_file(self, run: Run, tmp_path: Path):
        days = self.answer_with("time,power\n1,5\n", "time,charge\n2,6\n")
        shown = run(
            f"monitoring export Husum {tmp_path / 'out.csv'} {self.DAYS}", {f"/monitoring/{BATTERY}/datapoints": days}
        )
        assert (shown.code, "The signals differ from day to day" in shown.err) == (2, True)
        assert [path for path in tmp_path.iterdir() if path.is_file()] == []


class TestPublishedPrices:
    def test_of_several_series_and_files_are_all_sent_and_each_once(self, run: Run, tmp_path: Path):
        header = "DATE_FROM,TYPE_OF_RESERVES,PRODUCT,GERMANY_AVERAGE_CAPACITY_PRICE_[(EUR/MW)/h]"
        header += ",GERMANY_MARGINAL_CAPACITY_PRICE_[(EUR/MW)/h]"
        files = [tmp_path / name for name in ("old.csv", "new.csv")]
        files[0].write_text(f"{header}\n2026-01-10,aFRR,POS_08_12,1,2\n2026-01-10,aFRR,NEG_08_12,3,4\n")
        files[1].write_text(f"{header}\n2026-01-10,aFRR,POS_08_12,5,6\n")
        shown = run(f"import afrr-capacity {files[0]} {files[1]}")
        [line] = shown.service.changes
        rows = json.loads(line.removeprefix("POST /reference-prices "))
        prices = {row["series"].removeprefix("AFRR_CAPACITY_"): row["price"] for row in rows}
        assert len(rows) == len(prices)
        assert prices == {
            "POS_DE_AVERAGE": 5,
            "POS_DE_MARGINAL": 6,
            "NEG_DE_AVERAGE": 3,
            "NEG_DE_MARGINAL": 4,
        }, "the later file counts"


class TestARefusal:
    @pytest.mark.parametrize(
        ("status", "said"),
        [(500, "It failed. (request r-7)\n"), (501, "It failed. (request r-7)\n"), (422, "It failed.\n")],
    )
    def test_names_the_request_where_the_service_is_at_fault(self, run: Run, status: int, said: str):
        refusal = refuse(status, "some-problem", detail="It failed.", requestId="r-7")
        shown = run("organisations create Ostwind --kind OPERATOR", {"POST /organisations": refusal})
        assert (shown.code, shown.out, shown.err) == (5 if status >= 500 else 1, "", said)

    def test_of_a_production_where_a_sandbox_is_meant_says_which_it_is(self, run: Run):
        refusal = refuse(404, "not-found", detail="No operation has the path /sandbox/clock. GET /docs lists them.")
        shown = run("clock", {"/sandbox/clock": refusal})
        assert (shown.code, shown.err.partition(":")[0]) == (1, "This service is a production")

    def test_of_a_session_that_is_too_old_says_how_to_go_on(self, run: Run):
        refusal = refuse(403, "reauthentication-required", detail="This needs a sign-in of the last ten minutes.")
        shown = run("members role ada ADMIN", {f"PATCH /organisations/{OURS}/members/{THING}": refusal})
        assert "of the last ten minutes: sign in again with gridloom login, then repeat the command." in shown.err

    @pytest.mark.parametrize(
        ("command", "code", "said"),
        [
            (
                "assets list --colour red --json",
                2,
                {"title": "Not understood", "detail": "Unknown option: --colour. Did you mean --url?"},
            ),
            ("assets show Hamburg -o json", 2, {"title": "Not understood"}),
            (
                "assets show --json",
                2,
                {"detail": "gridloom assets show needs ASSET; gridloom assets show --help has examples."},
            ),
            (
                "assets create Nord -o json",
                2,
                {"detail": "gridloom assets create needs --organisation; gridloom assets create --help has examples."},
            ),
            ("organisations list --json", 5, {"title": "No", "status": 500}),
        ],
    )
    def test_is_json_where_json_is_asked_for(self, run: Run, command: str, code: int, said: dict[str, Any]):
        shown = run(command, {"/organisations": refuse(500, "some-problem")})
        document = json.loads(shown.err)
        assert (shown.code, shown.out, {name: document.get(name) for name in said}) == (code, "", said)


class TestHealth:
    @pytest.mark.parametrize(
        ("body", "out", "err"),
        [
            (
                {"status": "DOWN", "checks": [{"name": "database", "status": "DOWN", "detail": "does not answer"}]},
                "The service is DOWN\ndatabase  DOWN: does not answer\n",
                "",
            ),
            ({}, "", "Status 503.\n"),
        ],
        ids=["of the service", "of a proxy"],
    )
    def test_of_a_service_that_cannot_work_is_said_at_once_and_fails(
        self, run: Run, body: dict[str, Any], out: str, err: str
    ):
        shown = run("health", {"/health/ready": lambda _: httpx2.Response(503, json=body)})
        assert (shown.code, shown.out, shown.err, len(shown.service.requests)) == (5, out, err, 1)


class TestAStream:
    @staticmethod
    def told(*events: str) -> Any:
        """The whole stream of each request."""
        body = "".join(f"id: {number}\n{event}\n\n" for number, event in enumerate(events, 1))
        return lambda _: httpx2.Response(200, text=body, headers={"Content-Type": "text/event-stream"})

    def test_of_events_ends_after_so_many_as_are_wanted(self, run: Run):
        data = {"auctionID": THING, "bidID": SECOND, "price": 5}
        event = {"id": THING, "type": "bid.placed", "time": MORNING, "subject": "auctions/1", "data": data}
        events = self.told(*[f"data: {json.dumps(event)}"] * 3)
        shown = run("events tail --types bid.placed,auction.cleared --after 7 --count 2 --utc", {"/events": events})
        assert [line.split()[:5] for line in shown.out.splitlines()] == [
            [place, "2026-07-01", "10:30Z", "bid.placed", "auctions/1"] for place in "12"
        ], shown.err
        [asked] = shown.service.requests
        assert asked.url.params["types"] == "bid.placed,auction.cleared"
        assert asked.headers["last-event-id"] == "7"
        as_csv = run("events tail --count 2 -o csv", {"/events": events}).out.splitlines()
        assert [line.partition(",")[0] for line in as_csv] == ["id", THING, THING]

    def test_of_points_shows_their_values_to_the_thousandth_and_no_noughts_after_it(self, run: Run):
        values = [100, 0, 0.5, -1234.5678, 20.1]
        stored = json.dumps({"active_power": {"time": [MORNING] * len(values), "value": values}})
        known = {f"/monitoring/{BATTERY}/stream": self.told(f"event: datapoints\ndata: {stored}")}
        shown = run(f"monitoring tail Husum --count {len(values)}", known)
        assert [line.split() for line in shown.out.splitlines()] == [
            ["2026-07-01", "12:30", "active_power", text] for text in ("100", "0", "0.5", "-1,234.568", "20.1")
        ]

    def test_of_points_ends_after_so_many_as_are_wanted_and_says_what_it_leaves_out(self, run: Run):
        stored = json.dumps({"active_power": {"time": [MORNING, LATER], "value": [1234.5, None]}})
        points = self.told(
            "event: gap\ndata: {}", f"event: datapoints\ndata: {stored}", f"event: datapoints\ndata: {stored}"
        )
        command = "monitoring tail Husum --signals active_power,frequency --after 4-2026-07-01 --count 3 --utc"
        shown = run(command, {f"/monitoring/{BATTERY}/stream": points})
        assert [line.split() for line in shown.out.splitlines()] == [
            ["2026-07-01", "10:30Z", "active_power", "1,234.5"],
            ["2026-07-01", "11:00Z", "active_power", "–"],
            ["2026-07-01", "10:30Z", "active_power", "1,234.5"],
        ]
        assert shown.err == "Some points between are no longer told; export reads them.\n"
        asked = shown.service.requests[-1]
        assert asked.url.params["datapoints"] == "active_power,frequency"
        assert asked.headers["last-event-id"] == "4-2026-07-01"


class TestABacktest:
    def test_is_waited_for_and_then_shown_day_by_day(self, run: Run):
        known, text = SHOWN[f"backtest show {SHORT}"]
        states = iter([known[f"/backtests/{THING}"] | {"status": status} for status in ("RUNNING", "DONE")])
        played = {**known, f"/backtests/{THING}": states, "POST /backtests": {"id": THING, "status": "QUEUED"}}
        shown = run("backtest 2026-09-29 2026-10-02 --power 20 --energy 40 --policy YESTERDAY --cycles 1.5", played)
        assert shown.out.splitlines() == dedent(text).strip().splitlines(), shown.err
        [line] = shown.service.changes
        assert json.loads(line.removeprefix("POST /backtests ")) == {
            **{"start": "2026-09-29", "end": "2026-10-02", "policy": "YESTERDAY"},
            "battery": {"ratedPower": 20, "energyCapacity": 40, "dailyCycleLimit": 1.5}
            | {"chargeEfficiency": 0.95, "dischargeEfficiency": 0.95},
        }

    def test_that_fails_says_why(self, run: Run):
        failed = {"id": THING, "status": "FAILED", "failure": "There are no prices."}
        shown = run("backtest 2026-09-29 2026-10-02", {"POST /backtests": failed})
        assert (shown.code, shown.out) == (1, "")
        assert shown.err == "The back-test failed: There are no prices.\n"


class TestAnyCall:
    def test_is_sent_as_it_was_typed(self, run: Run):
        shown = run(
            """call PATCH /fleets/7 --data '{"a": 1}' --if-match '"5"' --accept text/csv""", {"PATCH /fleets/7": echo}
        )
        [asked] = shown.service.requests
        assert (asked.method, asked.url.path, asked.content) == ("PATCH", "/fleets/7", b'{"a": 1}')
        assert [asked.headers[name] for name in ("if-match", "accept", "content-type")] == [
            *('"5"', "text/csv", "application/json")
        ]

    @pytest.mark.parametrize(
        ("words", "typed", "sent"),
        [
            ("--data -", '{"a":\n 1}\n', b'{"a":\n 1}\n'),
            ("--data @{file} --content-type text/csv", "", b"\na,b\n1,2\n"),
            ("--data a,b --content-type text/csv", "", b"a,b"),
        ],
        ids=["from standard input", "from a file", "as it was typed"],
    )
    def test_has_its_body_byte_for_byte(self, run: Run, tmp_path: Path, words: str, typed: str, sent: bytes):
        file = tmp_path / "points.csv"
        file.write_bytes(b"\na,b\n1,2\n")
        shown = run(f"call PATCH /fleets/7 {words.format(file=file)}", {"PATCH /fleets/7": echo}, typed)
        assert [request.content for request in shown.service.requests] == [sent], shown.err

    def test_of_what_is_no_json_or_no_file_sends_nothing(self, run: Run, tmp_path: Path):
        for words, said in (
            ("--data {", "The data is not JSON: "),
            (f"--data @{tmp_path}/none.csv --content-type text/csv", "none.csv cannot be read: No such file"),
        ):
            shown = run(f"call PATCH /fleets/7 {words}")
            assert (shown.code, said in shown.err, shown.service.lines) == (2, True, [])


class TestACountdown:
    def test_goes_on_second_by_second_until_there_is_a_result(self, run: Run, monkeypatch: pytest.MonkeyPatch):
        seen = AUCTION | {"start": "2026-11-18T12:00:09Z", "end": "2026-11-18T13:00:00Z"}
        states = (seen | {"status": one} for one in ("NOT_STARTED", "SCHEDULED", "RUNNING", "PENDING", "LOST"))
        told: list[str] = []
        monkeypatch.setattr("rich.live.Live.update", lambda _, text, **__: told.append(text))
        shown = run(f"auctions watch {SHORT}", {f"/auctions/{THING}": states})
        assert told == [
            *["opens in 0:00:09, your bid 1,250.50 EUR stands"] * 2,
            "closes in 1:00:00, your bid 1,250.50 EUR stands",
            "closed; the result is being made",
        ], shown.err
        assert shown.pauses_s == [1] * 4
        assert "Status         LOST" in shown.out


class TestSettlements:
    def test_of_a_german_file_are_sent_with_commas_and_points(self, run: Run, tmp_path: Path):
        file = tmp_path / "netted.csv"
        file.write_text("assetID;time;volume\n1;2026-07-01T10:00Z;1.234,5\n")
        sent = run(f"import settlements net-off {file}", {"POST /settlements/net-off": echo}).service.requests[-1]
        assert sent.content == b"assetID,time,volume\n1,2026-07-01T10:00Z,1234.5\n"
        assert sent.headers["content-type"] == "text/csv"

    HEADER = "assetID,time,volume\n"

    def write(self, directory: Path, **rows: int) -> str:
        """Files of so many rows each, the first of them empty lines apart."""
        for name, count in rows.items():
            lines = [f"{name},{number}\n" for number in range(count)]
            (directory / f"{name}.CSV").write_text(self.HEADER + "\n".join(lines))
        return " ".join(str(directory / f"{name}.CSV") for name in rows)

    @pytest.fixture(autouse=True)
    def pieces_of_two_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert imports.LINES_AT_ONCE <= 100_000 >= imports.ROWS_AT_ONCE, "what the service takes at once"
        monkeypatch.setattr(imports, "LINES_AT_ONCE", 2)

    @pytest.mark.parametrize("form", ["table", "json"])
    def test_that_are_refused_are_told_by_the_rows_of_their_file(self, run: Run, tmp_path: Path, form: str):
        errors = [{"pointer": f"/{row}/volume", "detail": "is negative"} for row in range(12)]
        refusal = refuse(
            400, "invalid", detail="Rows are wrong.", errors=[*errors, {"pointer": "/1", "detail": "twice"}]
        )
        answers = iter((echo, refusal))
        known = {"POST /settlements/net-off": lambda request: next(answers)(request)}
        shown = run(f"import settlements net-off {self.write(tmp_path, a=3)} -o {form}", known)
        assert (shown.code, shown.out) == (1, "")
        if form == "json":
            assert json.loads(shown.err)["errors"][0] == errors[0]
            return
        rows = "; ".join(f"row {row}/volume: is negative" for row in range(3, 13))
        assert shown.err == f"a.CSV: its first 2 rows are recorded. {rows}; and 3 more\n"

    def test_of_no_file_or_of_some_that_are_none_send_nothing(self, run: Run, tmp_path: Path):
        file, none, other = self.write(tmp_path, a=1), tmp_path / "none.csv", tmp_path / "other.csv"
        for words, said in (
            ("import fcr", "Name at least one file."),
            (f"import settlements net-off {file} {none} {other}", f"There is no file {none}, {other}."),
            (f"import settlements net-off {tmp_path}", f"There is no file {tmp_path}."),
        ):
            shown = run(words)
            assert (shown.code, shown.err, shown.service.lines) == (2, f"{said}\n", [])

    @pytest.mark.parametrize(
        ("ending", "media_type"),
        [("jsonl", "application/x-ndjson"), ("ndjson", "application/x-ndjson"), ("json", "application/json")],
    )
    def test_are_sent_as_what_the_ending_of_their_file_says(
        self, run: Run, tmp_path: Path, ending: str, media_type: str
    ):
        file = tmp_path / f"netted.{ending}"
        file.write_text('{"a": 1}\n')
        [sent] = run(f"import settlements net-off {file}", {"POST /settlements/net-off": echo}).service.requests
        assert (sent.content, sent.headers["content-type"]) == (b'{"a": 1}\n', media_type)


class TestPrices:
    def test_are_shown_without_a_forecast_where_there_is_none_and_of_other_series_without_asking(self, run: Run):
        price = {"start": "2026-07-01T10:00:00Z", "end": "2026-07-01T10:15:00Z", "price": 42.5}
        known = {"/reference-prices": [price], "/forecasts/day-ahead": refuse(422, "no-forecast")}
        shown = run("prices --day 2026-07-01 --utc", known)
        assert shown.out.splitlines()[2].split() == ["2026-07-01", "10:00Z", "42.50", "–", "–", "–"], shown.err
        other = run("prices --day 2026-07-01 --series REBAP_DE", known)
        assert not any("/forecasts" in line for line in other.service.lines)


class TestAScript:
    @pytest.mark.parametrize(
        "command",
        [
            "unavailability add Husum 2026-07-02 2026-07-03 --type MAINTENANCE --description x",
            f"unavailability withdraw Husum {SHORT}",
            "sandbox reset",
            "statements issue 2026-09",
            *("fleets delete Nord", "grants revoke Husum Südwind", "keys revoke Gateway", f"webhooks delete {SHORT}"),
            *(f"blocks remove Elbe {SHORT}", "virtual undo Elbe", f"auctions cancel {SHORT}", "members remove ada"),
            *("members reset-second-factor ada", "identity-provider remove"),
            *("prices withdraw REBAP_DE 2026-11-16 2026-11-17", "assets change Husum --status DECOMMISSIONED"),
        ],
    )
    def test_changes_nothing_that_was_not_agreed_to(self, run: Run, command: str):
        shown = run(f"{command} -o json")
        assert (shown.code, shown.out, shown.service.changes) == (2, "", [])
        assert json.loads(shown.err)["detail"] == "Pass --yes where there is no terminal to confirm on."


class TestAPersonWhoDoesNotAgree:
    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("sandbox reset", "Nothing was changed."),
            ("statements issue 2026-09", ""),
            (f"unavailability withdraw Husum {SHORT}", "Nothing was changed."),
            (
                "auctions create --backing Husum --invite Südwind --power 20 --energy 40",
                "Nothing was created.",
            ),
        ],
    )
    def test_changes_nothing(self, run: Run, command: str, said: str):
        shown = run(command, {"/auctions": []}, at_terminal=True)
        assert (shown.code, shown.service.changes) == (0, []), shown.err
        assert [*shown.out.splitlines()[-1:], ""][0] == said


class TestProfiles:
    @pytest.fixture(autouse=True)
    def three(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GRIDLOOM_KEYRING", "off")
        Profiles().put("one", Profile(url="http://one.test", username="ada"), Secret(api_key="k"))
        Profiles().put("two", Profile(url="http://two.test"))

    @pytest.mark.parametrize(("words", "current"), [("", "one"), ("--profile two", "two")])
    def test_are_listed_with_the_one_in_use_and_where_their_secrets_are(self, run: Run, words: str, current: str):
        shown = run(f"profile list {words}")
        marks = {name: "*" if name == current else " " for name in ("one", "two")}
        assert [line.rstrip() for line in shown.out.splitlines()] == [
            "Profiles",
            "   Name  Address          Signed in as  Secret kept in",
            f"{marks['one']}  one   http://one.test  ada           file",
            f"{marks['two']}  two   http://two.test  –             –",
        ], shown.err

    def test_are_used_and_forgotten_by_name(self, run: Run):
        assert run("profile use two").out == "two (http://two.test) is in use.\n"
        assert Profiles().current == "two"
        assert run("profile remove one").out == "one is forgotten.\n"
        assert list(Profiles().all()) == ["two"]


class TestANotedProfile:
    @pytest.mark.parametrize(
        ("address", "kept"),
        [
            ("http://one.test/", Secret(api_key="k")),
            ("http://two.test", None),
            ("http://one.test.elsewhere.test", None),
            ("https://one.test", None),
        ],
    )
    def test_keeps_the_secret_that_it_has_for_its_own_address_alone(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, address: str, kept: Secret | None
    ):
        monkeypatch.setenv("GRIDLOOM_KEYRING", "off")
        Profiles().put("robot", Profile(url="http://one.test"), Secret(api_key="k"))
        noted = run(f"profile add robot {address} --username ada --no-sign-in")
        assert noted.out == f"robot is {address}. Sign in with gridloom login --profile robot.\n", noted.err
        found = Profiles().get("robot")
        assert (found.url, found.username) == (address, "ada")
        assert Profiles().secret_of("robot") == kept


class TestAnUnfinishedPast:
    PLAYED = {"historyComplete": False, "running": True, "progress": 0.314, "historySecondsLeft": 80}

    @pytest.mark.parametrize(
        ("state", "said"),
        [
            ({"running": False}, "The simulated world is paused: gridloom sandbox simulator --running."),
            ({"fault": "Its password is wrong."}, "Its password is wrong."),
        ],
    )
    def test_is_not_waited_for_where_it_will_not_end(self, run: Run, state: dict[str, Any], said: str):
        shown = run("sandbox wait", {"/sandbox/simulator": self.PLAYED | state})
        assert (shown.code, shown.out, shown.err, shown.pauses_s) == (1, "", f"{said}\n", [])

    def test_is_asked_about_again_until_it_is_complete(self, run: Run):
        states = iter([self.PLAYED, self.PLAYED | {"historyComplete": True, "running": False}])
        shown = run("sandbox wait", {"/sandbox/simulator": states})
        assert (shown.code, shown.out, shown.err) == (0, "The history is complete.\n", "")
        assert len(shown.service.requests) == 2

    def test_is_mentioned_beside_the_time(self, run: Run):
        shown = run("clock --utc", {"/sandbox/simulator": self.PLAYED})
        assert (shown.out, shown.err) == ("2026-11-18 12:00:00 UTC\n", "history 31 %, about 80 s left\n")
        assert run("clock", {"/sandbox/simulator": refuse(404, "not-found")}).err == "", "there is no simulator"


class TestAMonth:
    def test_that_is_not_issued_says_why(self, run: Run):
        failed = {"status": "FAILED", "fault": "Facts are missing."}
        shown = run("statements issue 2026-09 --yes", {"POST /statements": failed})
        assert (shown.code, shown.out, shown.err) == (1, "", "Nothing was issued: Facts are missing.\n")


class TestAStatement:
    def test_is_waited_for_as_long_as_it_is_made(self, run: Run):
        begun = {"id": THING, "status": "RUNNING"}
        known = {"POST /statements": begun, f"/statements/runs/{THING}": iter([begun, begun | {"status": "DONE"}])}
        shown = run("statements issue 2026-09 --yes", known)
        assert (shown.code, shown.out, len(shown.pauses_s)) == (0, "2026-09 is issued.\n", 2), shown.err


class TestAnAuction:
    def test_without_a_bid_of_yours_has_none_to_withdraw(self, run: Run):
        known = {f"/auctions/{THING}": {name: value for name, value in AUCTION.items() if name != "currentBid"}}
        shown = run(f"auctions withdraw {SHORT}", known)
        assert (shown.code, shown.service.changes) == (2, [])
        assert shown.err == "Your organisation has no standing bid in this auction.\n"

    WORDS = "auctions create --backing Husum --invite Südwind --power 20 --energy 40 --day 2026-07-01 --yes"
    SAME = AUCTION | {"status": "RUNNING", "outcome": None, "backing": [{"physicalAssetID": BATTERY, "share": 1}]}

    @pytest.mark.parametrize(
        ("other", "is_named"),
        [
            ({"item": {**DAY, "start": "2026-07-01T21:45:00Z", "end": "2026-07-02T22:00:00Z"}}, True),
            ({"item": {**DAY, "start": DAY["end"], "end": "2026-07-02T22:00:00Z"}}, False),
            ({"item": {**DAY, "start": "2026-06-29T22:00:00Z", "end": DAY["start"]}}, False),
            ({"item": {**DAY, "end": "2026-07-01T22:15:00Z"}, "backing": [{"physicalAssetID": SECOND}]}, False),
        ],
        ids=["that overlaps", "of the next day", "of the day before", "on another battery"],
    )
    def test_that_is_in_the_way_is_named_and_no_other(self, run: Run, other: dict[str, Any], is_named: bool):
        there = self.SAME | other
        refusal = refuse(409, "capacity-taken", detail="It is taken.")
        shown = run(self.WORDS, {"/auctions": [there], f"/auctions/{THING}": there, "POST /auctions": refusal})
        assert (shown.code, "It is taken." in shown.err) == (1, True)
        assert (f"What exists already: auction {SHORT}" in shown.err) is is_named


class TestRevenue:
    PATH = f"/revenue-reporting/virtual-assets/{VIRTUAL}/data-points"
    POINTS = {
        "revenue_total_revenue": [("05-31", 0.0), ("06-01", 10.5), ("06-02", 0.0), ("07-01", 1234.5), ("07-02", 0.0)],
        "revenue_wholesale": [("06-01", 10.5), ("07-01", 1230.0)],
        "revenue_fcr": [("07-01", 4.5)],
        "revenue_tolling": [("06-01", 0.0)],
    }
    KNOWN = {
        PATH: {
            "data": {
                name: [{"time": f"2026-{day}T22:00:00Z", "value": value} for day, value in points]
                for name, points in POINTS.items()
            }
        }
    }

    def test_is_drawn_by_its_totals_and_only_where_there_are_some(self, run: Run):
        drawn = run("revenue Elbe --start 2026-06-01 --end 2026-08-01 --plot", self.KNOWN).out
        levels = [line.split("┤")[0].strip() for line in drawn.splitlines() if "┤" in line]
        assert (levels[0], "Revenue EUR" in drawn) == ("1,234", True), drawn
        nothing = run("revenue Elbe --plot", {self.PATH: {"data": {}}})
        assert (nothing.code, nothing.out.splitlines()[:3]) == (0, ["Revenue of Elbe", "Time    EUR", "Total  0.00"])
        assert "gridloom statement Elbe" in nothing.out

    def test_of_a_statement_is_summed_by_month_of_the_market_line_and_counterparty(self, run: Run):
        lines = [
            {"time": f"2026-{day}T22:00:00Z", "line": line, "amount": amount, "counterparty": party}
            for day, line, amount, party in (
                *(("06-29", "TOLLING", -4.5, OTHERS), ("06-29", "TRADING", 7, "MARKET")),
                *(("06-30", "TOLLING", -1.25, OTHERS), ("07-01", "TOLLING", -2, OTHERS)),
                *(("07-01", "TOLLING", -16, THING), ("07-02", "IMBALANCE", -32, OTHERS)),
            )
        ]
        path = f"/revenue-reporting/virtual-assets/{VIRTUAL}/statement"
        words = "statement Elbe --start 2026-06-01 --end 2026-08-01 --resolution monthly -o csv"
        shown = run(words, {path: {"total": -48.75, "lines": lines}})
        assert [line.split(",") for line in shown.out.splitlines()[1:]] == [
            ["2026-05-31T22:00:00Z", "TOLLING", "-4.50", OTHERS],
            ["2026-05-31T22:00:00Z", "TRADING", "7.00", "MARKET"],
            ["2026-06-30T22:00:00Z", "TOLLING", "-3.25", OTHERS],
            ["2026-06-30T22:00:00Z", "TOLLING", "-16.00", THING],
            ["2026-06-30T22:00:00Z", "IMBALANCE", "-32.00", OTHERS],
        ], shown.err
        assert any(path in line and "resolution=daily" in line for line in shown.service.lines)

    def test_of_nothing_by_that_name_says_so(self, run: Run):
        shown = run("revenue Nowhere", {"/fleets": []})
        assert (shown.code, "organisation Nowhere; the lists show which there are" in shown.err) == (2, True)


class TestAChangeOfASchedule:
    PASTED = "time;power\n2026-07-01T10:00Z;100\n2026-07-01T10:15Z;-5\n2026-07-01T10:30Z;-400\n"
    KNOWN = {
        VIRTUAL_PATH: LIFE,
        f"{VIRTUAL_PATH}/schedule": {"schedule": SCHEDULE},
        f"PUT {VIRTUAL_PATH}/schedule": {
            "imbalance": {"feedback": "It is above the balance."},
            "expectedCuts": [
                {"timestamp": LATER, "acceptedSchedule": -400, "adjustedSchedule": -300, "reason": "UNAVAILABILITY"}
            ],
        },
    }
    CHANGES = """
    Changes
    Time               Stored kW  New kW
    2026-07-01 10:00Z      1,500     100
    2026-07-01 10:30Z          –    -400
    """
    END = "With this the battery ends its life at 63.2%, 528 kWh above the balance of 50%."

    def test_that_is_long_is_shown_in_part(self, run: Run):
        pasted = "".join(f"2026-07-01T{n // 4:02}:{n % 4 * 15:02}Z;5\n" for n in range(26))
        lines = run("schedule diff Elbe --utc", self.KNOWN, typed=pasted).out.splitlines()
        assert [line.split()[1] for line in lines[2:26]] == [f"{n // 4:02}:{n % 4 * 15:02}Z" for n in range(24)]
        assert lines[26] == "… and 2 more, until 2026-07-01 06:15Z."

    def test_by_what_the_service_proposes_says_its_worth_and_on_which_prices(self, run: Run):
        best = {"status": "OPTIMAL", "value": 123.456, "bound": 130, "schedule": [{"time": MORNING, "power": -400}]}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": best}
        shown = run("schedule optimise Elbe --day 2026-07-01 --utc --yes", known)
        assert shown.out.splitlines()[:5] == [
            "The best schedule",
            "Status       OPTIMAL",
            "Value EUR    123.46",
            "At most EUR  130.00",
            "On           published prices",
        ], shown.err
        assert "1 quarter-hour was put." in shown.out
        for words in ("--no-put", "--no-put --yes", ""):  # to a program nothing is put that was not agreed to
            only_shown = run(f"schedule optimise Elbe --day 2026-07-01 -o csv {words}", known)
            assert only_shown.out == f"time,power\n{MORNING},-400.0\n", words
            assert not any(line.startswith("PUT") for line in only_shown.service.lines), words

    @pytest.mark.parametrize(
        ("words", "window"),
        [
            ("--day 2026-07-02", ("2026-07-01T22:00:00Z", "2026-07-02T22:00:00Z")),
            ("--start 2026-07-01T12:00", ("2026-07-01T10:00:00Z", "2026-07-02T22:00:00Z")),
            ("--end 2026-07-01T12:00", ("2026-06-30T22:00:00Z", "2026-07-01T10:00:00Z")),
            ("--start 2026-06-01 --end 2026-08-01", ("2026-06-30T22:00:00Z", "2026-07-02T22:00:00Z")),
            ("", ("2026-07-01T22:00:00Z", "2026-07-02T22:00:00Z")),
        ],
        ids=["a day", "from then on", "until then", "beyond its life", "the nearest day of its life"],
    )
    def test_is_asked_for_within_the_batterys_life(self, run: Run, words: str, window: tuple[str, str]):
        best = {"status": "OPTIMAL", "value": 1, "bound": 1, "schedule": []}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": best}
        [line] = run(f"schedule optimise Elbe {words} --no-put", known).service.changes
        body = json.loads(line.partition("optimisations ")[2])
        assert (body["start"], body["end"]) == window
        assert body["prices"] == {"series": "DAY_AHEAD_DE_LU"}

    def test_for_prices_of_your_own_is_looked_for_on_those_alone(self, run: Run, tmp_path: Path):
        file = tmp_path / "prices.csv"
        file.write_text("time;price\n2026-07-01T10:00Z;42,567\n2026-07-01T10:15Z;-1.234,5\n")
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": {"status": "TIME_LIMIT", "id": THING}}
        shown = run(f"schedule optimise Elbe --day 2026-07-01 --no-put --price-file {file}", known)
        [line] = shown.service.changes
        assert json.loads(line.partition("optimisations ")[2])["prices"] == {
            "values": [
                {"time": "2026-07-01T10:00:00Z", "price": 42.57},
                {"time": "2026-07-01T10:15:00Z", "price": -1234.5},
            ]
        }
        assert [line.split() for line in shown.out.splitlines()[1:]] == [
            *(
                ["Status", "TIME_LIMIT"],
                ["Value", "EUR", "0.00"],
                ["At", "most", "EUR", "0.00"],
                ["On", "your", "prices"],
            )
        ], shown.err

    def test_of_another_organisations_battery_is_put_there(self, run: Run):
        path = f"/organisations/{OTHERS}/virtual-assets/{SECOND}"
        known = {path: LIFE, f"{path}/schedule": {"schedule": []}}
        shown = run("schedule set Rhein --organisation Südwind --yes -o json", known, typed=self.PASTED)
        assert [line.split()[:2] for line in shown.service.changes] == [["PUT", f"{path}/schedule"]], shown.err

    def test_that_takes_long_to_find_is_waited_for(self, run: Run):
        begun = {"id": THING, "status": "RUNNING"}
        found = {"id": THING, "status": "OPTIMAL", "value": 5, "bound": 6, "schedule": [{"time": MORNING, "power": 7}]}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": begun}
        shown = run(
            "schedule optimise Elbe --day 2026-07-01 --no-put -o csv",
            {**known, f"{VIRTUAL_PATH}/optimisations/{THING}": iter([begun, found])},
        )
        assert shown.out == f"time,power\n{MORNING},7.0\n", shown.err

    @pytest.mark.parametrize(
        ("words", "refusal", "asked"),
        [
            ("", "prices-missing", [{"series": "DAY_AHEAD_DE_LU"}, {"forecast": True}]),
            ("--prices published", "prices-missing", [{"series": "DAY_AHEAD_DE_LU"}]),
            ("", "window-too-long", [{"series": "DAY_AHEAD_DE_LU"}]),
            ("--prices forecast", "prices-missing", [{"forecast": True}]),
        ],
    )
    def test_is_looked_for_on_the_forecast_where_no_prices_are_published_and_they_need_not_be(
        self, run: Run, words: str, refusal: str, asked: list[Any]
    ):
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": refuse(422, refusal)}
        shown = run(f"schedule optimise Elbe --day 2026-07-01 {words} --yes", known)
        assert shown.code == 1
        bodies = [json.loads(line.partition("optimisations ")[2]) for line in shown.service.changes]
        assert [body["prices"] for body in bodies] == asked

    def test_that_there_is_none_of_ends_with_the_reason(self, run: Run):
        failed = {"id": THING, "status": "FAILED", "problem": {"detail": "The window is too short."}}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": failed}
        shown = run("schedule optimise Elbe --day 2026-07-01 --yes", known)
        assert (shown.code, "no such schedule: The window is too short." in shown.err) == (2, True)

    @pytest.mark.parametrize(
        ("command", "path"),
        [("schedule optimise Elbe --day 2026-07-01", "optimisations"), ("schedule repair Elbe", "repairs")],
    )
    def test_is_put_under_the_tag_of_what_it_was_made_for(self, run: Run, command: str, path: str):
        """The stored schedule may have changed since it was read for the proposal."""
        proposed: dict[str, Any] = {"status": "OPTIMAL", "schedule": [{"time": MORNING, "power": -300}], "moved": []}
        proposed |= {"movedEnergy": 25, "endStateOfChargePercentage": 50, "stateOfCharge": []}
        answers = PlayedService({f"POST {VIRTUAL_PATH}/{path}": proposed})

        def answer(request: httpx2.Request) -> httpx2.Response:
            made = answers(request)
            made.headers["ETag"] = '"of-the-proposal"'
            return made

        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/{path}": answer}
        shown = run(f"{command} --yes", known, typed=self.PASTED)
        [put] = [line for line in shown.service.changes if line.startswith("PUT")]
        assert 'if "of-the-proposal" ' in put, shown.err

    def test_by_a_repair_is_by_the_objective_that_is_asked_for(self, run: Run):
        for words, objective in (("", "NEAREST"), ("--objective BEST_VALUE", "BEST_VALUE")):
            [line] = run(f"schedule repair Elbe --no-put {words}", self.KNOWN, typed=self.PASTED).service.changes
            assert json.loads(line.partition("repairs ")[2])["objective"] == objective


class TestAPicture:
    def test_of_a_schedule_draws_what_is_known_of_its_charge_at_its_time(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ):
        drawn: list[tuple[str, list[str], dict[str, Any]]] = []

        def draw(title: str, times: Any, lines: dict[str, Any], *, utc: bool) -> None:
            drawn.append((title, [f"{time:%H:%M}" for time in times], lines))

        for module in ("schedule", "planning"):
            monkeypatch.setattr(f"gridloom_client.commands.scheduling.{module}.plot_lines", draw)
        charged = [{"time": SCHEDULE[1]["time"], "stateOfChargePercentage": 42.5}]
        known: dict[str, Any] = {VIRTUAL_PATH: LIFE, f"{VIRTUAL_PATH}/schedule": {"schedule": SCHEDULE}}
        known |= {f"{VIRTUAL_PATH}/state-of-charge": charged}
        shown = run("schedule show Elbe --day 2026-07-01 --plot", known)
        assert shown.out == "It is balanced.\n", shown.err
        hours = ["10:00", "10:15"]
        assert drawn == [
            ("Elbe: power kW", hours, {"kW": [1500, -5]}),
            ("state of charge %", hours, {"%": [None, 42.5]}),
        ]
        drawn.clear()
        known[f"POST {VIRTUAL_PATH}/optimisations"] = {
            "status": "OPTIMAL",
            "schedule": SCHEDULE,
            "stateOfCharge": charged,
        }
        run("schedule optimise Elbe --day 2026-07-01 --no-put --plot", known)
        assert drawn == [
            ("Power kW", hours, {"kW": [1500, -5]}),
            ("State of charge %", hours[1:], {"%": [42.5]}),
        ]
        drawn.clear()
        known[f"{VIRTUAL_PATH}/schedule"] = {"schedule": []}
        shown = run("schedule show Elbe --day 2026-07-01 --plot", known)
        assert (drawn, shown.out) == ([], "No schedule.\nIt is balanced.\n")

    def test_of_bars_has_a_bar_a_day_and_its_levels_beside(self, run: Run):
        known, _ = SHOWN[f"backtest show {SHORT}"]
        lines = run(f"backtest show {SHORT} --plot", known).out.splitlines()[10:]
        assert lines[0].strip() == "Earned EUR"
        assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == [
            "15.00",
            "11.25",
            "7.50",
            "3.75",
            "0.00",
        ]
        assert lines[-1].split() == ["29", "Sep", "30", "Sep", "01", "Oct"]
        assert lines[2].count("█") < lines[-4].count("█")

    def test_of_lines_names_them_and_draws_charging_below_zero(self, run: Run):
        points = [
            {"time": f"2026-07-01T{hour:02}:00:00Z", "availableEnergy": 40}
            | {"availableChargePower": 10, "availableDischargePower": 30}
            for hour in range(8)
        ]
        known = {f"/physical-assets/{BATTERY}/availability": {"availability": points}}
        lines = run("availability Husum --day 2026-07-01 --plot", known).out.splitlines()
        assert lines[0].strip() == "Available power kW"
        assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == ["30", "20", "10", "0", "-10"]
        assert lines[-2].split() == ["02:00", "04:00", "06:00", "08:00"]
        assert lines[-1].split() == ["▚", "discharge", "·", "charge"]
        assert "·" in next(line for line in lines if line.startswith("-10"))
