"""Figures of each worker: its database connections, memory, processor time and files, and its event loop."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from gridloom.platform.database.pool import Pool, count_waiting
from gridloom.platform.http.application import Application
from gridloom.settings import Settings

LOOK_EVERY_S: Final = 0.5
FIGURES_EVERY_S: Final = 5.0

LOOP_LAG: Final = Histogram(
    "gridloom_event_loop_lag_seconds",
    "How much later than due the event loop ran a timer, looked at twice a second",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
POOL_CONNECTIONS: Final = Gauge(
    "gridloom_pool_connections",
    "Connections to the database, `used` by requests and jobs or `idle`",
    ["state"],
    multiprocess_mode="livesum",
)
POOL_WAITING: Final = Gauge(
    "gridloom_pool_waiting", "Requests and jobs that wait for a connection to the database", multiprocess_mode="livesum"
)
POOL_SIZE: Final = Gauge(
    "gridloom_pool_max_connections", "Connections that the pools may open", multiprocess_mode="livesum"
)
WORKERS: Final = Gauge("gridloom_workers", "Workers that live", multiprocess_mode="livesum")
CPU_SECONDS: Final = Counter("gridloom_process_cpu_seconds_total", "Processor time of the workers")
MEMORY: Final = Gauge(
    "gridloom_process_resident_memory_bytes",
    "Memory that a worker holds, by its label `pid`",
    multiprocess_mode="liveall",
)
OPEN_FILES: Final = Gauge(
    "gridloom_process_open_fds", "Open files and connections of the workers", multiprocess_mode="livesum"
)
MAX_FILES: Final = Gauge(
    "gridloom_process_max_fds", "Files and connections that the workers may open", multiprocess_mode="livesum"
)

_MEMORY: Final = Path("/proc/self/statm")
_FILES: Final = Path("/proc/self/fd")


@asynccontextmanager
async def measure_process(edge: Application, settings: Settings) -> AsyncIterator[None]:
    """Only where the figures can be asked for: a worker at rest does not wake up for them otherwise."""
    if settings.metrics_token is None and settings.metrics_port is None:
        yield
        return
    WORKERS.set(1)
    MAX_FILES.set(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    measuring = asyncio.create_task(_measure_for_ever(edge.pool), name="figures")
    try:
        yield
    finally:
        measuring.cancel()


async def _measure_for_ever(pool: Pool) -> None:
    cpu_s, figures_due = 0.0, 0.0
    while True:
        due = time.perf_counter() + LOOK_EVERY_S
        if due >= figures_due:
            cpu_s = _note_figures(pool, cpu_s)
            figures_due = due + FIGURES_EVERY_S
        await asyncio.sleep(due - time.perf_counter())
        LOOP_LAG.observe(max(0.0, time.perf_counter() - due))


def _note_figures(pool: Pool, noted_cpu_s: float) -> float:
    """The processor time that has been counted."""
    idle = pool.get_idle_size()
    POOL_CONNECTIONS.labels("idle").set(idle)
    POOL_CONNECTIONS.labels("used").set(pool.get_size() - idle)
    POOL_SIZE.set(pool.get_max_size())
    POOL_WAITING.set(count_waiting(pool))
    cpu_s = time.process_time()
    CPU_SECONDS.inc(max(0.0, cpu_s - noted_cpu_s))
    with suppress(OSError):  # only Linux tells
        MEMORY.set(int(_MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        OPEN_FILES.set(sum(1 for _ in _FILES.iterdir()))
    return cpu_s
