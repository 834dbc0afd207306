"""A caller that leaves: what it asked for is not worked out for nobody."""

from __future__ import annotations

import asyncio
from typing import Final

from gridloom.edge.asgi import Receive

WATCHED_AFTER_S: Final = 0.25
"""Most answers are there before; only those that take longer pay for the watch."""


class Departure:
    """Cancels the task that works on a request once its caller's connection has ended.

    For requests without a body, or whose body has been read: nobody else may wait for the next message meanwhile.
    """

    __slots__ = ("_handle", "_is_over", "_receive", "_task", "_watch", "has_left")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._task = asyncio.current_task()
        self._watch: asyncio.Task[None] | None = None
        self._is_over = False
        self.has_left = False
        self._handle = asyncio.get_running_loop().call_later(WATCHED_AFTER_S, self._begin)

    def _begin(self) -> None:
        self._watch = asyncio.ensure_future(self._wait())

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._is_over and self._task is not None:
            self.has_left = True
            self._task.cancel()

    def work_is_done(self) -> None:
        """From now on only the sending of the answer is left, which `gone` is for."""
        self._is_over = True
        self._handle.cancel()

    def gone(self) -> asyncio.Task[None]:
        """Done once the caller has left."""
        if self._watch is None:
            self._begin()
        assert self._watch is not None
        return self._watch

    def close(self) -> None:
        self.work_is_done()
        if self._watch is not None:
            self._watch.cancel()
