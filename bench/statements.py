"""A month of many virtual assets issued as statements, and an issued statement read against a bare read of its row."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import psutil
from tests.revenue.world import World

from bench.ceiling import Bare
from bench.harness import Client, Harness, Organisation, Request, cpu_seconds
from gridloom.kernel.market_time import market_day_window
from gridloom.platform.database.pool import create_pool

MONTH_AGO_DAYS = 31
MAX_CPU_S = 60.0
HOLDERS = 20
ASSETS_PER_BATTERY = 20
TRADES_A_DAY = 2
ROWS_AT_ONCE = 10_000
CEILING = Bare()


@CEILING.on("GET", "/statement")
async def read_statement(pool: Any, last: str, body: bytes) -> Any:
    """The stored bytes by their key, and nothing else."""
    organisation_id, _, id = last.partition("_")
    stored: bytes = await pool.fetchval(
        "select body from statement where organisation_id = $1 and id = $2", UUID(organisation_id), UUID(id)
    )
    return stored


def run(harness: Harness) -> None:
    assets = 20 if harness.options.quick else 1000
    first = (datetime.now(UTC).date().replace(day=1) - timedelta(days=1)).replace(day=1)
    holders = [harness.new_organisation() for _ in range(2 if harness.options.quick else HOLDERS)]
    owner = harness.new_organisation("Owner")
    ids = asyncio.run(_make_assets(harness.database_url, holders, owner, assets, first))
    _record_trades(harness.operator, ids, first)
    _publish_prices(harness.operator, first)
    _issue(harness, first, assets)
    _read(harness, holders[0])


async def _make_assets(
    url: str, holders: list[Organisation], owner: Organisation, count: int, first: date
) -> list[UUID]:
    """Each won in an auction for the month, wholly on one of the owner's batteries."""
    start, end = _edges(first)
    made = []
    pool = await create_pool(url, size=2)
    try:
        owned = World(pool, UUID(owner.id))
        battery = await owned.physical_asset(200)
        for place in range(count):
            if place and place % ASSETS_PER_BATTERY == 0:
                battery = await owned.physical_asset(200)
            held = World(pool, UUID(holders[place % len(holders)].id))
            asset = await held.virtual_asset(10, start=start, end=end)
            await held.auction(asset, start, end, 50_000)
            await owned.back(asset, battery, 1.0)
            made.append(asset)
    finally:
        await pool.close()
    return made


def _edges(first: date) -> tuple[datetime, datetime]:
    following = (first + timedelta(days=MONTH_AGO_DAYS)).replace(day=1)
    return market_day_window(first).start, market_day_window(following).start


def _record_trades(operator: Client, ids: list[UUID], first: date) -> None:
    start, end = _edges(first)
    rows = [
        {
            "assetID": str(id),
            "tradeID": f"{day}-{trade}",
            "time": (start + timedelta(days=day, hours=6 + 6 * trade)).isoformat(),
            "market": "DAY_AHEAD",
            "side": "SELL" if trade else "BUY",
            "volume": 2.5,
            "price": 90.0 if trade else 40.0,
        }
        for id in ids
        for day in range((end - start).days)
        for trade in range(TRADES_A_DAY)
    ]
    for place in range(0, len(rows), ROWS_AT_ONCE):
        operator.post("/settlements/wholesale-trades", rows[place : place + ROWS_AT_ONCE])


def _publish_prices(operator: Client, first: date) -> None:
    start, end = _edges(first)
    hours = int((end - start).total_seconds() // 3600)
    moments = [start + timedelta(hours=hour) for hour in range(hours)]
    rows = [
        {
            "series": "REBAP_DE",
            "start": moment.isoformat(),
            "end": (moment + timedelta(hours=1)).isoformat(),
            "price": 75.0 + moment.hour,
        }
        for moment in moments
    ]
    operator.post("/reference-prices", rows)


def _issue(harness: Harness, first: date, assets: int) -> None:
    """Processor time of the workers and of PostgreSQL, from the request to the last statement."""
    operator = harness.operator
    before, database_before = cpu_seconds(harness.product_pid), _database_cpu_seconds(harness.product_pid)
    began = time.monotonic()
    run = operator.post("/statements", {"month": f"{first:%Y-%m}", "allowMissing": True})
    while run["status"] == "RUNNING":
        time.sleep(0.5)
        run = operator.get(f"/statements/runs/{run['id']}")
    assert run["status"] == "DONE", run
    workers_s = cpu_seconds(harness.product_pid) - before
    database_s = _database_cpu_seconds(harness.product_pid) - database_before
    total_s = workers_s + database_s
    figures = {
        "cpu_s": round(total_s, 1),
        "workers_s": round(workers_s, 1),
        "postgresql_s": round(database_s, 1),
        "elapsed_s": round(time.monotonic() - began, 1),
    }
    harness.report(
        f"a month of {assets:,} virtual assets issued", figures, target=f"< {MAX_CPU_S:g} s", met=total_s < MAX_CPU_S
    )


def _database_cpu_seconds(pid: int) -> float:
    """Of the embedded server with all its processes, those that have ended included."""
    used = 0.0
    for child in psutil.Process(pid).children():
        if child.name() == "postgres":
            times = child.cpu_times()
            used += times.children_user + times.children_system
            for backend in child.children():
                own = backend.cpu_times()
                used += own.user + own.system
    return used


def _read(harness: Harness, holder: Organisation) -> None:
    [newest, *_] = [
        one for one in holder.admin.get(f"/organisations/{holder.id}/statements") if one["status"] == "ISSUED"
    ]
    path = f"/organisations/{holder.id}/statements/{newest['id']}"
    harness.compare(
        "GET …/statements/{statementID}, issued",
        Request("GET", path, token=holder.admin.token),
        Request("GET", f"/statement/{holder.id}_{newest['id']}"),
        at_least=0.5,
    )
