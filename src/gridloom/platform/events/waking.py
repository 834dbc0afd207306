"""Waking many streams: a slice at a time and by turns of their organisations, so that requests run in between."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Final

SLICE: Final = 25
PAUSE_S: Final = 0.005


class Waker:
    """Sets the events that streams wait for. An event that is due already is set once."""

    def __init__(self) -> None:
        self._due: OrderedDict[Hashable, dict[asyncio.Event, None]] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def wake(self, organisation: Hashable, events: Iterable[asyncio.Event]) -> None:
        due = dict.fromkeys(events)
        if not due:
            return
        self._due.setdefault(organisation, {}).update(due)
        if self._task is None:
            self._wake_slice()
            if self._due:
                self._task = asyncio.create_task(self._wake_others(), name="wake streams")

    async def _wake_others(self) -> None:
        while self._due:
            await asyncio.sleep(PAUSE_S)
            self._wake_slice()
        self._task = None

    def _wake_slice(self) -> None:
        for _ in range(SLICE):
            if not self._due:
                return
            organisation, events = self._due.popitem(last=False)
            event, _ = events.popitem()
            event.set()
            if events:
                self._due[organisation] = events
