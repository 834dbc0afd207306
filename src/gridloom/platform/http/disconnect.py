"""Clients that disconnect: the work on their requests is cancelled."""

from __future__ import annotations

import asyncio
from typing import Final

from gridloom.platform.http.request import Receive, await_disconnect

POLL_INTERVAL_S: Final = 0.25
"""Only a request that runs through two polls is watched; most are done before."""


class DisconnectWatch:
    """Cancels the request's task when the client disconnects.

    Only for requests without a body, or whose body has been read: ASGI allows one reader of `receive()`.
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
        await await_disconnect(self._receive)
        if not self._is_over and self._task is not None:
            self.has_left = True
            self._task.cancel()

    def work_is_done(self) -> None:
        """From now on only the response is sent, which `gone` is for."""
        self._is_over = True

    def gone(self) -> asyncio.Task[None]:
        """Done once the client has disconnected."""
        if self._watch is None:
            self.begin_watch()
        assert self._watch is not None
        return self._watch

    def close(self) -> None:
        self._is_over = True
        if self._watch is not None:
            self._watch.cancel()


class DisconnectWatcher:
    """Watches requests that take longer than 0.25–0.5 s. One shared timer serves all, so that a fast request creates no
    timer and no task of its own."""

    def __init__(self) -> None:
        self._new: dict[DisconnectWatch, None] = {}
        self._seen_before: dict[DisconnectWatch, None] = {}
        self._is_polling = False

    def expect(self, receive: Receive) -> DisconnectWatch:
        watch = DisconnectWatch(receive)
        self._new[watch] = None
        if not self._is_polling:
            self._poll_later()
        return watch

    def work_is_done(self, watch: DisconnectWatch) -> None:
        watch.work_is_done()
        if watch in self._new:
            del self._new[watch]
        else:
            self._seen_before.pop(watch, None)

    def _poll_later(self) -> None:
        self._is_polling = True
        asyncio.get_running_loop().call_later(POLL_INTERVAL_S, self._start_watches)

    def _start_watches(self) -> None:
        for watch in self._seen_before:
            watch.begin_watch()
        self._seen_before, self._new = self._new, {}
        self._is_polling = False
        if self._seen_before:
            self._poll_later()
