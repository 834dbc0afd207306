"""Telemetry in and out through the product's HTTP, beside what bare PostgreSQL and other engines do with the points."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any

import asyncpg
import numpy as np
import psutil

from bench import telemetry, telemetry_overwrites, telemetry_reads, tsdb_comparison
from bench.harness import Client, Harness
from gridloom.market_calendar import market_date
from gridloom.monitoring import blocks, segments
from gridloom.monitoring.compaction import day_compaction
from gridloom.monitoring.model import Points, SignalSeries
from gridloom.monitoring.store import compaction as compaction_store
from gridloom.platform.database.pool import create_pool
from gridloom.wiring import provide_dependencies

ARROW = "application/vnd.apache.arrow.stream"
ROWS_A_BODY = 500
POINTS_A_BODY = ROWS_A_BODY * len(telemetry.SIGNALS)
ASSETS = 10
SENDERS = 3
JSON_TARGET = 300_000


def run(harness: Harness) -> None:
    quick = harness.options.quick
    provide_dependencies()  # compaction runs in this process
    organisation = harness.new_organisation()
    assets = [_new_asset(organisation.admin, organisation.id) for _ in range(ASSETS)]
    bodies = 20 if quick else 400
    forms: dict[str, tuple[str, Callable[..., bytes], int | None]] = {
        "Arrow, long": (ARROW, telemetry.long, 600_000),
        "Arrow, wide": (ARROW, telemetry.wide, 600_000),
        "JSON columns": ("application/json", telemetry.json_columns, JSON_TARGET),
    }
    first = 0
    arrow_rate = 0.0
    for name, (media_type, write, target) in forms.items():
        rate = _ingest(harness, organisation.admin, assets, name, media_type, write, bodies, first, target)
        first += bodies // ASSETS * ROWS_A_BODY
        arrow_rate = arrow_rate or rate
    _ingest_lines(harness, organisation.admin, assets, bodies, first)
    first += bodies // ASSETS * ROWS_A_BODY
    _overwrite(harness, organisation.admin, assets, bodies)
    asyncio.run(_bare(harness, bodies, arrow_rate))
    asyncio.run(_fold(harness))
    asyncio.run(_store_seconds(harness))
    telemetry_overwrites.measure_overwrites(harness, organisation.admin, assets[0])
    years, short = (_new_asset(organisation.admin, organisation.id) for _ in range(2))
    days = 30 if quick else 3 * 365
    asyncio.run(telemetry_reads.fill_history(harness, years, days))
    asyncio.run(telemetry_reads.fill_history(harness, short, 30))
    telemetry_reads.measure_reads(harness, organisation.admin, years, short, days)
    telemetry_reads.measure_long_read(harness, organisation.admin, years, min(days, 365))
    for engine in tsdb_comparison.ENGINES:
        _other_engine(harness, engine, bodies)


def _new_asset(client: Client, organisation_id: str) -> str:
    parameters = {
        "ratedChargePower": 10_000,
        "ratedDischargePower": 10_000,
        "energyCapacity": 20_000,
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    }
    body = {
        "name": "Bench battery",
        "organisationID": organisation_id,
        "deliveryZone": "TenneT",
        "parameters": parameters,
    }
    asset_id: str = client.post("/physical-assets", body)["id"]
    return asset_id


# --- in


def _ingest(
    harness: Harness,
    client: Client,
    assets: Sequence[str],
    name: str,
    media_type: str,
    write: Callable[..., bytes],
    bodies: int,
    first_minute: int,
    target: int | None,
) -> float:
    """Each body brings new points of one asset; no two are alike."""
    requests = [
        (
            f"/monitoring/{assets[number % len(assets)]}/datapoints",
            write(
                telemetry.battery(
                    number % len(assets), ROWS_A_BODY, first_minute + number // len(assets) * ROWS_A_BODY
                ),
                telemetry.times_s(ROWS_A_BODY, first_minute + number // len(assets) * ROWS_A_BODY),
            ),
        )
        for number in range(bodies)
    ]
    return _measure_ingest(harness, client, name, media_type, requests, target)


def _ingest_lines(harness: Harness, client: Client, assets: Sequence[str], bodies: int, first_minute: int) -> None:
    """The same as InfluxDB's line protocol, which should be of the speed class of JSON."""
    starts = [first_minute + number // len(assets) * ROWS_A_BODY for number in range(bodies)]
    requests = [
        (
            "/monitoring/write?precision=s",
            tsdb_comparison.lines(
                telemetry.battery(number % len(assets), ROWS_A_BODY, start),
                telemetry.times_s(ROWS_A_BODY, start),
                assets[number % len(assets)],
            ),
        )
        for number, start in enumerate(starts)
    ]
    _measure_ingest(harness, client, "line protocol", "text/plain", requests, JSON_TARGET)


def _measure_ingest(
    harness: Harness,
    client: Client,
    name: str,
    media_type: str,
    requests: Sequence[tuple[str, bytes]],
    target: int | None,
) -> float:
    before_s = _cpu_s(harness)
    seconds, latencies = _send(harness.address, media_type, requests, client.token)
    cpu_s = _cpu_s(harness) - before_s
    rate = len(requests) * POINTS_A_BODY / seconds
    harness.report(
        f"ingest, {name}, {POINTS_A_BODY:,} points a body",
        {
            "points_s": round(rate),
            "p50_ms": round(1000 * float(np.median(latencies)), 2),
            "p99_ms": round(1000 * float(np.quantile(latencies, 0.99)), 2),
            "body_bytes": len(requests[0][1]),
            # What two idle cores would manage, by the processor time of service, database and client together.
            "points_s_by_cpu_time": round(2 * len(requests) * POINTS_A_BODY / cpu_s),
        },
        target=None if target is None else f">= {target:,} points/s",
        met=None if target is None else rate >= target,
    )
    return rate


def _cpu_s(harness: Harness) -> float:
    """Processor time of the service, its database and this client so far."""
    own = psutil.Process()
    used = 0.0
    for process in (own, *psutil.Process(harness.product_pid).children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system
    return used


def _overwrite(harness: Harness, client: Client, assets: Sequence[str], bodies: int) -> None:
    """The first bodies once more: corrections should cost what first writes cost."""
    times = telemetry.times_s(ROWS_A_BODY)
    requests = [
        (
            f"/monitoring/{assets[number % len(assets)]}/datapoints",
            telemetry.wide(telemetry.battery(number % len(assets) + 1, ROWS_A_BODY), times),
        )
        for number in range(bodies // 4)
    ]
    seconds, _ = _send(harness.address, ARROW, requests, client.token)
    rate = len(requests) * POINTS_A_BODY / seconds
    harness.report("ingest, Arrow, wide, every point overwritten", {"points_s": round(rate)})


def _send(
    to: str, media_type: str, requests: Sequence[tuple[str, bytes]], token: str | None = None
) -> tuple[float, list[float]]:
    """A few keep-alive connections, each sending the next body as soon as it is answered."""
    waiting: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
    for request in requests:
        waiting.put(request)
    latencies: list[float] = []
    faults: list[str] = []
    address = urllib.parse.urlsplit(to)
    headers = {"Content-Type": media_type} | ({} if token is None else {"Authorization": f"Bearer {token}"})

    def send() -> None:
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        while not faults:
            try:
                path, body = waiting.get_nowait()
            except Empty:
                break
            began = time.perf_counter()
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            is_partial = answer.status == 200 and token is not None and b'"refused":0' not in text
            if answer.status not in (200, 204) or is_partial:
                faults.append(f"{answer.status} {text[:500]!r}")
            latencies.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(SENDERS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if faults:
        raise RuntimeError(faults[0])
    return seconds, latencies


def _other_engine(harness: Harness, engine: tsdb_comparison.Engine, bodies: int) -> None:
    """The same bodies' points, sent by the same senders; skipped where the engine is not installed."""
    with tsdb_comparison.running(engine) as started:
        if started is None:
            print(
                f"monitoring: {engine.name} is not installed; skipped (`apt-get install {engine.package}`)", flush=True
            )
            return
        address, home = started
        if engine.prepare is not None:
            tsdb_comparison.ask(address, "POST", engine.prepare)
        rows = range(0, bodies // ASSETS * ROWS_A_BODY, ROWS_A_BODY)
        requests = [
            (
                engine.write,
                tsdb_comparison.lines(
                    telemetry.battery(asset, ROWS_A_BODY, first), telemetry.times_s(ROWS_A_BODY, first), f"a{asset}"
                ),
            )
            for first in rows
            for asset in range(ASSETS)
        ]
        seconds, _ = _send(address, "text/plain", requests)
        time.sleep(1 if harness.options.quick else 15)
        end = telemetry.START_S + min(30 * 86_400, 60 * (rows[-1] + ROWS_A_BODY))
        harness.report(
            f"{engine.name} with the same points",
            {
                "points_s": round(len(requests) * POINTS_A_BODY / seconds),
                "bytes_a_point_soon_after": round(tsdb_comparison.size_of(home) / (len(requests) * POINTS_A_BODY), 2),
                "one_series_at_15_minutes_ms": tsdb_comparison.read_ms(
                    address, engine.read("a3", telemetry.START_S, end)
                ),
                "days": round((end - telemetry.START_S) / 86_400, 1),
            },
        )


async def _bare(harness: Harness, bodies: int, product_points_s: float) -> None:
    """COPY by a bare client, of the same points: packed as the product packs them, as frames, and one row a point."""
    connection = await asyncpg.connect(harness.database_url)
    blocks = [
        (telemetry.battery(number, ROWS_A_BODY), telemetry.times_s(ROWS_A_BODY) * 1_000_000)
        for number in range(min(bodies, 60))
    ]
    try:
        await connection.execute(
            """
            create table bench_segment (like telemetry_segment including all);
            create table bench_frame (asset_key int, at timestamptz, value float8[], primary key (asset_key, at));
            create table bench_point (asset_key int, signal_id smallint, at timestamptz, value float8,
                                      primary key (asset_key, signal_id, at))
            """
        )
        packed = [(number, *_packed(columns, times)) for number, (columns, times) in enumerate(blocks)]
        instants = [[_instant(time) for time in times.tolist()] for _, times in blocks]
        frames = [
            list(zip([n] * ROWS_A_BODY, instants[n], np.stack(list(columns.values()), 1).tolist(), strict=True))
            for n, (columns, _) in enumerate(blocks)
        ]
        rows = [
            [
                (n, s, at, value)
                for s, values in enumerate(columns.values())
                for at, value in zip(instants[n], values.tolist(), strict=True)
            ]
            for n, (columns, _) in enumerate(blocks)
        ]
        ways: dict[str, Callable[[int], Any]] = {
            "packed segments": lambda n: connection.copy_records_to_table(
                "bench_segment",
                records=[packed[n]],
                columns=["asset_key", "day", "sequence", "points", "body"],
            ),
            "frames": lambda n: connection.copy_records_to_table("bench_frame", records=frames[n]),
            "one row a point": lambda n: connection.copy_records_to_table("bench_point", records=rows[n]),
        }
        for name, copy in ways.items():
            began = time.perf_counter()
            for number in range(len(blocks)):
                await copy(number)
            rate = len(blocks) * POINTS_A_BODY / (time.perf_counter() - began)
            harness.report(
                f"bare COPY, {name}", {"points_s": round(rate), "product_share": round(product_points_s / rate, 3)}
            )
    finally:
        await connection.execute("drop table if exists bench_segment, bench_frame, bench_point")
        await connection.close()


def _packed(columns: dict[str, Any], times: Any) -> tuple[Any, int, int, bytes]:
    names = list(columns)
    points = Points(
        names,
        np.repeat(np.arange(len(names)), len(times)),
        np.tile(times, len(names)),
        np.concatenate(list(columns.values())),
    )
    arranged = segments.sort_and_deduplicate(points, np.arange(len(names)))
    return market_date(int(times[0] // 86_400_000_000)), 1, len(arranged), segments.encode(arranged)


def _instant(time_us: int) -> Any:
    from gridloom.monitoring.model import instant_of

    return instant_of(time_us)


async def _fold(harness: Harness) -> None:
    """Compaction as the job does it: closed days into a block each, then the days of a month into one."""
    pool = await create_pool(harness.database_url, size=2)
    began = time.perf_counter()
    folded, keys = 0, set[int]()
    try:
        while True:
            waiting = await compaction_store.read_pending(pool, settle=timedelta(), most=1000)
            waiting = [day for day in waiting if day.is_closed]
            if not waiting:
                break
            for day in waiting:
                keys.add(day.asset_key)
                async with pool.acquire() as connection, connection.transaction():
                    done = await day_compaction.run_step(connection, day)
                    folded += done.points if done else 0
        seconds = time.perf_counter() - began
        in_days = await _size_blocks(pool)
        began = time.perf_counter()
        joined = 0
        for key in sorted(keys):
            async with pool.acquire() as connection, connection.transaction():
                joined += sum(done.points for done in await day_compaction.join_days(connection, key))
        join_seconds = time.perf_counter() - began
        in_months = await _size_blocks(pool)
        stored = await pool.fetchval("select sum(n) from telemetry_block, unnest(points) n")
    finally:
        await pool.close()
    harness.report(
        "folding into day chunks",
        {"points_s": round(folded / seconds), "joined_points_s": round(joined / join_seconds)},
    )
    harness.report(
        "stored after folding, with indexes",
        {
            "bytes_a_point": round(in_months / int(stored), 3),
            "in_blocks_of_a_day": round(in_days / int(stored), 3),
            "points": int(stored),
        },
        target="<= 0.5 bytes a point",
        met=in_months / int(stored) <= 0.5,
    )


async def _store_seconds(harness: Harness) -> None:
    """The same batteries sampled every second: too dense to be joined, so a block a day."""
    days = 1 if harness.options.quick else 3
    pool = await create_pool(harness.database_url, size=1)
    try:
        await pool.execute("create table bench_block (like telemetry_block including all)")
        for day in range(days):
            columns = telemetry.battery(3, 1440, day * 1440, a_minute=60)
            times = (telemetry.START_S + 86_400 * day + np.arange(86_400)) * 1_000_000
            series = ((place, SignalSeries(times, values)) for place, values in enumerate(columns.values()))
            began = time.process_time()
            at = market_date(telemetry_reads.FIRST_DAY + day)
            block = blocks.encode(at, at, series)
            encode_s = time.process_time() - began
            row = {"asset_key": 1} | asdict(block)
            await pool.copy_records_to_table("bench_block", records=[tuple(row.values())], columns=list(row))
        size = await pool.fetchval("select pg_total_relation_size('bench_block')")
    finally:
        await pool.execute("drop table if exists bench_block")
        await pool.close()
    points = days * 86_400 * len(telemetry.SIGNALS)
    harness.report(
        "stored every second, with indexes",
        {
            "bytes_a_point": round(size / points, 3),
            "points": points,
            "encoded_points_s": round(points / days / encode_s),
        },
        target="<= 0.5 bytes a point",
        met=size / points <= 0.5,
    )


async def _size_blocks(pool: asyncpg.Pool[asyncpg.Record]) -> int:
    """Bytes of the table with its indexes, without the room that deleted rows have left for new ones."""
    await pool.execute("vacuum full telemetry_block")
    size: int = await pool.fetchval("select pg_total_relation_size('telemetry_block')")
    return size
