"""Solver slots in each worker: threads of their own, turns by organisation, and work dropped with its connection."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar
from uuid import UUID

from gridloom.kernel.fair_queue import FairQueue
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.shares import Share, ShareLimits
from gridloom.optimiser.solving.linear import Deadline
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request
from gridloom.platform.http.shares import ShareUse

T = TypeVar("T")

SOLVER_TIMEOUT_S: Final = 5.0
LONG_NICENESS: Final = 5
MAX_SHORT_PERIODS: Final = 200
"""Two market days of one asset: what is longer waits behind what is not."""


class SolverTurn:
    """One slot, for as long as its work lasts."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def solve(self, work: Callable[[Deadline], T], seconds: float = SOLVER_TIMEOUT_S) -> T:
        """The work's result, made in a solver's thread; when this is cancelled, the work is stopped."""
        deadline = Deadline(seconds)

        def begin() -> T:
            deadline.begin()
            return work(deadline)

        solving = asyncio.get_running_loop().run_in_executor(self._threads, begin)
        # Work that is stopped because its caller has gone ends with an exception that no task awaits: no error to log.
        solving.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        try:
            return await asyncio.shield(solving)
        finally:
            deadline.stop()
            with suppress(BaseException):  # the thread may take a moment to notice, and holds its slot until then
                await asyncio.wait([solving])


class SolverQueue:
    """Optimisations, valuations and forecasts of one worker, each at a slot that its organisation has its turn at."""

    def __init__(self, limits: ShareLimits) -> None:
        self._limits = limits
        slots = limits.computations_running + 1
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="solver")
        self._long_threads = ThreadPoolExecutor(
            slots, thread_name_prefix="long solver", initializer=run_behind_short_work
        )
        self.queue = FairQueue(
            Share.COMPUTATIONS,
            slots=slots,
            max_running=limits.computations_running,
            max_waiting=limits.computations_waiting,
        )

    async def run(self, request: Request, work: Callable[[SolverTurn], Awaitable[T]], *, is_long: bool = False) -> T:
        """The result of the work once its organisation has a slot; reading its inputs is part of it.

        The work is cancelled, or never begun, when the caller closes the connection or the request is given up.
        """
        return await _unless_disconnected(request, self._run_in_turn(request, work, is_long))

    @asynccontextmanager
    async def turn(self, request: Request, *, is_long: bool = False) -> AsyncIterator[SolverTurn]:
        """A slot for the length of the block. For reads, which are cancelled with their connection as they are."""
        async with self.queue.slot(request.holder, is_long=is_long):
            yield SolverTurn(self._long_threads if is_long else self._threads)

    async def _run_in_turn(self, request: Request, work: Callable[[SolverTurn], Awaitable[T]], is_long: bool) -> T:
        async with self.turn(request, is_long=is_long) as turn:
            return await work(turn)

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        return ShareUse(
            used=self.queue.count_running(organisation_id),
            limit=self._limits.computations_running,
            waiting=self.queue.count_waiting(organisation_id),
            max_waiting=self._limits.computations_waiting,
        )

    def close(self) -> None:
        for threads in (self._threads, self._long_threads):
            threads.shutdown(wait=False, cancel_futures=True)


def run_behind_short_work() -> None:
    """Lower the priority of this thread alone, which Linux can do: what is short, and requests, go on beside it."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.nice(0) + LONG_NICENESS)


async def _unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, which is cancelled when the caller closes the connection."""
    working = asyncio.ensure_future(work)
    watched: list[asyncio.Future[Any]] = [working]
    if request.receive is not None:
        watched.append(asyncio.ensure_future(request.wait_for_disconnect()))
    try:
        await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise BadRequest("The connection closed before the answer was made.")
        return working.result()
    finally:
        for task in watched:
            task.cancel()
        with suppress(BaseException):
            await asyncio.wait(watched)
