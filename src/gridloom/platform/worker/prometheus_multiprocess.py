"""The directory of the metrics of all workers of a service, so that any worker can serve all of them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from gridloom.settings import Settings

_PREFIX: Final = "gridloom-metrics-"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 — a directory of our own is made in it


def set_metrics_directory(settings: Settings) -> None:
    """To be called before prometheus_client is loaded: it looks at its environment once, then.

    The files are mapped into memory, and writing to a mapped page for which the disk has no room kills the process. So
    they lie in memory where there is such a place, and in a directory of this process: a second start, refused because
    the first one runs, touches nothing of the first one's.
    """
    if settings.metrics_token is None and settings.metrics_port is None:
        return
    assert "prometheus_client" not in sys.modules, "too late"
    place = _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else settings.home
    with suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(place, os.W_OK | os.X_OK):
        place = Path(tempfile.gettempdir())
    _remove_leftovers(place)
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
    atexit.register(_remove_own, directory, os.getpid())


def _remove_own(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # workers are forks, and leave with their supervisor's handlers
        shutil.rmtree(directory, ignore_errors=True)


def _remove_leftovers(place: Path) -> None:
    """Of services that were killed: their directories carry the number of a process that is no more."""
    for directory in place.glob(f"{_PREFIX}*"):
        number = directory.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdigit() and not Path(f"/proc/{number}").exists() and Path("/proc/self").exists():
            shutil.rmtree(directory, ignore_errors=True)


def mark_worker_dead(pid: int) -> None:
    """Gauges of an exited worker are removed; its counters stay."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return
    from prometheus_client import multiprocess

    with suppress(OSError):
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
