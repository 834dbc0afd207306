"""Those that take long, found by one timer for all: most are done long before a timer of their own would ring."""

from __future__ import annotations

import asyncio
from typing import Final, Generic, Protocol, TypeVar

POLL_INTERVAL_S: Final = 0.25
"""Most are done before the second look; only those that take longer pay for a watch."""


class WatchTarget(Protocol):
    def begin_watch(self) -> None: ...


W = TypeVar("W", bound=WatchTarget)


class SlowRequestWatchdog(Generic[W]):
    """Those that are under way, of which the ones found at two looks are watched."""

    def __init__(self) -> None:
        self._new: dict[W, None] = {}
        self._seen_before: dict[W, None] = {}
        self._is_scanning = False

    def add(self, one: W) -> None:
        self._new[one] = None
        if not self._is_scanning:
            self._scan_later()

    def remove(self, one: W) -> None:
        if one in self._new:
            del self._new[one]
        else:
            self._seen_before.pop(one, None)

    def _scan_later(self) -> None:
        self._is_scanning = True
        asyncio.get_running_loop().call_later(POLL_INTERVAL_S, self._watch_slow_ones)

    def _watch_slow_ones(self) -> None:
        for one in self._seen_before:
            one.begin_watch()
        self._seen_before, self._new = self._new, {}
        if self._seen_before:
            self._scan_later()
        else:
            self._is_scanning = False
