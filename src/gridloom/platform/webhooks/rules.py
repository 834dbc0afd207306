"""When a delivery is tried again, and when it is given up."""

from __future__ import annotations

from datetime import datetime, timedelta

MAX_DELIVERY_AGE = timedelta(days=3)

RETRY_DELAYS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 30, 120, 600, 1800, 3600, 2 * 3600, 4 * 3600, 6 * 3600, 8 * 3600, 12 * 3600)
)
SPREAD = 0.1


def next_attempt(now: datetime, failures: int, give_up_at: datetime, spread: float) -> datetime | None:
    """When to try again after so many failures; None when the three days are over.

    5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 6 h, 8 h, then every 12 h, each ±10 % (`spread` is random in
    [−1, 1]); the last attempt is made when the time is up, so a receiver that comes back in time misses nothing.
    """
    assert failures >= 1
    if now >= give_up_at:
        return None
    pause = RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1]
    return min(now + pause * (1 + SPREAD * spread), give_up_at)


def is_accepted(status: int) -> bool:
    return 200 <= status < 300


GONE = 410
"""The status of a receiver that wants no more calls."""
