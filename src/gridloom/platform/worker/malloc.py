"""The C heap of a worker: what a request has freed stays with the process for the next one.

glibc gives the top of its heaps back to the kernel as soon as 128 KiB of it are free, and maps every larger array by
itself. A report that makes a hundred arrays then pays for the same pages a hundred times, in a thread more than in the
main one: up to four fifths of its time.

What a heavy request leaves behind is given back all the same, a moment later: a worker that once held two gigabytes
should not hold them until it is restarted.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

TRIM_THRESHOLD_BYTES: Final = 64 * 1024 * 1024
"""At most, free at the top of each heap."""
MAPPED_FROM_BYTES: Final = 16 * 1024 * 1024
"""Larger blocks have pages of their own, which go back at once."""
HEAPS: Final = 1
"""Of all threads together: the interpreter lets them allocate one after the other anyway, and what is free at the top
of any other heap than the first never goes back."""


def configure_malloc() -> None:
    """Set up before the process has threads; elsewhere than on glibc nothing happens."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for parameter, value in (
        (_M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES),
        (_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES),
        (_M_ARENA_MAX, HEAPS),
    ):
        mallopt(parameter, value)


POLL_INTERVAL_S: Final = 15.0
TRIM_ABOVE_RSS_BYTES: Final = 200 * 1024 * 1024
"""A worker at rest has about half of this."""
MIN_CHANGE_BYTES: Final = 48 * 1024 * 1024
MAX_WAIT_S: Final = 3600.0
"""Every request waits while the only heap is trimmed. So a worker is trimmed at once when it has grown by so much, and
else after twice the wait of the last trim that gave less than that: one that simply needs more is left alone."""


async def give_memory_back_for_ever() -> None:
    """Now and then, where the process holds much more than it needs at rest."""
    left_bytes, waited_s, wait_s = 0, 0.0, POLL_INTERVAL_S
    while True:
        await asyncio.sleep(POLL_INTERVAL_S)
        waited_s += POLL_INTERVAL_S
        held_bytes = resident_bytes()
        if held_bytes <= TRIM_ABOVE_RSS_BYTES:
            left_bytes, wait_s = 0, POLL_INTERVAL_S
        elif held_bytes > left_bytes + MIN_CHANGE_BYTES or waited_s >= wait_s:
            await asyncio.to_thread(trim_heap)
            left_bytes, waited_s = resident_bytes(), 0.0
            wait_s = POLL_INTERVAL_S if held_bytes - left_bytes > MIN_CHANGE_BYTES else min(2 * wait_s, MAX_WAIT_S)


def trim_heap() -> None:
    """Returns free memory to the kernel: of Python's objects, of pyarrow's buffers, of the C heap."""
    gc.collect()
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """Resident memory of the process; 0 where the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
