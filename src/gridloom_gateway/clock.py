"""The time of business: the machine's own clock, or the sandbox's; and how far it is from the service's."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from gridloom_client import Client
from gridloom_gateway.files import replace_file

TOLD_OFFSET_S: Final = 2.0
MAX_OFFSET_S: Final = 60.0
SHIFT_TOLERANCE_S: Final = 0.5
PERIOD: Final = timedelta(minutes=15)


class _Clock:
    """Added to the machine's clock: 0 but in a sandbox, whose clock is its own. One for the process, since samples
    without a time of their own are of now."""

    def __init__(self) -> None:
        self.shift_s = 0.0


_clock = _Clock()


def now() -> datetime:
    return datetime.fromtimestamp(time.time() + _clock.shift_s, UTC)


def now_us() -> int:
    return int((time.time() + _clock.shift_s) * 1_000_000)


def period_of(instant: datetime) -> datetime:
    """The start of the quarter-hour."""
    return instant.replace(minute=instant.minute - instant.minute % 15, second=0, microsecond=0)


class ClockComparison:
    """Bounds of how far the machine's clock is ahead of the service's, from the whole seconds of its `Date` headers.

    An answer of second d, asked for at a and received at b, says that the offset lies between a − d − 1 and b − d.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.low_s, self.high_s = float("-inf"), float("inf")

    def compare(self, asked_s: float, received_s: float, date: str) -> None:
        sent_s = parsedate_to_datetime(date).timestamp()
        low_s, high_s = asked_s - sent_s - 1, received_s - sent_s
        with self._lock:
            low, high = max(low_s, self.low_s), min(high_s, self.high_s)
            # Bounds that exclude each other: one of the clocks was set meanwhile.
            self.low_s, self.high_s = (low, high) if low <= high else (low_s, high_s)

    @property
    def offset_s(self) -> float:
        """The least that it can be; 0 while nothing is known."""
        with self._lock:
            if self.low_s > 0:
                return self.low_s
            return min(self.high_s, 0.0)

    @property
    def is_told(self) -> bool:
        return abs(self.offset_s) > TOLD_OFFSET_S

    @property
    def is_too_far(self) -> bool:
        return abs(self.offset_s) > MAX_OFFSET_S


def compare_clocks(client: Client, comparison: ClockComparison) -> None:
    """Ask the service for its time."""
    asked_s = time.time()
    answer = client.call("GET", "/health/live")
    if date := answer.headers.get("date"):
        comparison.compare(asked_s, time.time(), date)


class SandboxClock:
    """The sandbox's clock in place of the machine's; how far it was ahead is kept for a start without the line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_known = False
        with suppress(OSError, ValueError):
            _clock.shift_s = float(json.loads(path.read_bytes()))
            self.is_known = True

    def follow(self, client: Client) -> bool:
        """Whether it was moved."""
        asked_s = time.time()
        seen = client.sandbox.clock()
        shift_s = seen.now.timestamp() - (asked_s + time.time()) / 2
        if self.is_known and abs(shift_s - _clock.shift_s) <= SHIFT_TOLERANCE_S:
            return False
        self.is_known = True
        _clock.shift_s = shift_s
        replace_file(self._path, json.dumps(shift_s).encode(), is_durable=False)
        return True
