"""Telemetry out: short reads of long and short histories, and a year of everything."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.parse
from itertools import groupby

import numpy as np
import psutil

from bench import telemetry
from bench.harness import Client, Harness, Request, cpu_seconds
from gridloom.market_calendar import market_date
from gridloom.monitoring import blocks
from gridloom.monitoring.model import SignalSeries
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.monitoring.store import heads
from gridloom.platform.database.pool import create_pool

ARROW = "application/vnd.apache.arrow.stream"
FIRST_DAY = 20089
"""1 January 2025."""


async def fill_history(harness: Harness, asset_id: str, days: int) -> None:
    """A history written straight into blocks of a month, as compaction would have left it."""
    pool = await create_pool(harness.database_url, size=2)
    try:
        key = await pool.fetchval("select key from asset where id = $1", asset_id)
        async with pool.acquire() as connection, connection.transaction():
            await heads.lock_heads(connection, [key])
            await heads.add_signals(connection, key, {name: place for place, name in enumerate(telemetry.SIGNALS)})
        for _, month in groupby(range(days), key=lambda day: market_date(FIRST_DAY + day).replace(day=1)):
            await compaction_store.put_block(pool, key, _make_block(list(month)), -1)
        await pool.execute("analyze telemetry_block")
    finally:
        await pool.close()


def _make_block(days: list[int]) -> compaction_store.PackedBlock:
    batteries = [telemetry.battery(3, 1440, day * 1440) for day in days]
    times = telemetry.times_s(1440 * len(days), days[0] * 1440) * 1_000_000
    series = (
        (place, SignalSeries(times, np.concatenate([battery[name] for battery in batteries])))
        for place, name in enumerate(telemetry.SIGNALS)
    )
    return blocks.encode(market_date(FIRST_DAY + days[0]), market_date(FIRST_DAY + days[-1]), series)


def measure_reads(harness: Harness, client: Client, years: str, short: str, days: int) -> None:
    """Processor time of the worker for each; the targets are of it."""
    one, all_signals = "datapoints=active_power&", ""
    first, month, year = "2024-12-31T23:00:00Z", "2025-01-30T23:00:00Z", "2025-12-31T23:00:00Z"
    spans = {
        "one series, one day, raw": (one, "2025-01-10T23:00:00Z", "2025-01-11T23:00:00Z", "raw", None),
        "one series, 30 days at 15 minutes": (one, first, month, "15-minute", 2.0),
        "20 series, 30 days at 15 minutes": (all_signals, first, month, "15-minute", 15.0),
        "one series, 30 days, daily": (one, first, month, "daily", None),
        "one series, a year, daily": (one, first, year, "daily", 3.0),
    }
    for name, (signals, start, end, resolution, target_ms) in spans.items():
        figures: dict[str, float] = {}
        for history, asset in (("month", short), ("three_years" if days > 365 else "filled", years)):
            path = f"/monitoring/{asset}/datapoints?{signals}start={start}&end={end}&resolution={resolution}"
            figures[f"{history}_ms"], figures[f"{history}_cpu_ms"] = _server_ms(harness, client, path)
        worst = max(taken for figure, taken in figures.items() if figure.endswith("cpu_ms"))
        harness.report(
            name,
            figures,
            target=None if target_ms is None else f"<= {target_ms} ms of processor time",
            met=None if target_ms is None else worst <= target_ms,
        )


def _server_ms(harness: Harness, client: Client, path: str) -> tuple[float, float]:
    """The median of one request at a time, as the client sees it, and the worker's processor time for one."""
    request = Request("GET", path, token=client.token, headers={"Accept": "application/json"})
    before_s = cpu_seconds(harness.product_pid)
    measured = harness.load(request, connections=1, seconds=min(2.0, harness.options.seconds), warm_up_s=0.0).result()
    cpu_s = cpu_seconds(harness.product_pid) - before_s
    if not measured.all_good:
        raise RuntimeError(f"{path}: {measured.statuses}")
    return measured.latencies_ms["p50"], round(1000 * cpu_s / max(1, measured.requests), 2)


def measure_long_read(harness: Harness, client: Client, asset: str, days: int) -> None:
    """All signals of a year as Arrow; the service's memory is looked at while it streams."""
    workers = [child for child in psutil.Process(harness.product_pid).children() if child.name() != "postgres"]
    before = sum(worker.memory_info().rss for worker in workers)
    peak = before
    is_over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(0.02):
            peak = max(peak, sum(worker.memory_info().rss for worker in workers))

    watcher = threading.Thread(target=watch)
    watcher.start()
    address = urllib.parse.urlsplit(harness.address)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)
    end = np.datetime64("2024-12-31T23:00:00") + np.timedelta64(days, "D")
    began = time.perf_counter()
    path = f"/monitoring/{asset}/datapoints?start=2024-12-31T23:00:00Z&end={end}Z"
    connection.request("GET", path, headers={"Authorization": f"Bearer {client.token}", "Accept": ARROW})
    answer = connection.getresponse()
    size = 0
    while chunk := answer.read(1 << 20):
        size += len(chunk)
    seconds = time.perf_counter() - began
    is_over.set()
    watcher.join()
    points = days * 1440 * len(telemetry.SIGNALS)
    growth_mb = (peak - before) / 1e6
    harness.report(
        f"{days} days of 20 signals at 1 minute as Arrow, {points / 1e6:.1f} M points",
        {
            "seconds": round(seconds, 2),
            "points_s": round(points / seconds),
            "megabytes": round(size / 1e6),
            "memory_growth_mb": round(growth_mb, 1),
        },
        target="< 100 MB of growth",
        met=growth_mb < 100,
    )
