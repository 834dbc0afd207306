"""A run in several processes on one PostgreSQL: each lives every n-th seed, and what they met is added up."""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.database_server import interrupt_server, revive_server
from tests.simulation.report import Total
from tests.simulation.weather import SHARED

POLL_S = 0.2
OUTAGE_S = 0.3
MAX_END_S = 60
ENDED = 143
"""The status of a process that was asked to end."""


def run_parallel(arguments: argparse.Namespace) -> Total:
    """The first finding of one ends the others, unless all are to be listed."""
    signal.signal(signal.SIGUSR1, lambda *_: _restart_server())
    total = Total()
    with tempfile.TemporaryDirectory(prefix="gridloom-lives-") as folder:
        reports = [Path(folder) / f"report-{place}" for place in range(arguments.jobs)]
        started = [_start(Path(folder), arguments, place, report) for place, report in enumerate(reports)]
        _await_end(started, stops_early=not (arguments.keep_going or arguments.list))
        for report in reports:
            if report.exists():
                total.add(pickle.loads(report.read_bytes()))
        ended = [one.returncode in (ENDED, -signal.SIGTERM) for one in started]
        broken = any(not report.exists() and not was_ended for report, was_ended in zip(reports, ended, strict=True))
    assert not broken, "a process of lives broke off"
    return total


def _start(shared: Path, arguments: argparse.Namespace, place: int, report: Path) -> subprocess.Popen[bytes]:
    numbers = {
        "seconds": arguments.seconds,
        "steps": arguments.steps,
        "lives": arguments.lives,
        "shrink-seconds": arguments.shrink_seconds,
        "seed": arguments.seed + place,
        "stride": arguments.jobs,
    }
    command = [sys.executable, "-m", "tests.simulation", "--report", str(report)]
    command += [word for name, number in numbers.items() for word in (f"--{name}", str(number))]
    command += [f"--{name}" for name in ("keep-going", "faults", "list", "no-shrink") if is_set(arguments, name)]
    return subprocess.Popen(command, env={**os.environ, SHARED: str(shared)})


def is_set(arguments: argparse.Namespace, name: str) -> bool:
    return bool(getattr(arguments, name.replace("-", "_")))


def _await_end(started: list[subprocess.Popen[bytes]], *, stops_early: bool) -> None:
    while any(one.poll() is None for one in started):
        if stops_early and any(one.poll() not in (None, 0) for one in started):
            _end_rest(started)
        time.sleep(POLL_S)


def _end_rest(started: list[subprocess.Popen[bytes]]) -> None:
    for one in started:
        if one.poll() is None:
            one.terminate()
    for one in started:
        one.wait(MAX_END_S)


def _restart_server() -> None:
    interrupt_server()
    time.sleep(OUTAGE_S)
    revive_server()
