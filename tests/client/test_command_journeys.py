"""Journeys of a trader, an owner and the operator through the commands, against the real service."""

from __future__ import annotations

import asyncio
import base64
import csv
import io
import json
import re
import struct
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import httpx2
import openpyxl
import pytest
from tests.client.conftest import Ended
from tests.people import OrganisationUnderTest, People

from gridloom_client.commands import make_app

if TYPE_CHECKING:
    from gridloom.platform.http.application import Application

Run = Callable[..., Awaitable[Ended]]
BERLIN = ZoneInfo("Europe/Berlin")
RATED = {"ratedChargePower": 1000, "ratedDischargePower": 1000, "energyCapacity": 2000}
RATED |= {"chargeEfficiency": 1, "dischargeEfficiency": 1}


@dataclass(frozen=True)
class Stage:
    """A battery, and a virtual one of a trader on it that delivers the day after tomorrow."""

    owner: OrganisationUnderTest
    trader: OrganisationUnderTest
    owner_key: str
    trader_key: str
    battery: str
    day: datetime


async def key_of(organisation: OrganisationUnderTest) -> str:
    me = (await organisation.admin.get("/auth/me")).json()
    made = await organisation.admin.post("/auth/api-keys", json={"name": "k", "permissions": me["permissions"]})
    secret: str = made.json()["secret"]
    return secret


@pytest.fixture
async def stage(operator: httpx2.AsyncClient, people: People) -> Stage:
    owner, trader = await people.new_organisation(), await people.new_organisation()
    battery = {"name": "Husum", "organisationID": str(owner.id), "deliveryZone": "TenneT"}
    made = (await operator.post("/physical-assets", json=battery | {"parameters": RATED})).json()
    now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"]).astimezone(BERLIN)
    day = (now + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
    virtual = {
        "name": "Elbe",
        "start": day.isoformat(),
        "end": (day + timedelta(days=1)).isoformat(),
        "deliveryZone": "TenneT",
        "backing": [{"physicalAssetID": made["id"], "share": 1}],
    }
    allocated = await operator.post(f"/organisations/{trader.id}/virtual-assets", json=virtual | RATED)
    assert allocated.status_code == 201, allocated.text
    return Stage(owner, trader, await key_of(owner), await key_of(trader), made["id"], day)


@pytest.fixture
def run(
    address: str, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Commands in this process, as the trader unless another key is given; what is typed comes in through a pipe."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GRIDLOOM_URL", address)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("gridloom_client.commands.terminal.asking.Path", lambda _: tmp_path / "no-terminal" / "tty")

    async def call(*words: str, key: str = "", typed: str = "") -> Ended:
        monkeypatch.setenv("GRIDLOOM_API_KEY", key or stage.trader_key)
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = await asyncio.to_thread(call_app, words)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return call


def call_app(words: tuple[str, ...]) -> int:
    try:
        make_app(words[0])(list(words), result_action="return_value")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def plan(stage: Stage, *powers: float) -> str:
    rows = [f"{stage.day + n * timedelta(minutes=15):%d.%m.%Y %H:%M};{power}" for n, power in enumerate(powers)]
    return "Zeit;Leistung\n" + "\n".join(rows) + "\n"


@pytest.mark.usefixtures("operator")
class TestATrader:
    async def test_puts_a_pasted_schedule_after_seeing_where_it_leads(self, run: Run, stage: Stage):
        pasted = plan(stage, 400, -400)
        seen = await run("schedule", "diff", "Elbe", typed=pasted)
        assert seen.code == 0, seen.err
        assert "ends its life at 50.0%: balanced" in seen.out
        asked = await run("schedule", "set", "Elbe", typed=pasted)
        assert (asked.code, "Pass --yes" in asked.err) == (2, True)
        done = await run("schedule", "set", "Elbe", "--yes", typed=plan(stage, 400, 400))
        assert done.code == 0, done.err
        assert "ends its life at 40.0%, 200 kWh below the balance of 50%" in done.out
        assert "2 quarter-hours were put." in done.out
        rows = list(csv.DictReader(io.StringIO((await run("schedule", "show", "elbe", "-o", "csv")).out)))
        assert [row["power"] for row in rows[:3]] == ["400.0", "400.0", "0.0"]
        again = await run("schedule", "set", "Elbe", "--yes", typed=plan(stage, 400, 400))
        assert again.out.strip() == "Nothing was changed."

    async def test_is_pointed_to_the_repair_of_a_schedule_that_does_not_fit(self, run: Run, stage: Stage):
        wish = plan(stage, *[1000] * 8)
        refused = await run("schedule", "set", "Elbe", "--yes", typed=wish)
        assert refused.code == 1
        assert "gridloom schedule repair" in refused.err
        repaired = await run("schedule", "repair", "Elbe", "--yes", typed=wish)
        assert repaired.code == 0, repaired.err
        assert "Moved" in repaired.out
        assert "balanced" in repaired.out

    async def test_optimises_on_prices_of_their_own(self, run: Run, stage: Stage, tmp_path: Path):
        prices = [20.0 if n % 8 < 4 else 90.0 for n in range(100)]
        file = tmp_path / "prices.csv"
        file.write_text(plan(stage, *prices[:96]).replace(".0\n", "\n"))
        shown = await run("schedule", "optimise", "Elbe", "--price-file", str(file), "--no-put", "--plot")
        assert shown.code == 0, shown.err
        assert "OPTIMAL" in shown.out
        assert max(map(len, shown.out.splitlines())) <= 80
        put = await run("schedule", "optimise", "Elbe", "--price-file", str(file), "--yes")
        assert "quarter-hours were put." in put.out, put.err

    async def test_sees_what_was_earned_and_who_pays(self, run: Run, stage: Stage):
        window = ("--start", f"{stage.day:%Y-%m-%d}", "--end", f"{stage.day + timedelta(days=1):%Y-%m-%d}")
        trade = {"tradeID": "t1", "time": stage.day.isoformat(), "side": "SELL", "volume": 0.1, "price": 100}
        assets = (await stage.trader.admin.get(f"/organisations/{stage.trader.id}/virtual-assets")).json()
        row = trade | {"assetID": assets[0]["id"], "market": "OTC"}
        assert (await stage.trader.admin.post("/settlements/wholesale-trades", json=[row])).status_code == 200
        daily = await run("revenue", "Elbe", *window, "--plot")
        assert daily.out.splitlines()[:3] == [
            "Revenue of Elbe",
            "Time          EUR  Wholesale",
            f"{stage.day:%Y-%m-%d}  10.00      10.00",
        ], daily.err
        monthly = await run("revenue", "Elbe", *window, "--resolution", "monthly", "-o", "json")
        assert [month["total"] for month in json.loads(monthly.out)] == [10.0]
        said = await run("statement", "Elbe", *window)
        assert "TRADING" in said.out
        assert "MARKET" in said.out

    async def test_lists_shows_and_downloads_statements(
        self, run: Run, stage: Stage, tmp_path: Path, operator: httpx2.AsyncClient
    ):
        assets = (await stage.trader.admin.get(f"/organisations/{stage.trader.id}/virtual-assets")).json()
        toll = {"contractID": "c", "assetID": assets[0]["id"], "annualPrice": 366_000}
        toll |= {"start": assets[0]["start"], "end": assets[0]["end"]}
        assert (await operator.post("/settlements/tolling-contracts", json=[toll])).status_code == 200
        now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"]).astimezone(BERLIN)
        if now.month != stage.day.month:
            pytest.skip("the battery delivers in a month to come")
        month = f"{stage.day:%Y-%m}"
        listed = await run("statements")
        assert (listed.code, month in listed.out, "PRELIMINARY" in listed.out) == (0, True, True), listed.err
        shown = await run("statements", "show", month, "-o", "csv")
        assert [row["line"] for row in csv.DictReader(io.StringIO(shown.out))] == ["TOLLING"], shown.err
        for form, start in (("pdf", b"%PDF-"), ("csv", b"statement,"), ("json", b"{")):
            target = tmp_path / f"it.{form}"
            saved = await run("statements", "download", month, "--format", form, "--to", str(target))
            assert (saved.code, target.read_bytes().startswith(start)) == (0, True), saved.err
        assert (await run("statements", "show", "1999-01")).code == 2
        assert (await run("statements", "issue", month, "--yes")).code != 0  # the operator's to do

    async def test_lists_what_delivers_now_or_later(self, run: Run, stage: Stage, app: Application):
        listed = await run("virtual", "list")
        assert "Elbe" in listed.out
        assert max(map(len, listed.out.splitlines())) <= 80
        assert (await run("virtual", "show", "Elbe", "-o", "json")).out.startswith("{")
        over = """update virtual_asset
                  set start_at = start_at - interval '10 days', end_at = end_at - interval '10 days'
                  where organisation_id = $1"""
        await app.pool.execute(over, stage.trader.id)
        rest, whole = await run("virtual", "list"), await run("virtual", "list", "--all")
        assert ("Elbe" in rest.out, "1 that are over are left out" in rest.out + rest.err) == (False, True)
        assert ("Elbe" in whole.out, "left out" in whole.out + whole.err) == (True, False)


@pytest.mark.usefixtures("operator")
class TestAnOwner:
    async def test_reports_lists_and_withdraws_an_unavailability(self, run: Run, stage: Stage):
        window = [f"{stage.day + timedelta(hours=hour):%Y-%m-%dT%H:%M}" for hour in (6, 14)]
        words = ["unavailability", "add", "Husum", *window, "--type", "MAINTENANCE", "--description", "Inverter 3"]
        added = await run(*words, "--charge", "250", "--discharge", "400", "--yes", key=stage.owner_key)
        assert added.code == 0, added.err
        assert "Holders" in added.out
        spans = (await run("availability", "Husum", "--day", f"{stage.day:%Y-%m-%d}", key=stage.owner_key)).out
        assert [line.split()[-3:-1] for line in spans.splitlines()[2:]] == [
            ["1,000", "1,000"],
            ["750", "600"],
            ["1,000", "1,000"],
        ]
        listed = await run("unavailability", "list", "Husum", "-o", "csv", key=stage.owner_key)
        (row,) = csv.DictReader(io.StringIO(listed.out))
        assert row["volume.powerCapacity.charge"] == "250.0"
        gone = await run("unavailability", "withdraw", "Husum", row["id"][-8:], "--yes", key=stage.owner_key)
        assert gone.out == "Withdrawn.\n"
        assert (await run("unavailability", "list", "Husum", key=stage.owner_key)).out == "No unavailabilities.\n"

    async def test_imports_semicolons_and_exports_what_is_stored(self, run: Run, stage: Stage, tmp_path: Path):
        file = tmp_path / "points.csv"
        times = [f"2026-03-29T00:{minute:02}:00Z" for minute in range(3)]
        file.write_text("signal;time;value\n" + "".join(f"active_power;{time};1.000,5\n" for time in times))
        stored = await run("monitoring", "import", str(file), "--asset", "Husum", key=stage.owner_key)
        assert "3 points written" in stored.out, stored.err
        window = ("--start", "2026-03-28", "--end", "2026-03-30")
        for name in ("out.csv", "out.parquet"):
            done = await run("monitoring", "export", "Husum", str(tmp_path / name), *window, key=stage.owner_key)
            assert done.out.startswith("3 rows of 2 days in"), done.err
        assert "1000.5" in (tmp_path / "out.csv").read_text()
        tailed = await run(
            "monitoring", "tail", "Husum", "--count", "1", "--signals", "active_power", key=stage.owner_key
        )
        assert "active_power" in tailed.out
        assert "1,000.5" in tailed.out
        words = ("monitoring", "tail", "Husum", "--count", "1", "-o", "ndjson")
        [line] = (await run(*words, key=stage.owner_key)).out.splitlines()
        assert (json.loads(line)["signal"], json.loads(line)["value"]) == ("active_power", 1000.5)

    async def test_invites_people_and_sees_who_is_there(self, run: Run, stage: Stage):
        invited = await run("invite", "ada@example.com", "--role", "VIEWER", key=stage.owner_key)
        assert invited.out.splitlines()[-1].startswith("gl"), invited.err
        assert "ada@example.com" in (await run("organisations", "members", key=stage.owner_key)).out


class TestTheOperator:
    async def test_reads_what_exists_already_when_a_command_is_run_again(
        self, run: Run, stage: Stage, operator: httpx2.AsyncClient
    ):
        key = (await operator.post("/auth/api-keys", json=await self.key_wish(operator))).json()["secret"]
        name = f"Nordlicht {stage.battery[-6:]}"
        where = ["--organisation", name, "--zone", "TenneT", "--power", "1000", "--energy", "2000"]
        offer = ["auctions", "create", "--backing", f"{name} 1", "--invite", str(stage.trader.id), "--yes"]
        offer += ["--power", "500", "--energy", "1000"]
        for words, there in (
            (["organisations", "create", name], f"{name} exists already"),
            (["assets", "create", f"{name} 1", *where], f"{name} 1 exists already"),
            (offer, "exists already"),
        ):
            first, second = await run(*words, key=key), await run(*words, key=key)
            assert (first.code, there in first.err) == (0, False), first.err
            assert there in second.err
        other = [*offer, "--hurdle", "5", "--start", f"{stage.day + timedelta(hours=4):%Y-%m-%dT%H:%M}"]
        other[other.index("500")] = "900"
        taken = await run(*other, key=key)
        assert taken.code == 1
        assert "What exists already: auction" in taken.err

    @staticmethod
    async def key_wish(operator: httpx2.AsyncClient) -> dict[str, object]:
        return {"name": "k", "permissions": (await operator.get("/auth/me")).json()["permissions"]}


class TestThePageOfSpreadsheets:
    """docs/sheets.md, done as it says with openpyxl in place of Excel."""

    async def test_has_a_workbook_whose_queries_the_service_answers(
        self, run: Run, stage: Stage, tmp_path: Path, address: str
    ):
        file = tmp_path / "elbe.xlsx"
        window = ("--start", f"{stage.day:%Y-%m-%d}", "--end", f"{stage.day + timedelta(days=1):%Y-%m-%d}")
        written = await run("sheets", "workbook", "Elbe", str(file), *window)
        assert (written.code, "paste an API key" in written.out) == (0, True), written.err
        assert "cannot be written" in (await run("sheets", "workbook", "Elbe", str(file))).err
        book = openpyxl.load_workbook(file)
        cells = {name: place.attr_text for name, place in book.defined_names.items()}
        book["Settings"][cells["gridloom_key"].partition("!")[2].replace("$", "")] = stage.trader_key
        settings = {row[0]: row[1] for row in book["Settings"].iter_rows(values_only=True)}
        assert set(cells) == {f"gridloom_{name}" for name in settings}
        queries = read_queries(file.read_bytes())
        assert [row[0] for row in book["Queries"].iter_rows(min_row=2, values_only=True)] == list(queries)
        async with httpx2.AsyncClient(base_url=address) as excel:
            for name, formula in queries.items():
                assert book["Queries"].cell(2 + list(queries).index(name), 2).value == formula
                path, query, headers = read_request(formula, settings)
                answer = await excel.get(f"/{path}", params=query, headers=headers)
                assert answer.status_code == 200, answer.text
                columns = [cell.value for cell in book[name][1]]
                assert next(csv.reader(io.StringIO(answer.text))) == columns
                assert [column.name for column in book[name].tables[name].tableColumns] == columns

    async def test_shows_code_that_runs(self, run: Run, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        listed = json.loads((await run("virtual", "list", "-o", "json")).out)
        monkeypatch.chdir(tmp_path)
        page = (Path(__file__).parents[2] / "docs" / "sheets.md").read_text()
        for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            names = {"asset_id": listed[0]["id"], "start": stage.day, "end": stage.day + timedelta(days=1)}
            await asyncio.to_thread(exec, compile(code, "sheets.md", "exec"), names)
        names, day = openpyxl.load_workbook(tmp_path / "revenue.xlsx").active.iter_rows(values_only=True)
        assert (names[0], day[0]) == ("time", stage.day.astimezone(UTC).replace(tzinfo=None))


def read_queries(workbook: bytes) -> dict[str, str]:
    """The formulas that a reader of MS-QDEFF finds, by their names."""
    parts = zipfile.ZipFile(io.BytesIO(workbook))
    item = parts.read("customXml/item1.xml").decode("utf-16")
    stream = io.BytesIO(base64.b64decode(re.findall(r"<DataMashup[^>]*>(.*)</DataMashup>", item)[0]))
    assert stream.read(4) == bytes(4)
    package, permissions, metadata, bindings = (stream.read(*struct.unpack("<i", stream.read(4))) for _ in range(4))
    assert (stream.read(), b"<FirewallEnabled>true" in permissions, len(bindings)) == (b"", True, 1)
    section = zipfile.ZipFile(io.BytesIO(package)).read("Formulas/Section1.m").decode()
    found = dict(re.findall(r"^shared (\w+) = (.*?);\r?$", section.replace("\r\n", "\n"), re.MULTILINE | re.DOTALL))
    connections = parts.read("xl/connections.xml").decode()
    assert all(f"Section1/{name}".encode() in metadata and f"Location={name};" in connections for name in found)
    return found


def read_request(formula: str, settings: dict[str, str]) -> tuple[str, dict[str, str], dict[str, str]]:
    """The path, query and headers of `Web.Contents` with what the named cells say."""

    def text(expression: str) -> str:
        parts = re.findall(r'Setting\("(\w+)"\)|"([^"]*)"', expression)
        return "".join(settings[name] if name else literal for name, literal in parts)

    def record(name: str) -> dict[str, str]:
        fields = re.findall(rf"{name} = \[(.*)\]", formula)[0]
        split = re.findall(r'#?"?(\w+)"? = ((?:Setting\("\w+"\)|"[^"]*"|\s*&\s*)+)', fields)
        return {name: text(expression) for name, expression in split}

    assert settings["key"] not in formula
    return text(re.findall(r"RelativePath = (.*),", formula)[0]), record("Query"), record("Headers")
