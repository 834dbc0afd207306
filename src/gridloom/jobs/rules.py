"""When a failed job is tried again."""

from __future__ import annotations

from datetime import timedelta

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 3600.0
SPREAD = 0.2


def pause_after(failures: int, spread: float) -> timedelta:
    """1 s, 2 s, 4 s … at most an hour, each shifted by up to ±20 % so that what failed together does not return
    together.

    `failures` counts from 1; `spread` is a random number in [−1, 1].
    """
    assert failures >= 1
    assert -1.0 <= spread <= 1.0
    pause_s = min(FIRST_PAUSE_S * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_S)
    return timedelta(seconds=pause_s * (1 + SPREAD * spread))
