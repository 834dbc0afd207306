"""A caller that leaves: what it asked for is not worked out for nobody."""

from __future__ import annotations

import asyncio
from typing import Final

from gridloom.edge.asgi import Receive

LOOK_EVERY_S: Final = 0.25
"""Most answers are there before the second look; only those that take longer pay for a watch."""


class Departure:
    """Cancels the task that works on a request once its caller's connection has ended.

    For requests without a body, or whose body has been read: nobody else may wait for the next message meanwhile.
    """

    __slots__ = ("_is_over", "_receive", "_task", "_watch", "has_left")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._task = asyncio.current_task()
        self._watch: asyncio.Task[None] | None = None
        self._is_over = False
        self.has_left = False

    def begin_watch(self) -> None:
        self._watch = asyncio.ensure_future(self._await_disconnect())

    async def _await_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._is_over and self._task is not None:
            self.has_left = True
            self._task.cancel()

    def work_is_done(self) -> None:
        """From now on only the sending of the answer is left, which `gone` is for."""
        self._is_over = True

    def gone(self) -> asyncio.Task[None]:
        """Done once the caller has left."""
        if self._watch is None:
            self.begin_watch()
        assert self._watch is not None
        return self._watch

    def close(self) -> None:
        self._is_over = True
        if self._watch is not None:
            self._watch.cancel()


class Departures:
    """Requests that are worked on, of which those found at two looks are watched: one timer for all of them."""

    def __init__(self) -> None:
        self._new: dict[Departure, None] = {}
        self._seen_before: dict[Departure, None] = {}
        self._is_looking = False

    def expect(self, receive: Receive) -> Departure:
        departure = Departure(receive)
        self._new[departure] = None
        if not self._is_looking:
            self._look_later()
        return departure

    def work_is_done(self, departure: Departure) -> None:
        departure.work_is_done()
        if departure in self._new:
            del self._new[departure]
        else:
            self._seen_before.pop(departure, None)

    def _look_later(self) -> None:
        self._is_looking = True
        asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._watch_slow_ones)

    def _watch_slow_ones(self) -> None:
        for departure in self._seen_before:
            departure.begin_watch()
        self._seen_before, self._new = self._new, {}
        if self._seen_before:
            self._look_later()
        else:
            self._is_looking = False
