"""A caller that leaves: what it asked for is not worked out for nobody."""

from __future__ import annotations

import asyncio

from gridloom.edge.asgi import Receive
from gridloom.edge.watchdog import SlowRequestWatchdog


class DisconnectWatch:
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


class DisconnectWatcher:
    """Requests that are worked on, of which those that take long are watched."""

    def __init__(self) -> None:
        self._slow: SlowRequestWatchdog[DisconnectWatch] = SlowRequestWatchdog()

    def expect(self, receive: Receive) -> DisconnectWatch:
        departure = DisconnectWatch(receive)
        self._slow.add(departure)
        return departure

    def work_is_done(self, departure: DisconnectWatch) -> None:
        departure.work_is_done()
        self._slow.remove(departure)
