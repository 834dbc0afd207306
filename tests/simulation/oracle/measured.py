"""Measured power of a quarter-hour (contract 12): the mean over its own samples, each valid until the next one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from statistics import median

from tests.simulation.market import day_of_quarter, quarters_of_day, start_of_quarter

MIN_HOLD = timedelta(minutes=5)
HOLD_STEPS = 3


def measure_quarter(samples: Mapping[datetime, float], quarter: int) -> tuple[Fraction, Fraction] | None:
    """The part of it that was measured, and the mean power over that part, in kW; None where nothing was measured.

    A sample is valid until the next, at most max(5 minutes, 3 × the median step of its day), and never past its end.
    """
    start, end = start_of_quarter(quarter), start_of_quarter(quarter + 1)
    within = sorted(moment for moment in samples if start <= moment < end)
    if not within:
        return None
    today = quarters_of_day(day_of_quarter(quarter))
    midnights = start_of_quarter(today.start), start_of_quarter(today.stop)
    day = sorted(moment for moment in samples if midnights[0] <= moment < midnights[1])
    steps_s = [(later - earlier).total_seconds() for earlier, later in pairwise(day)]
    longest = max(MIN_HOLD, timedelta(seconds=HOLD_STEPS * median(steps_s))) if steps_s else MIN_HOLD
    held_s = power_s = Fraction(0)
    for moment, following in pairwise([*within, end]):
        seconds = Fraction(min(following - moment, longest) / timedelta(microseconds=1)) / 10**6
        held_s += seconds
        power_s += seconds * Fraction(samples[moment])
    return held_s / Fraction((end - start) / timedelta(seconds=1)), power_s / held_s
