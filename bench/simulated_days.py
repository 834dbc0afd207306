"""Two simulated days, played by the sandbox's simulator from one seed, and whether two databases lived them alike.

What is compared has neither ids nor real times: settled facts, results of auctions, events by organisation, type and
quarter-hour, and what the runs of delivery came to in each quarter-hour. How many runs that took is left out: what asks
for one at the same simulated moment, a gate and drift at noon, shares it or not as the machine's pace has it. Begin on
a new database: recurring jobs of one in use may be due later.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import tempfile
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from bench.harness import PASSWORD, USERNAME, Client, await_answer, free_port, process
from bench.service_log import ENVIRONMENT, find_error_lines, read_failed_jobs
from gridloom.kernel.market_time import floor_to_period, market_day_of, market_day_window
from gridloom.platform.database.server.embedded import dsn_of_running

DAYS, SEED = 2, 5
PATIENCE_S = 1_800.0
FACTS = ("wholesale-trades", "fcr", "afrr-capacity", "afrr-energy", "net-off", "tolling-contracts")
DECIMALS = 6
COMPUTED = "COMPUTED"
"""Facts that follow from others, made by jobs on the real clock: at which simulated moment, the machine's pace says."""
_FOLLOWS_RUNS = "dispatch.updated"
_OF_ONE_RUN = ("start", "changedDispatches")
_OF_ONE_DATABASE = ("assetID", "tradeID", "contractID", "recordedAt", "version", "id", "solverSeconds")


@dataclass
class PlayedDays:
    start: datetime
    took_s: float
    facts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def count(self) -> dict[str, int]:
        return {name: sum(rows.values()) for name, rows in self.facts.items()}


def play_days(database: str | None) -> PlayedDays:
    """Begin a world two market days back on this database (on one of its own when left out), live to the present, and
    gather what happened in those two days."""
    with tempfile.TemporaryDirectory(prefix="gl-days-", ignore_cleanup_errors=True) as directory:
        home, log = Path(directory) / "home", Path(directory) / "service.log"
        if database is not None and asyncio.run(_is_in_use(database)):
            _empty_sandbox(database, Path(directory) / "emptying")
        with _serve_sandbox(database, home, log, is_simulated=True) as address:
            took_s = _live_through(Client(address))
            operator = Client(address).sign_in(USERNAME, PASSWORD)
            url = database or dsn_of_running(home)
            today = market_day_of(datetime.fromisoformat(operator.get("/sandbox/clock")["now"]))
            start, end = (market_day_window(day).start for day in (today - timedelta(days=DAYS), today))
            played = PlayedDays(start, took_s, _gather_facts(operator, url, start, end))
            played.wrong += asyncio.run(read_failed_jobs(url))
        played.wrong += find_error_lines(log)
        if database is not None:
            _empty_sandbox(database, Path(directory) / "emptied")
        return played


@contextmanager
def _serve_sandbox(database: str | None, home: Path, log: Path, *, is_simulated: bool) -> Iterator[str]:
    port = free_port()
    environment = {
        **ENVIRONMENT,
        "GRIDLOOM_ENVIRONMENT": "sandbox",
        "GRIDLOOM_DATABASE_URL": database or "",
        "GRIDLOOM_HOME": str(home),
        "GRIDLOOM_PORT": str(port),
        "GRIDLOOM_WORKERS": "1",
        "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
        "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
        "GRIDLOOM_SIMULATOR": "on" if is_simulated else "off",
        "GRIDLOOM_SIMULATOR_DAYS": str(DAYS),
        "GRIDLOOM_SIMULATOR_SEED": str(SEED),
    }
    with process([sys.executable, "-m", "gridloom.commands.cli", "serve"], environment, log) as product:
        address = f"http://127.0.0.1:{port}"
        await_answer(address, "/health/ready", product, 120)
        yield address


async def _is_in_use(database: str) -> bool:
    connection = await asyncpg.connect(database)
    try:
        if await connection.fetchval("select to_regclass('sandbox_simulator')") is None:
            return False
        organisations = await connection.fetchval("select count(*) from organisation")
        return bool(organisations > 1 or await connection.fetchval("select count(*) from sandbox_simulator"))
    finally:
        await connection.close()


def _empty_sandbox(database: str, home: Path) -> None:
    """Nothing is left of an earlier world, whose members only its own home could sign in."""
    home.mkdir()
    with _serve_sandbox(database, home, home / "service.log", is_simulated=False) as address:
        Client(address).sign_in(USERNAME, PASSWORD).post("/sandbox/reset")
    asyncio.run(_delete_world(database))


async def _delete_world(database: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("delete from sandbox_simulator")
    finally:
        await connection.close()


def _live_through(anonymous: Client) -> float:
    """Until the world has reached the present; the seconds that took."""
    operator, began = anonymous.sign_in(USERNAME, PASSWORD), time.monotonic()
    while not operator.get("/sandbox/simulator")["historyComplete"]:
        if time.monotonic() - began > PATIENCE_S:
            raise RuntimeError(f"the world has not lived through its {DAYS} days within {PATIENCE_S:.0f} s")
        time.sleep(1)
    return time.monotonic() - began


def compare(expected: PlayedDays, found: PlayedDays) -> list[str]:
    """A sentence for each kind of fact that differs, with the first differences."""
    if expected.start != found.start:
        return [f"the days began at {expected.start} and at {found.start}: a market day has ended in between"]
    sentences = []
    for name, rows in expected.facts.items():
        missing, extra = rows - found.facts[name], found.facts[name] - rows
        if missing or extra:
            shown = [f"missing {row}" for row in list(missing)[:2]] + [f"besides {row}" for row in list(extra)[:2]]
            sentences.append(f"{name}: {missing.total()} missing, {extra.total()} besides; {'; '.join(shown)}")
    return sentences


# --- what happened ---------------------------------------------------------------------------------------------------


def _gather_facts(operator: Client, database: str, start: datetime, end: datetime) -> dict[str, Counter[str]]:
    organisations = {one["id"]: one["name"] for one in _read_pages(operator, "/organisations")}
    known = {one["id"]: one["name"] for one in _read_pages(operator, "/physical-assets")}
    auctions = Counter[str]()
    for listed in _read_pages(operator, "/auctions"):
        auction = operator.get(f"/auctions/{listed['id']}")
        name = f"{auction['item']['deliveryZone']} {auction['item']['start']}"
        known[auction.get("virtualAssetID", "")] = name
        if datetime.fromisoformat(auction["end"]) <= end:
            bids = operator.get(f"/auctions/{auction['id']}/results")["bids"]
            auctions[
                str((name, [(organisations[bid["organisationID"]], bid["price"], bid["fate"]) for bid in bids]))
            ] += 1
    for organisation_id in organisations:
        for asset in _read_pages(operator, f"/organisations/{organisation_id}/virtual-assets"):
            known.setdefault(asset["id"], asset["name"])
    facts = {"auctions": auctions}
    for kind in FACTS:
        rows = _read_pages(operator, f"/settlements/{kind}")
        facts[kind] = Counter(
            _describe_row(known[row["assetID"]], row)
            for row in rows
            if row["origin"] != COMPUTED and datetime.fromisoformat(row["recordedAt"]) < end
        )
    runs = _read_pages(operator, "/delivery/runs", start=start.isoformat(), end=end.isoformat())
    facts["delivery runs"] = Counter(_describe_last_runs(runs))
    facts["events"] = asyncio.run(_count_events(database, organisations, end))
    return facts


def _read_pages(client: Client, path: str, **query: str) -> list[Any]:
    parts = urllib.parse.urlsplit(client.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    found: list[Any] = []
    target = f"{path}?{urllib.parse.urlencode({**query, 'limit': 1000})}"
    while target:
        connection.request("GET", target, headers={"Authorization": f"Bearer {client.token}"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"GET {target}: {answer.status} {text.decode(errors='replace')[:500]}")
        found += json.loads(text)
        link = urllib.parse.urlsplit(answer.headers.get("Link", "").partition("<")[2].partition(">")[0])
        target = f"{link.path}?{link.query}" if link.path else ""
    connection.close()
    return found


def _describe_row(name: str, row: Mapping[str, Any]) -> str:
    shown = [f"{key}={_round_value(row[key])}" for key in sorted(row) if key not in _OF_ONE_DATABASE]
    return " ".join([name, *(part for part in shown if not part.partition("=")[0].endswith(("At", "By", "ID")))])


def _round_value(value: Any) -> Any:
    return round(value, DECIMALS) + 0.0 if isinstance(value, float) else value


def _round_time(moment: str) -> str:
    return floor_to_period(datetime.fromisoformat(moment)).isoformat()


def _describe_last_runs(runs: list[dict[str, Any]]) -> list[str]:
    """Of each quarter-hour and zone the last."""
    last = {(_round_time(run["time"]), str(run["zones"])): run for run in sorted(runs, key=lambda one: one["time"])}
    return [
        _describe_row(moment, {name: value for name, value in run.items() if name not in ("time", *_OF_ONE_RUN)})
        for (moment, _), run in last.items()
    ]


async def _count_events(database: str, organisations: Mapping[str, str], end: datetime) -> Counter[str]:
    connection = await asyncpg.connect(database)
    try:
        rows = await connection.fetch("select organisation_id, type, time from event where time < $1", end)
    finally:
        await connection.close()
    counted = Counter(
        f"{organisations[str(row['organisation_id'])]} {row['type']} {floor_to_period(row['time']).isoformat()}"
        for row in rows
    )
    return Counter({name: 1 if f" {_FOLLOWS_RUNS} " in name else count for name, count in counted.items()})
