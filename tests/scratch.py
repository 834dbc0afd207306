"""Where tests keep their files: in memory, where there is plenty of it.

A new database is hundreds of files, which a disk's file system takes ten times as long to make, and servers of tests
wait for a disk at every commit and every start. What tests kill are processes; nothing has to outlive the machine.
`TMPDIR=/tmp make test` keeps to the disk.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

MEMORY = Path("/dev/shm")
PLENTY_BYTES = 8 << 30
PREFIX = "gl-tests-"
SETTLED_S = 60
"""The process that makes a directory has locked it by then."""


def make_scratch() -> Path:
    """A directory for everything that this run and its processes make among the temporary files."""
    place = None if "TMPDIR" in os.environ or not _has_plenty() else MEMORY
    if place is not None:
        _remove_leftovers(place)
    made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    made.chmod(0o711)  # the account that servers run as passes through
    fcntl.flock(os.open(made, os.O_RDONLY), fcntl.LOCK_EX)  # kept to the end of this process
    os.environ["TMPDIR"] = tempfile.tempdir = str(made)
    return made


def remove_scratch(made: Path) -> None:
    if os.environ.get("TMPDIR") == str(made):
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
    shutil.rmtree(made, ignore_errors=True)


def _has_plenty() -> bool:
    """Of memory for files, among which there may be programs."""
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(MEMORY)
    if found.f_flag & os.ST_NOEXEC:
        return False
    return min(found.f_bavail * found.f_frsize, _find_free_memory(), _find_memory_limit()) >= PLENTY_BYTES


def _find_free_memory() -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) << 10


def _find_memory_limit() -> int:
    """What a container lets its processes have together; what they keep in files of memory counts."""
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError):
            told = Path(place).read_text().strip()
            return 1 << 62 if told == "max" else int(told)
    return 1 << 62


def _remove_leftovers(place: Path) -> None:
    """Of runs that were killed: no process holds their lock."""
    for left in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - left.stat().st_mtime > SETTLED_S:
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)
