"""The five public sources as one server on this machine, with their forms and traps: `make feeds-stand-in`.

Values are made up, a function of series and time, so that a test knows what to expect. What is out by when follows the
hours at which the sources publish, by a clock that the test sets.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from openpyxl import Workbook

BERLIN = ZoneInfo("Europe/Berlin")
QUARTER = timedelta(minutes=15)
CHANGE = date(2025, 10, 1)
DE_LU = "10Y1001A1001A82H"
SMARD_FILTERS = {"4169": "DAY_AHEAD", "411": "LOAD", "123": "ONSHORE", "3791": "OFFSHORE", "125": "SOLAR"}
OUT = {
    "DAY_AHEAD": (-1, 12, 30),
    "FCR": (-1, 8, 20),
    "CAPACITY": (-1, 9, 20),
    "ENERGY": (1, 8, 0),
    "FORECAST": (-1, 15, 0),
}
"""When a day's values are out: days after it, hour and minute on the wall clock."""


def midnight(day: date) -> datetime:
    return datetime.combine(day, clock_time(), tzinfo=BERLIN).astimezone(UTC)


def day_of(instant: datetime) -> date:
    return instant.astimezone(BERLIN).date()


def quarters(day: date) -> list[datetime]:
    start, end = midnight(day), midnight(day + timedelta(days=1))
    return [start + number * QUARTER for number in range((end - start) // QUARTER)]


def value(what: str, start: datetime) -> float:
    """Two decimals; some are negative, and some hours have one price in all their quarter-hours."""
    wave = math.cos(start.timestamp() / 86_400 * 2 * math.pi * 2)
    base = {"DAY_AHEAD": 50.0, "LOAD": 12_000.0, "ONSHORE": 3_000.0, "OFFSHORE": 900.0, "SOLAR": 400.0}.get(what, 70.0)
    quarter = 0 if start.hour % 4 == 0 else start.minute // 15
    return round(base + base * 1.2 * wave + start.day + quarter, 2) if base < 100 else round(base + 100 * wave, 2)


def hourly(what: str, start: datetime) -> float:
    hour = start.replace(minute=0)
    return round(sum(value(what, hour + number * QUARTER) for number in range(4)) / 4, 2)


@dataclass(frozen=True)
class Canned:
    """An answer in place of a true one."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0.0


Fault = Canned | Callable[[str], "Canned | None"]


class StandIn:
    def __init__(self, port: int = 0) -> None:
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.faults: dict[str, Fault] = {}
        """By source: what it answers instead."""
        self.changes: dict[tuple[str, datetime], float] = {}
        """Values that differ from the usual, by what they are of (`smard`, `energy-charts` …) and when."""
        self.calls: list[str] = []
        self.caller_port = 0
        """The other end of the connection of the newest call."""
        self.valid_tokens: set[str] = set()
        self.tokens_last = 1_000
        """Calls after which a token has expired."""
        self.without: set[str] = set()
        """`coupled`: ENTSO-E has no prices of the coupled auction yet."""
        handler = type("Handler", (_Handler,), {"stand_in": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def is_out(self, what: str, day: date) -> bool:
        days, hour, minute = OUT[what]
        at = datetime.combine(day + timedelta(days=days), clock_time(hour, minute), tzinfo=BERLIN)
        return at <= self.clock()

    def value(self, source: str, what: str, start: datetime) -> float:
        return self.changes.get((source, start), value(what, start))

    # --- the answers ---------------------------------------------------------------------------------------------

    def answer(self, method: str, target: str, headers: Any, body: str) -> Canned:
        source = find_source(target)
        self.calls.append(f"{method} {target}")
        fault = self.faults.get(source)
        if fault is not None:
            found = fault(target) if callable(fault) else fault
            if found is not None:
                return found
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if source == "smard":
            return self._smard(parts.path)
        if source == "energy-charts":
            return self._energy_charts(query)
        if source == "entsoe":
            return self._entsoe(query)
        if source == "regelleistung":
            return self._regelleistung(query)
        if source == "netztransparenz":
            return self._netztransparenz(method, parts.path, query, headers, body)
        return Canned(404)

    def _smard(self, path: str) -> Canned:
        index = re.fullmatch(r"/app/chart_data/(\d+)/(DE-LU|DE)/index_(quarterhour|hour).json", path)
        file = re.fullmatch(r"/app/chart_data/(\d+)/(DE-LU|DE)/\1_\2_(quarterhour|hour)_(\d+).json", path)
        found = index or file
        if found is None or found[1] not in SMARD_FILTERS or (found[1] == "4169") != (found[2] == "DE-LU"):
            return Canned(404, b"Not Found")
        what = SMARD_FILTERS[found[1]]
        kind = "DAY_AHEAD" if what == "DAY_AHEAD" else "FORECAST"
        today = day_of(self.clock())
        last = next(day for day in (today + timedelta(days=2 - n) for n in range(9)) if self.is_out(kind, day))
        monday = last - timedelta(days=last.weekday())
        if index is not None:
            starts = [midnight(monday - timedelta(weeks=number)) for number in range(110, -1, -1)]
            return as_json({"timestamps": [int(start.timestamp() * 1000) for start in starts]})
        assert file is not None
        first = day_of(datetime.fromtimestamp(int(file[4]) / 1000, UTC))
        days = [first + timedelta(days=number) for number in range(7)]
        series: list[list[float | None]] = []
        for day in days:
            for start in quarters(day) if file[3] == "quarterhour" else quarters(day)[::4]:
                is_there = self.is_out(kind, day) and (what != "DAY_AHEAD" or file[3] == "hour" or day >= CHANGE)
                usual = hourly(what, start) if file[3] == "hour" else self.value("smard", what, start)
                series.append([int(start.timestamp() * 1000), usual if is_there else None])
        return as_json({"meta_data": {"version": 1, "created": int(time.time() * 1000)}, "series": series})

    def _energy_charts(self, query: dict[str, str]) -> Canned:
        if query.get("bzn") != "DE-LU":
            return Canned(404)
        first, last = date.fromisoformat(query["start"]), date.fromisoformat(query["end"])
        days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
        days = [day for day in days if self.is_out("DAY_AHEAD", day)]
        if not days:
            return Canned(404, b'{"detail":"no data"}')
        starts, prices = [], []
        for day in days:
            for start in quarters(day) if day >= CHANGE else quarters(day)[::4]:
                starts.append(int(start.timestamp()))
                prices.append(
                    self.value("energy-charts", "DAY_AHEAD", start) if day >= CHANGE else hourly("DAY_AHEAD", start)
                )
        return as_json(
            {
                "license_info": "CC BY 4.0 (creativecommons.org/licenses/by/4.0) from Bundesnetzagentur | SMARD.de",
                "unix_seconds": starts,
                "price": prices,
                "unit": "EUR / MWh",
                "deprecated": False,
            }
        )

    def _entsoe(self, query: dict[str, str]) -> Canned:
        known = {"securityToken", "documentType", "in_Domain", "out_Domain", "periodStart", "periodEnd", "offset"}
        if set(query) - known - {"contract_MarketAgreement.type"}:
            return Canned(400, acknowledgement("999", "Input parameter does not exist"))
        if query.get("securityToken") != "stand-in-token":
            return Canned(401, b"<html>Unauthorized</html>")
        first, last = (
            datetime.strptime(query[name], "%Y%m%d%H%M").replace(tzinfo=UTC) for name in ("periodStart", "periodEnd")
        )
        days = [day_of(first) + timedelta(days=n) for n in range((day_of(last - QUARTER) - day_of(first)).days + 1)]
        if len(days) > 20:
            return Canned(400, acknowledgement("888", "The requested amount of 31 exceeds the maximum allowed of 20"))
        days = [day for day in days if self.is_out("DAY_AHEAD", day)]
        found = []
        for day in days:
            found.append(time_series(day, "2", 15, lambda start: value("DAY_AHEAD", start) + 7))
            if "coupled" not in self.without:
                if day < CHANGE:
                    found.append(time_series(day, "1", 60, lambda start: hourly("DAY_AHEAD", start)))
                    continue
                found.append(time_series(day, "1", 60, lambda start: hourly("DAY_AHEAD", start)))
                found.append(time_series(day, "1", 15, lambda start: self.value("entsoe", "DAY_AHEAD", start)))
        if not found:
            return Canned(200, acknowledgement("999", "No matching data found"))
        body = "".join(found)
        return Canned(
            200,
            f"""<?xml version="1.0" encoding="UTF-8"?>
<Publication_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3">
  <mRID>x</mRID><revisionNumber>1</revisionNumber><type>A44</type>{body}
</Publication_MarketDocument>""".encode(),
        )

    def _regelleistung(self, query: dict[str, str]) -> Canned:
        day = date.fromisoformat(query["deliveryDate"])
        what = {("FCR", "CAPACITY"): "FCR", ("aFRR", "CAPACITY"): "CAPACITY", ("aFRR", "ENERGY"): "ENERGY"}[
            query["productType"], query["market"]
        ]
        if not self.is_out(what, day):
            return Canned(200)
        return Canned(200, make_sheet(what, day))

    def _netztransparenz(self, method: str, path: str, query: dict[str, str], headers: Any, body: str) -> Canned:
        if path == "/users/connect/token":
            form = {name: values[0] for name, values in parse_qs(body).items()}
            if method != "POST" or (form.get("client_id"), form.get("client_secret")) != (
                "stand-in",
                "stand-in-secret",
            ):
                return Canned(400, b'{"error":"invalid_client"}')
            token = f"token-{len(self.calls)}"
            self.valid_tokens = {token}
            self.tokens_used = 0
            return as_json({"access_token": token, "expires_in": 3600, "token_type": "Bearer"})
        self.tokens_used += 1
        if headers.get("Authorization", "").removeprefix("Bearer ") not in self.valid_tokens or (
            self.tokens_used > self.tokens_last
        ):
            self.valid_tokens = set()
            return Canned(401)
        found = re.fullmatch(r"/api/v1/data/(NrvSaldo/reBAP/Qualitaetsgesichert|IdAep)/([\dT:-]+)/([\dT:-]+)", path)
        if query or found is None:
            return Canned(404)
        first, last = (datetime.fromisoformat(found[number]).replace(tzinfo=UTC) for number in (2, 3))
        if last - first > timedelta(days=32):
            return Canned(500)
        return Canned(200, make_table("IdAep" if found[1] == "IdAep" else "reBAP", first, last, self))


def find_source(target: str) -> str:
    for start, source in (
        ("/app/chart_data/", "smard"),
        ("/price?", "energy-charts"),
        ("/api?", "entsoe"),
        ("/apps/crds/", "regelleistung"),
        ("/users/connect/token", "netztransparenz"),
        ("/api/v1/data/", "netztransparenz"),
    ):
        if target.startswith(start):
            return source
    return "unknown"


def as_json(content: Any) -> Canned:
    return Canned(200, json.dumps(content).encode(), {"Content-Type": "application/json"})


def acknowledgement(code: str, text: str) -> bytes:
    return f"""<?xml version="1.0"?>
<Acknowledgement_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-1:acknowledgementdocument:7:0">
<Reason><code>{code}</code><text>{text}</text></Reason></Acknowledgement_MarketDocument>""".encode()


def time_series(day: date, sequence: str, minutes: int, price: Callable[[datetime], float], zone: str = DE_LU) -> str:
    """With curve type A03: a position that is the same as the one before is left out."""
    starts = quarters(day)[:: minutes // 15]
    points, before = [], None
    for position, start in enumerate(starts, 1):
        if (now := price(start)) != before:
            points.append(f"<Point><position>{position}</position><price.amount>{now:.2f}</price.amount></Point>")
        before = now
    end = midnight(day + timedelta(days=1))
    return f"""<TimeSeries><mRID>1</mRID><auction.type>A01</auction.type><businessType>A62</businessType>
<in_Domain.mRID codingScheme="A01">{zone}</in_Domain.mRID><out_Domain.mRID codingScheme="A01">{zone}</out_Domain.mRID>
<contract_MarketAgreement.type>A01</contract_MarketAgreement.type><currency_Unit.name>EUR</currency_Unit.name>
<price_Measure_Unit.name>MWH</price_Measure_Unit.name>
<classificationSequence_AttributeInstanceComponent.position>{sequence}</classificationSequence_AttributeInstanceComponent.position>
<curveType>A03</curveType><Period><timeInterval><start>{starts[0]:%Y-%m-%dT%H:%MZ}</start><end>{end:%Y-%m-%dT%H:%MZ}</end></timeInterval>
<resolution>PT{minutes}M</resolution>{"".join(points)}</Period></TimeSeries>"""


def make_sheet(what: str, day: date, *, without: str | None = None) -> bytes:
    """without: a direction of which there are no rows."""
    workbook = Workbook()
    sheet = workbook.active
    assert sheet is not None
    for line in sheet_lines(what, day):
        if without is None or not any(str(cell).startswith(f"{without}_") for cell in line):
            sheet.append(line)
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


def sheet_lines(what: str, day: date) -> Iterator[list[Any]]:
    at = datetime.combine(day, clock_time())
    blocks = [f"{hour:02}_{hour + 4:02}" for hour in range(0, 24, 4)]
    if what == "FCR":
        price = "GERMANY_SETTLEMENTCAPACITY_PRICE_[EUR/MW]"
        yield ["DATE_FROM", "DATE_TO", "TENDER_NUMBER", "PRODUCTNAME", "GERMANY_DEMAND_[MW]", price]
        for number, block in enumerate(blocks):
            yield [at, at, 1, f"NEGPOS_{block}", 570, 60.0 + number]
            yield [at, at, 2, f"NEGPOS_{block}", 570, 999.0]
    elif what == "CAPACITY":
        kinds = [f"GERMANY_{kind}_CAPACITY_PRICE_[(EUR/MW)/h]" for kind in ("MIN", "AVERAGE", "MARGINAL")]
        yield ["DATE_FROM", "DATE_TO", "TYPE_OF_RESERVES", "PRODUCT", *kinds]
        for direction in ("POS", "NEG"):
            for number, block in enumerate(blocks):
                yield [at, at, "aFRR", f"{direction}_{block}", 1.0, 5.0 + number, 9.0 + number]
    else:
        kinds = [f"GERMANY_{kind}_ENERGY_PRICE_[EUR/MWh]" for kind in ("MIN", "AVERAGE", "MARGINAL")]
        yield ["DELIVERY_DATE", "TYPE_OF_RESERVES", "PRODUCT", *kinds]
        for direction in ("POS", "NEG"):
            for number in range(1, len(quarters(day)) + 1):
                yield [
                    at,
                    "aFRR",
                    f"{direction}_{number:03}",
                    1.0,
                    "-" if number == 7 else 80.0 + number,
                    150.0 + number,
                ]


def make_table(what: str, first: datetime, last: datetime, stand_in: StandIn) -> bytes:
    columns = "reBAP unterdeckt;reBAP ueberdeckt" if what == "reBAP" else "ID AEP in EUR/MWh"
    lines = [f"Datum;Zeitzone;von;bis;Datenkategorie;Datentyp;Einheit;{columns}"]
    start = first
    while start < last:
        end = start + QUARTER
        is_out = end + timedelta(hours=30 if what == "reBAP" else 1) <= stand_in.clock()
        text = f"{stand_in.value('netztransparenz', what, start):.2f}".replace(".", ",") if is_out else "N.A."
        values = f"{text};{text}" if what == "reBAP" else text
        lines.append(f"{start:%d.%m.%Y};UTC;{start:%H:%M};{end:%H:%M};{what};Qualitaetsgesichert;EUR/MWh;{values}")
        start = end
    return b"\xef\xbb\xbf" + "\r\n".join(lines).encode()


class _Handler(BaseHTTPRequestHandler):
    stand_in: StandIn
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.stand_in.caller_port = self.client_address[1]
        found = self.stand_in.answer(self.command, self.path, self.headers, body)
        time.sleep(found.pause_s)
        try:
            self.send_response(found.status)
            for name, text in {"Content-Length": str(len(found.body)), **found.headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(found.body)
            self.close_connection = self.close_connection or "Content-Length" in found.headers
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description="The public sources of market data, made up, on this machine.")
    parser.add_argument("--port", type=int, default=8190)
    parser.add_argument("--all", action="store_true", help="everything is out already, whatever the time")
    asked = parser.parse_args()
    with StandIn(asked.port) as stand_in:
        if asked.all:
            stand_in.clock = lambda: datetime.now(UTC) + timedelta(days=3)
        names = ("SMARD", "ENERGY_CHARTS", "ENTSOE", "REGELLEISTUNG", "NETZTRANSPARENZ", "NETZTRANSPARENZ_TOKEN")
        for name in names:
            print(f"GRIDLOOM_FEED_{name}_URL={stand_in.url}")
        print("GRIDLOOM_ENTSOE_TOKEN=stand-in-token")
        print(
            "GRIDLOOM_NETZTRANSPARENZ_CLIENT_ID=stand-in\nGRIDLOOM_NETZTRANSPARENZ_CLIENT_SECRET=stand-in-secret",
            flush=True,
        )
        threading.Event().wait()


if __name__ == "__main__":
    main()
