"""How much work on columns runs at the same time: heavy work in a few threads, and reads of one organisation in turn.

However much one organisation reads at once, another's read does not wait behind all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

P = ParamSpec("P")
R = TypeVar("R")

HEAVY_BYTES: Final = 512 * 1024
"""Parsing less than this is over before a thread would have woken up."""
HEAVY_POINTS: Final = 50_000
HEAVY_SIGNALS: Final = 256
"""The work on a single signal takes microseconds, and there may be thousands."""
THREADS: Final = 2
MAX_CONCURRENT_READS: Final = 2
"""Reads of one organisation that unpack points at the same time, in one process."""

_semaphores: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()


@cache
def _make_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="telemetry")


async def off_loop(is_heavy: bool, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Inline if it is light; in one of the few threads if it is heavy."""
    if not is_heavy:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_make_executor(), lambda: work(*args, **kwargs))


def read_semaphore_of(organisation_id: UUID) -> asyncio.Semaphore:
    """Held while one piece of an answer is read; it exists while a request of the organisation reads."""
    semaphore = _semaphores.get(organisation_id)
    if semaphore is None:
        semaphore = _semaphores[organisation_id] = asyncio.Semaphore(MAX_CONCURRENT_READS)
    return semaphore


async def hold_for_each(semaphore: asyncio.Semaphore, steps: AsyncIterator[R]) -> AsyncIterator[R]:
    """The same steps, each made under the semaphore; the consumer does not hold it between them."""
    while True:
        async with semaphore:
            step = await anext(steps, None)
        if step is None:
            return
        yield step
