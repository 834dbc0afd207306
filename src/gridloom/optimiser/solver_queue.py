"""One solver in each worker: a thread of its own, a short queue before it, and work dropped when nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from gridloom.edge import Call
from gridloom.kernel.problem import BadRequest, Problem
from gridloom.optimiser.solving.linear import Deadline

T = TypeVar("T")

MOST_WAITING: Final = 8
"""With five seconds each, the last of them waits less than a minute; what they hold in memory is bounded too."""
SOLVING_S: Final = 5.0


class SolverBusy(Problem):
    """The solver of this worker has as much waiting as it takes. `Retry-After` says when to ask again."""

    status = 503
    title = "The solver is busy"

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": "2"}


class SolverQueue:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="solver")
        self._held = 0

    async def run(self, work: Callable[[Deadline], T], call: Call | None, seconds: float = SOLVING_S) -> T:
        """The work's result, made in the solver's thread when its turn comes; its time counts from then on.

        The work is stopped, or never begun, when the caller closes the connection or the request is given up.
        """
        if self._held >= MOST_WAITING:
            raise SolverBusy(f"{self._held} requests are waiting for it.")
        deadline = Deadline(seconds)

        def begin() -> T:
            deadline.begin()
            return work(deadline)

        self._held += 1
        solving = asyncio.get_running_loop().run_in_executor(self._thread, begin)
        watched: list[asyncio.Future[Any]] = [solving]
        if call is not None and call.receive is not None:
            watched.append(asyncio.ensure_future(call.left()))
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if not solving.done():
                raise BadRequest("The connection closed before the answer was made.")
            return solving.result()
        finally:
            deadline.stop()
            for task in watched:
                task.cancel()
            with suppress(BaseException):  # the thread may take a moment to notice; nobody needs what it says
                await asyncio.wait(watched)
            self._held -= 1

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
