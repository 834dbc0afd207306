"""When a failed job is tried again, and when no more."""

from __future__ import annotations

from datetime import timedelta

FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 300.0
SPREAD = 0.2
STUCK_AFTER = 10
"""Failures in a row from which on a job needs an operator's attention."""
MAX_CRASHES = 10
"""How many processes a job may take along before it is dead-lettered. The pauses between grow, so that what merely ran
beside it gets through long before."""


def pause_after(failures: int, spread: float) -> timedelta:
    """1 s, 2 s, 4 s … at most five minutes, each shifted by up to ±20 % so that what failed together does not return
    together.

    `failures` counts from 1; `spread` is a random number in [−1, 1].
    """
    assert failures >= 1
    assert -1.0 <= spread <= 1.0
    pause_s = min(FIRST_PAUSE_S * 2.0 ** min(failures - 1, 30), MAX_PAUSE_S)
    return timedelta(seconds=pause_s * (1 + SPREAD * spread))


def pause_after_death(crashes: int, spread: float) -> timedelta:
    """None after the first, for a process can die of anything; then as after failures."""
    assert crashes >= 1
    return timedelta() if crashes == 1 else pause_after(crashes - 1, spread)
