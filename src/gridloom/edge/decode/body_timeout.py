"""Waiting for the next piece of a body, but not for ever."""

from __future__ import annotations

import asyncio


class BodyReadTimeout:
    """Cancels the task that waits for a body once the moment has passed until which its next piece is waited for.

    `until_s` is by the clock of the event loop, and may be put off at any time.
    """

    __slots__ = ("_cancelled_before", "_has_expired", "_task", "_timer", "until_s")

    def __init__(self, until_s: float) -> None:
        task = asyncio.current_task()
        assert task is not None, "somebody waits"
        self._task = task
        self._cancelled_before = task.cancelling()
        self._timer: asyncio.TimerHandle | None = None
        self._has_expired = False
        self.until_s = until_s

    def begin_watch(self) -> None:
        self._timer = asyncio.get_running_loop().call_at(self.until_s, self._end_waiting)

    def _end_waiting(self) -> None:
        if asyncio.get_running_loop().time() < self.until_s:
            self.begin_watch()
            return
        self._has_expired = True
        self._task.cancel()

    def end_now(self) -> None:
        """Wait no longer, whatever `until_s` says."""
        if not self._has_expired:
            self._has_expired = True
            self._task.cancel()

    def is_why_cancelled(self) -> bool:
        """For the task that has been cancelled: whether that was for this alone; then it goes on."""
        return self._has_expired and self._task.uncancel() <= self._cancelled_before

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
