"""No test waits for ever: one that is not over after `LIMIT_S` fails where it waits, and the next one has its turn.

The limit is no expectation of how long anything takes. It is many times what the longest test takes alone, so that a
busy machine does not meet it. Where a test cannot be interrupted, `faulthandler_timeout` ends its process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from types import FrameType

import pytest

LIMIT_S = 480
AGAIN_S = 60
"""What interrupts the loop of events may hit another task than the test's: it comes again until the test has ended."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if threading.current_thread() is not threading.main_thread():
        return (yield)
    return (yield from _limit(item.nodeid, LIMIT_S))


def _limit(name: str, seconds: float) -> Generator[None, object, object]:
    def fail(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{name} was not over after {seconds} s; it waited here")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
