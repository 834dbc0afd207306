"""The SDK as a trader meets it: a year of all categories as a frame, and a long frame on its way in."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from bench.harness import Harness
from bench.settled_year import YEAR, day_numbers, fill
from gridloom.market_calendar import period_counts
from gridloom_client import Client, InMemoryTokenStore, Tokens


def run(harness: Harness) -> None:
    days = 365
    with tempfile.TemporaryDirectory(prefix="gl-bench-") as directory:
        scene = asyncio.run(fill(harness.database_url, 1, days, Path(directory) / "measures.parquet"))
    token = harness.operator.token or ""
    tokens = InMemoryTokenStore(Tokens(access_token=token, expires_at=time.time() + 3600))
    with Client(harness.address, tokens=tokens, timeout_s=120, progress=False) as client:
        _read_year(harness, client, str(scene.ids[0]), sum(period_counts(day_numbers(days))))
        _write_long_frame(harness, client)


def _read_year(harness: Harness, client: Client, asset_id: str, expected: int) -> None:
    """46 categories at 15 minutes, from the call to the frame, in the market's time."""
    start, end = YEAR

    def read(kind: str) -> None:
        table = client.revenue.of_virtual_asset.table(asset_id, start=start, end=end, resolution="15-minute")
        frame = table.to_pandas("Europe/Berlin") if kind == "pandas" else table.to_polars("Europe/Berlin")
        assert len(frame) == expected

    for kind in ("pandas", "polars"):
        wall_s, cpu_s = _measure(lambda kind=kind: read(kind), harness.options.rounds)  # type: ignore[misc]
        figures = {"ms": round(1000 * wall_s, 1), "cpu of the client, ms": round(1000 * cpu_s, 1)}
        harness.report(f"a year of 46 categories as a {kind} frame", figures, target="< 1 s", met=wall_s < 1)


def _write_long_frame(harness: Harness, client: Client) -> None:
    """Telemetry of several signals every minute, cut into pieces by the SDK."""
    minutes = 20_000 if harness.options.quick else 500_000
    organisation = harness.new_organisation()
    rated = {"ratedChargePower": 1000, "ratedDischargePower": 1000, "energyCapacity": 2000}
    battery = {"name": "B", "organisationID": str(organisation.id), "deliveryZone": "TenneT"}
    efficient = {"chargeEfficiency": 1, "dischargeEfficiency": 1}
    made = harness.operator.post("/physical-assets", battery | {"parameters": rated | efficient})
    times = pd.date_range(datetime(2025, 1, 1, tzinfo=UTC), periods=minutes, freq=timedelta(minutes=1))
    signals = {f"signal_{number}": np.arange(minutes) * 0.5 + number for number in range(4)}
    frame = pd.DataFrame(signals, index=times)
    started, cpu = time.perf_counter(), time.process_time()
    outcome = client.monitoring.write(made["id"], frame)
    seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    assert outcome.written == frame.size
    figures = {"points": frame.size, "points_s": round(frame.size / seconds), "cpu of the client, s": round(cpu_s, 2)}
    harness.report("a long frame of telemetry, in pieces", figures)


def _measure(action: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Wall and processor seconds, the first not counted: it imports pandas or polars."""
    action()
    walls, cpus = [], []
    for _ in range(max(3, rounds)):
        started, cpu = time.perf_counter(), time.process_time()
        action()
        walls.append(time.perf_counter() - started)
        cpus.append(time.process_time() - cpu)
    return median(walls), median(cpus)
