"""Heavy work on columns in a thread of its own: the event loop stays free, and only so much runs at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

HEAVY_BYTES: Final = 512 * 1024
"""Parsing less than this is over before a thread would have woken up."""
HEAVY_POINTS: Final = 50_000
HEAVY_SIGNALS: Final = 256
"""What is done for each signal by itself takes microseconds, and there may be thousands."""
THREADS: Final = 2


@cache
def _make_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="telemetry")


async def off_loop(is_heavy: bool, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Here and now if it is light; in one of the few threads if it is heavy."""
    if not is_heavy:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_make_executor(), lambda: work(*args, **kwargs))
