"""A fork server for long bodies, as each worker of the service has one, and the memory that this process takes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gridloom.platform.http.long_bodies import decoder_process
from gridloom.platform.http.long_bodies.decoder_process import spawn_fork_server


@contextmanager
def forking() -> Iterator[int]:
    """While it lasts, long bodies are decoded by forks of the process with this number."""
    forker = spawn_fork_server("gridloom.monitoring.ingest.parsing")
    assert forker.process is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decoder_process, "_forker", forker)
        yield forker.process.pid
    forker.close()
    assert forker.process.wait(30) in (0, -signal.SIGKILL), "it leaves with the worker"


@dataclass
class Growth:
    """How far the memory of this process rose above what it held."""

    peak_bytes: int = 0


@contextmanager
def measured_growth() -> Iterator[Growth]:
    growth = Growth()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _read_status("VmRSS")
    yield growth
    growth.peak_bytes = _read_status("VmHWM") - before


def _read_status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
