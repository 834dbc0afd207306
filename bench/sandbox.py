"""The living sandbox: what its history and a day of the whole world cost, whether its economy adds up, and whether its
life disturbs the guests in it."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta
from statistics import median

import psutil

from bench.harness import PASSWORD, USERNAME, Harness, Request, check
from bench.simulated_economy import read_economy
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom_client import Client

HISTORY_DAYS = int(os.environ.get("GRIDLOOM_SIMULATOR_DAYS", "30"))
ECONOMY_DAYS = HISTORY_DAYS - 2
"""Whole days that were auctioned: the first auctions of a world are for its third day."""
SEEDS = tuple(int(seed) for seed in os.environ.get("BENCH_SEEDS", "1 2 3 4 5").split())
ENVIRONMENT = {
    "GRIDLOOM_SIMULATOR": "on",
    "GRIDLOOM_SIMULATOR_DAYS": str(HISTORY_DAYS),
    "GRIDLOOM_SIMULATOR_SEED": str(SEEDS[0]),
}
HISTORY_S = 100.0
NETTED = (0.02, 0.10)
DAY_S = 3.5
DISTURBANCE = 2.0
FAST, SLOW = 96.0, 1.0
GUESTS, REQUESTS_S = 4, 100.0
"""Connections, and how many small reads a second they ask for together: a few people with a console open."""
MAX_HISTORY_S = 1_800.0


def run(harness: Harness) -> None:
    _measure_history(harness)
    _measure_economy(harness)
    if not os.environ.get("BENCH_ECONOMY_ONLY"):
        _measure_days(harness)
    _measure_disturbance(harness)


def _measure_history(harness: Harness) -> None:
    """From the start of the service; what all processes use is what two idle cores would need, halved."""
    began = psutil.Process(harness.product_pid).create_time()
    _await_history(harness)
    taken_s, used_s = time.time() - began, _cpu_of_all(harness)
    harness.report(
        f"a history of {HISTORY_DAYS} days",
        {"s": round(taken_s), "cpu_s": round(used_s), "cpu_s_a_day": round(used_s / HISTORY_DAYS, 2)},
        target=f"under {HISTORY_S:g} s on two cores",
        met=taken_s < HISTORY_S,
    )


def _await_history(harness: Harness) -> None:
    began = time.time()
    while not harness.operator.get("/sandbox/simulator")["historyComplete"]:
        if time.time() - began > MAX_HISTORY_S:
            raise RuntimeError("the world does not come to its present")
        time.sleep(0.5)


def _measure_economy(harness: Harness) -> None:
    """The worlds of several seeds one after the other, each by its own reset; the first is there already."""
    seeds = SEEDS[:1] if harness.options.quick else SEEDS
    for seed in seeds:
        if seed != harness.operator.get("/sandbox/simulator")["seed"]:
            harness.operator.put("/sandbox/simulator", {"seed": seed})
            harness.operator.post("/sandbox/reset")
            _await_history(harness)
        with Client(harness.address, username=USERNAME, password=PASSWORD) as operator:
            now = datetime.fromisoformat(harness.operator.get("/sandbox/simulator")["now"])
            end = market_day_window(market_day_of(now)).start
            start = market_day_window(market_day_of(end) - timedelta(days=ECONOMY_DAYS)).start
            economy = read_economy(operator, start, end)
            netted = _read_netted(harness, start, end)
        missed = economy.misses()
        if not NETTED[0] <= netted <= NETTED[1]:
            missed.append(f"netted {NETTED[0]:.0%} to {NETTED[1]:.0%}")
        harness.report(
            f"{ECONOMY_DAYS} days of seed {seed}",
            economy.describe() | {"netted": round(netted, 4), "missed": missed},
            target="every target of its table",
            met=not missed,
        )


def _read_netted(harness: Harness, start: datetime, end: datetime) -> float:
    """The share of what is exported that met opposite schedules."""
    span = f"start={start.isoformat()}&end={end.isoformat()}".replace("+", "%2B")
    quarters = [one for zone in harness.operator.get(f"/delivery/zones?{span}") for one in zone["quarters"]]
    return float(sum(one["netted"] for one in quarters) / sum(one["scheduledExport"] for one in quarters))


def _measure_days(harness: Harness) -> None:
    """The clock leaps by a market day; all processes count: the service, its PostgreSQL, the simulator."""
    operator, taken_s, used_s = harness.operator, [], []
    for _ in range(1 if harness.options.quick else max(3, harness.options.rounds)):
        before_s, began = _cpu_of_all(harness), time.perf_counter()
        operator.put("/sandbox/clock", {"advance": "PT6H" if harness.options.quick else "P1D"})
        taken_s.append(time.perf_counter() - began)
        used_s.append(_cpu_of_all(harness) - before_s)
    harness.report(
        "a day of the whole world",
        {"s": round(median(taken_s), 2), "cpu_s": round(median(used_s), 2)},
        target=f"under {DAY_S:g} s",
        met=median(taken_s) < DAY_S,
    )


def _cpu_of_all(harness: Harness) -> float:
    used_s = 0.0
    for process in psutil.Process(harness.product_pid).children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used_s += times.user + times.system + times.children_user + times.children_system
    return used_s


def _measure_disturbance(harness: Harness) -> None:
    """Small reads at a steady rate while the world goes at either speed, in turns."""
    p99_ms: dict[float, list[float]] = {SLOW: [], FAST: []}
    # A quarter-hour at speed 96 takes 9.4 s: each round sees some of them.
    seconds = harness.options.seconds if harness.options.quick else max(30.0, harness.options.seconds)
    for _ in range(harness.options.rounds):
        for speed, found in p99_ms.items():
            operator = harness.operator
            operator.put("/sandbox/simulator", {"speed": speed})
            read = Request("GET", "/auth/me", token=operator.token)
            measured = harness.load(read, connections=GUESTS, rate_s=REQUESTS_S, seconds=seconds).result()
            check(measured, f"speed {speed:g}")
            found.append(measured.latencies_ms["p99"])
    harness.operator.put("/sandbox/simulator", {"speed": SLOW})
    slow_ms, fast_ms = median(p99_ms[SLOW]), median(p99_ms[FAST])
    harness.report(
        f"GET /auth/me beside a world at speed {FAST:g}",
        {"p99_ms": fast_ms, "p99_at_speed_1_ms": slow_ms, "ratio": round(fast_ms / slow_ms, 2)},
        target=f"ratio <= {DISTURBANCE:g}",
        met=fast_ms <= DISTURBANCE * slow_ms,
    )
