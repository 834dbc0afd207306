"""The C heap of a worker: what a request has freed stays with the process for the next one.

glibc gives the top of its heaps back to the kernel as soon as 128 KiB of it are free, and maps every larger array by
itself. A report that makes a hundred arrays then pays for the same pages a hundred times, in a thread more than in the
main one: up to four fifths of its time.
"""

from __future__ import annotations

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

KEPT_BYTES: Final = 64 * 1024 * 1024
"""At most, free at the top of each heap."""
MAPPED_FROM_BYTES: Final = 16 * 1024 * 1024
"""What is larger has pages of its own, which go back at once."""
HEAPS: Final = 2
"""One for the event loop, one for the threads: the interpreter lets them allocate one after the other anyway."""


def keep_freed_memory() -> None:
    """Set up before the process has threads; elsewhere than on glibc nothing happens."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for parameter, value in (
        (_M_TRIM_THRESHOLD, KEPT_BYTES),
        (_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES),
        (_M_ARENA_MAX, HEAPS),
    ):
        mallopt(parameter, value)
