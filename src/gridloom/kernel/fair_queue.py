"""A few slots for work: round robin by organisation, short work before long, never first come, first served."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from gridloom.kernel.shares import Share, ShareExceeded

MAX_SHORT_IN_A_ROW: Final = 4
"""After so many short ones a long one that waits has its turn."""
_NEWEST_WEIGHT: Final = 0.2


@dataclass(eq=False, slots=True)
class _Waiter:
    holder: Hashable | None
    is_long: bool
    turn: asyncio.Future[None]


@dataclass(slots=True)
class _Line:
    """The queue of one holder."""

    short: deque[_Waiter] = field(default_factory=deque)
    long: deque[_Waiter] = field(default_factory=deque)

    def __len__(self) -> int:
        return len(self.short) + len(self.long)

    def of(self, is_long: bool) -> deque[_Waiter]:
        return self.long if is_long else self.short


class FairQueue:
    """Admits `slots` pieces of work at a time, at most `max_running` of one holder, of whom `max_waiting` more wait.

    A holder is an organisation; None is exempt from all limits. `max_running` is below `slots`, so one organisation
    alone never fills them all. Of what is long, `max_long` pieces of one holder run at a time.
    """

    def __init__(
        self, share: Share, *, slots: int, max_running: int, max_waiting: int, max_long: int | None = None
    ) -> None:
        assert 0 < max_running < slots, "one organisation must leave a slot to the others"
        self._share = share
        self._free = slots
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._max_long = max_running if max_long is None else max_long
        self._running_long: Counter[Hashable | None] = Counter()
        self._running: Counter[Hashable | None] = Counter()
        self._lines: OrderedDict[Hashable | None, _Line] = OrderedDict()
        self._short_in_a_row = 0
        self._typical_s = 1.0

    def count_running(self, holder: Hashable) -> int:
        return self._running[holder]

    def count_waiting(self, holder: Hashable) -> int:
        return len(self._lines.get(holder, ()))

    def has_waiting(self) -> bool:
        return bool(self._lines)

    @asynccontextmanager
    async def slot(self, holder: Hashable | None, *, is_long: bool = False) -> AsyncIterator[None]:
        """A slot for the length of the block, once it is the holder's turn; 429 where too many of its wait."""
        await self._await_turn(holder, is_long)
        began = time.monotonic()
        try:
            yield
        finally:
            self._typical_s += _NEWEST_WEIGHT * (time.monotonic() - began - self._typical_s)
            self._release_slot(holder, is_long)

    async def _await_turn(self, holder: Hashable | None, is_long: bool) -> None:
        waiter = _Waiter(holder, is_long, asyncio.get_running_loop().create_future())
        line = self._lines.setdefault(holder, _Line())
        line.of(is_long).append(waiter)
        self._start_next()
        if waiter.turn.done():
            return
        if holder is not None and len(line) > self._max_waiting:
            self._remove_waiter(waiter)
            raise ShareExceeded(
                self._share,
                self._max_running,
                f"Your organisation has {self._max_running} running and {self._max_waiting} waiting here.",
                self._typical_s,
            )
        try:
            await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled():
                self._release_slot(holder, is_long)
            else:
                self._remove_waiter(waiter)
            raise

    def _remove_waiter(self, waiter: _Waiter) -> None:
        line = self._lines[waiter.holder]
        line.of(waiter.is_long).remove(waiter)
        if not len(line):
            del self._lines[waiter.holder]

    def _release_slot(self, holder: Hashable | None, is_long: bool) -> None:
        self._free += 1
        for running in (self._running, self._running_long) if is_long else (self._running,):
            running[holder] -= 1
            if not running[holder]:
                del running[holder]
        self._start_next()

    def _start_next(self) -> None:
        while self._free:
            waiter = self._choose_next()
            if waiter is None:
                return
            self._remove_waiter(waiter)
            if waiter.holder in self._lines:
                self._lines.move_to_end(waiter.holder)
            self._free -= 1
            self._running[waiter.holder] += 1
            if waiter.is_long:
                self._running_long[waiter.holder] += 1
            self._short_in_a_row = 0 if waiter.is_long else self._short_in_a_row + 1
            waiter.turn.set_result(None)

    def _choose_next(self) -> _Waiter | None:
        """Of the holders below their limit, in the order of their turns, the first with short work."""
        lines = [line for holder, line in self._lines.items() if self._may_start(holder)]
        short = next((line.short[0] for line in lines if line.short), None)
        long = next((line.long[0] for line in lines if line.long and self._may_start_long(line.long[0].holder)), None)
        if long is not None and self._short_in_a_row >= MAX_SHORT_IN_A_ROW:
            return long
        return short or long

    def _may_start(self, holder: Hashable | None) -> bool:
        return holder is None or self._running[holder] < self._max_running

    def _may_start_long(self, holder: Hashable | None) -> bool:
        return holder is None or self._running_long[holder] < self._max_long
