"""Other engines for time series, with the same points over their HTTP, where the machine has them (Debian packages).

InfluxDB 1 and VictoriaMetrics both take line protocol: one line a time with all 20 signals as fields. They are started
on a home of their own with their default settings, and stopped when measured.
"""

from __future__ import annotations

import http.client
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.harness import await_answer, free_port


@dataclass(frozen=True)
class Engine:
    name: str
    program: str
    package: str
    start: Callable[[Path, int], list[str]]
    prepare: str | None
    write: str
    read: Callable[[str, int, int], str]


def _influx(home: Path, port: int) -> list[str]:
    settings = home / "influxdb.conf"
    settings.write_text(
        f"""
        reporting-disabled = true
        bind-address = "127.0.0.1:{free_port()}"
        [meta]
        dir = "{home}/meta"
        [data]
        dir = "{home}/data"
        wal-dir = "{home}/wal"
        [http]
        bind-address = "127.0.0.1:{port}"
        log-enabled = false
        """
    )
    return ["influxd", "-config", str(settings)]


def _victoria(home: Path, port: int) -> list[str]:
    return [
        "victoria-metrics",
        f"-storageDataPath={home}/data",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-retentionPeriod=10y",
    ]


def _influx_read(asset: str, start_s: int, end_s: int) -> str:
    asked = (
        f"select mean(active_power) from battery where asset='{asset}' and time >= {start_s}s and time < {end_s}s "
        "group by time(15m)"
    )
    return "/query?" + urllib.parse.urlencode({"db": "bench", "q": asked})


def _victoria_read(asset: str, start_s: int, end_s: int) -> str:
    asked = f'avg_over_time(battery_active_power{{asset="{asset}"}}[15m])'
    return "/api/v1/query_range?" + urllib.parse.urlencode(
        {"query": asked, "start": start_s + 900, "end": end_s, "step": "15m", "nocache": 1}
    )


ENGINES = (
    Engine(
        "InfluxDB 1",
        "influxd",
        "influxdb",
        _influx,
        "/query?q=create+database+bench",
        "/write?db=bench&precision=s",
        _influx_read,
    ),
    Engine(
        "VictoriaMetrics", "victoria-metrics", "victoria-metrics", _victoria, None, "/write?precision=s", _victoria_read
    ),
)


def lines(columns: dict[str, NDArray[np.float64]], times: NDArray[np.int64], asset: str) -> bytes:
    names = list(columns)
    rows = np.stack(list(columns.values()), axis=1).tolist()
    return "\n".join(
        f"battery,asset={asset} {','.join(f'{name}={value!r}' for name, value in zip(names, row, strict=True))} {at}"
        for at, row in zip(times.tolist(), rows, strict=True)
    ).encode()


@contextmanager
def running(engine: Engine) -> Iterator[tuple[str, Path] | None]:
    """The engine's address and home; None where it is not installed."""
    if shutil.which(engine.program) is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="gl-engine-", ignore_cleanup_errors=True) as directory:
        home, port = Path(directory), free_port()
        process = subprocess.Popen(
            engine.start(home, port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home
        )
        try:
            await_answer(f"http://127.0.0.1:{port}", None, process)
            time.sleep(1)
            yield f"http://127.0.0.1:{port}", home
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def ask(address: str, method: str, path: str, body: bytes | None = None) -> bytes:
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
    return text


def size_of(home: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in home.rglob("*") if path.is_file())


def median_ms(times: Sequence[float]) -> float:
    return round(1000 * float(np.median(times)), 2)


def read_ms(address: str, path: str, rounds: int = 20) -> float:
    taken: list[Any] = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask(address, "GET", path)
        taken.append(time.perf_counter() - began)
    return median_ms(taken)
