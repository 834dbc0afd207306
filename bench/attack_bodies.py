"""Bodies that cost far more than they weigh, damaged ones, and every way to ask for a table."""

from __future__ import annotations

import http.client
import io
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.attack_harness import Probe, Scene, Seen
from bench.virtual_assets import Battery, daily_powers
from gridloom.app import ROUTE_MODULES
from gridloom.platform.http import operations_of
from gridloom.platform.http.responses import ARROW, CSV, JSON, NDJSON, PARQUET

TIME = "2026-01-05T10:00:00Z"
ASSET_ID = "0197a5c0-0000-7000-8000-000000000001"
DAYS = 3652


class Body(NamedTuple):
    name: str
    path: str
    content: bytes
    media_type: str
    token: str | None = None
    method: str = "POST"


def _stream_of(table: pa.Table, compression: str | None = "zstd") -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _dictionary(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array([text]))


def _parquet_of(asset: str, rows: int) -> bytes:
    sink = io.BytesIO()
    columns = {"assetID": [asset] * rows, "time": [TIME] * rows, "volume": [1.0] * rows}
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return sink.getvalue()


def make_bodies(scene: Scene) -> Iterator[Body]:
    """One after the other: together they would take a gigabyte."""
    telemetry, netted = f"/monitoring/{scene.asset_id}/datapoints", "/settlements/net-off"
    operator, rows = scene.harness.operator.token, 1_000_000
    plain = {"signal": _dictionary("active_power", rows), "value": _dictionary("1.0", rows)}
    times = {"time": _dictionary(TIME, rows)}
    long_time, long_signal = {"time": _dictionary("x" * 3000, rows)}, {"signal": _dictionary("x" * 60_000, rows)}
    yield Body("Arrow, a long text in `time`", telemetry, _stream_of(pa.table({**plain, **long_time})), ARROW)
    yield Body("Arrow, a long text in `signal`", telemetry, _stream_of(pa.table(plain | long_signal | times)), ARROW)
    wide = {f"s{number}": np.ones(244) for number in range(4096)}
    yield Body("Arrow, 4,096 columns", telemetry, _stream_of(pa.table({"time": [TIME] * 244, **wide})), ARROW)
    zeros = pa.Array.from_buffers(
        pa.large_string(), 1, [None, pa.py_buffer(np.array([0, 1 << 30])), pa.py_buffer(bytes(1 << 30))]
    )
    yield Body("Arrow, a gigabyte of zeros", telemetry, _stream_of(pa.table({"time": [TIME], "s": zeros})), ARROW)
    yield Body("Parquet, a long text", netted, _parquet_of("x" * 28_000, 100_000), PARQUET, operator)
    start = b"assetID,time,volume\n"
    yield Body("CSV line of 60 M commas", netted, start + b"," * 60_000_000, CSV, operator)
    yield Body("CSV cell of 60 MB", netted, start + b"x" * 60_000_000, CSV, operator)
    yield Body("6 MB of {} lines", telemetry, b"{}\n" * 2_000_000, NDJSON)
    yield Body("3 MB of {} lines", telemetry, b"{}\n" * 1_000_000, NDJSON)
    number = b'[{"signal":"a","time":"2026-01-05T10:00:00Z","value":1.' + b"0" * 9_000_000 + b"}]"
    yield Body("a number of 9 MB", telemetry, number, JSON)
    names = "".join(f"s{number},{TIME},1\n" for number in range(rows))
    yield Body("a million signal names", telemetry, f"signal,time,value\n{names}".encode(), CSV)
    series = json.dumps({f"s{number}": {"time": [TIME], "value": [1]} for number in range(90_000)}).encode()
    yield Body("90,000 series of one point", telemetry, series, JSON)
    row = json.dumps({"signal": "p", "time": TIME, "value": 1.5}).encode()
    last = json.dumps({"signal": "p", "time": TIME, "value": 1.5, "x": 1}).encode()
    misshapen = b"[" + b",".join([row] * 300_000 + [last]) + b"]"
    yield Body("300,000 rows, the last misshapen", telemetry, misshapen, JSON)
    yield Body("45 MB of empty lists", netted, b"[" + b"[]," * 15_000_000 + b"1]", JSON, operator)
    yield Body("9 MB of empty lists", "/physical-assets", b"[" + b"[]," * 3_000_000 + b"1]", JSON)
    yield from _schedules(scene)


def _schedules(scene: Scene) -> Iterator[Body]:
    battery = Battery(scene.harness, 365 if scene.is_quick else DAYS)
    powers = daily_powers(battery.periods // 96)
    times = [(battery.start + timedelta(minutes=15 * place)).isoformat() for place in range(battery.periods)]
    points = ",".join(f'{{"time":"{time}","power":{power}}}' for time, power in zip(times, powers, strict=True))
    path, token = f"{battery.url}/schedule", battery.client.token
    yield Body("a schedule of ten years", path, f'{{"schedule":[{points}]}}'.encode(), JSON, token, "PUT")
    faulty = points.replace('"power":', '"power":"x",')
    yield Body("the same, all of it faulty", path, f'{{"schedule":[{faulty}]}}'.encode(), JSON, token, "PUT")


def heavy_bodies(scene: Scene) -> list[Seen]:
    found = []
    for body in make_bodies(scene):
        token = body.token or scene.attacker.token
        with Probe(scene) as probe, ThreadPoolExecutor(4) as pool:
            time.sleep(0.3)
            sent = [
                pool.submit(scene.send, body.path, body.content, body.media_type, token, body.method) for _ in range(4)
            ]
            peak, began = 0, time.monotonic()
            while not all(one.done() for one in sent) and time.monotonic() - began < 120:
                peak = max(peak, scene.worker_bytes())
                time.sleep(0.1)
            statuses = Counter(one.result() for one in sent)
            time.sleep(0.3)
        name = f"{body.name} ({len(body.content):,} bytes), four at once"
        seen = probe.judge(name, 200, statuses=dict(statuses), peakMiB=peak >> 20)
        seen.met = seen.met and not any(status == 0 or status >= 500 for status in statuses)
        seen.seen += f", answered {dict(statuses)}, process at most {peak >> 20} MiB"
        found.append(seen)
    return found


def damaged_bodies(scene: Scene) -> list[Seen]:
    """Arrow and Parquet with a few bytes changed: read or refused, never a failure, and no worker dies."""
    most = 300 if scene.is_quick else 10_000
    chance, statuses = random.Random(13), Counter[int]()
    rows = 64
    arrow = [
        _stream_of(
            pa.table({
                "signal": _dictionary("active_power", rows), "time": _dictionary(TIME, rows),
                "value": pa.array(np.ones(rows)), "quality": pa.array(["GOOD"] * rows, pa.string_view()),
            }),
            compression,
        )
        for compression in (None, "zstd", "lz4")
    ]  # fmt: skip
    parquet = _parquet_of(ASSET_ID, 50)
    operator = scene.harness.operator.token
    workers = scene.worker_pids()

    def damage(number: int) -> int:
        is_parquet = number % 8 == 0  # each costs a process
        sound = parquet if is_parquet else chance.choice(arrow)
        mutated = bytearray(sound)
        for _ in range(chance.randint(1, 6)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        if is_parquet:
            return scene.send("/settlements/net-off", bytes(mutated), PARQUET, operator)
        return scene.send(f"/monitoring/{scene.asset_id}/datapoints", bytes(mutated), ARROW)

    with ThreadPoolExecutor(8) as pool:
        statuses.update(pool.map(damage, range(most)))
    lost = workers - scene.worker_pids()
    failed = sum(count for status, count in statuses.items() if status == 0 or status >= 500)
    seen = f"{dict(statuses)}, {len(lost)} processes died"
    figures = {"statuses": dict(statuses)}
    return [Seen(f"{most:,} damaged Arrow and Parquet bodies", "no 5xx", seen, not failed and not lost, figures)]


ACCEPTS = (JSON, CSV, ARROW, PARQUET, "*/*", "text/*", "image/png", "text/csv;q=0", ";;,", "a" * 4000)


def accepted_formats(scene: Scene) -> list[Seen]:
    """Every table in every format, and in what is none."""
    battery = Battery(scene.harness, 10)
    ids = {
        "organisationID": battery.organisation.id,
        "virtualAssetID": battery.asset["id"],
        "blockID": battery.asset["blockIDs"][0],
        "physicalAssetID": scene.asset_id,
    }
    statuses: Counter[int] = Counter()
    asked = 0
    for operation in operations_of(*ROUTE_MODULES):
        names = [parameter.name for parameter in operation.path_parameters]
        if ARROW not in operation.produces or not set(names) <= set(ids):
            continue
        path = operation.path
        for name in names:
            path = path.replace(f"{{{name}}}", ids[name])
        is_virtual = "virtualAssetID" in names
        window = {"start": battery.start.isoformat(), "end": (battery.start + timedelta(days=2)).isoformat()}
        for accept in ACCEPTS:
            token = battery.client.token if is_virtual else scene.attacker.token
            statuses[_ask_format(scene, f"{path}?{urlencode(window)}", accept, token)] += 1
            asked += 1
    failed = sum(count for status, count in statuses.items() if status == 0 or status >= 500)
    name = f"{asked} reads of tables, every `Accept`"
    return [Seen(name, "no 5xx", f"{dict(statuses)}", not failed and statuses[200] > 0, {"statuses": dict(statuses)})]


def _ask_format(scene: Scene, path: str, accept: str, token: str | None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=30)
    try:
        connection.request("GET", path, headers={"Accept": accept, "Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
