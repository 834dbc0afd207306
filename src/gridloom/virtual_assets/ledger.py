"""What of a physical asset is promised over time, as steps: adding a promise, and finding what stands in its way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Final, TypeVar

from gridloom.kernel.window import Window

TOLERANCE: Final = 1e-6  # of a kW or kWh: what dividing by shares leaves behind


@dataclass(frozen=True, slots=True)
class Capacity:
    """Power in both directions and energy, of what is there, promised or asked for."""

    charge_kw: float
    discharge_kw: float
    energy_kwh: float

    def __add__(self, other: Capacity) -> Capacity:
        return Capacity(
            self.charge_kw + other.charge_kw, self.discharge_kw + other.discharge_kw, self.energy_kwh + other.energy_kwh
        )

    def __sub__(self, other: Capacity) -> Capacity:
        return Capacity(
            self.charge_kw - other.charge_kw, self.discharge_kw - other.discharge_kw, self.energy_kwh - other.energy_kwh
        )

    def covers(self, other: Capacity) -> bool:
        return (
            other.charge_kw <= self.charge_kw + TOLERANCE
            and other.discharge_kw <= self.discharge_kw + TOLERANCE
            and other.energy_kwh <= self.energy_kwh + TOLERANCE
        )


NOTHING: Final = Capacity(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Step:
    """From `start` to `end`, `promised` of what was available when it was promised (`limit`)."""

    start: datetime
    end: datetime
    promised: Capacity
    limit: Capacity


@dataclass(frozen=True, slots=True)
class Available:
    """What a physical asset has from `start` to `end`, whatever is promised."""

    start: datetime
    end: datetime
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first time at which too little is free."""

    start: datetime
    end: datetime
    free: Capacity
    promised: Capacity
    available: Capacity


def promise(
    steps: Sequence[Step], available: Sequence[Available], window: Window, asked: Capacity
) -> list[Step] | Shortage:
    """The steps that replace those touching the window once `asked` is promised over it; or why it cannot be.

    `steps` are those that touch the window, `available` covers it without a gap; both in the order of time.
    """
    edges = {window.start, window.end}
    pieces: list[Step | Available] = [*steps, *available]
    for known in pieces:
        edges |= {edge for edge in (known.start, known.end) if edge in window}
    step_starts, available_starts = [step.start for step in steps], [piece.start for piece in available]
    replaced: list[Step] = []
    for start, end in pairwise(sorted(edges)):
        step, piece = _standing(steps, step_starts, start), _standing(available, available_starts, start)
        promised = step.promised if step else NOTHING
        there = piece.capacity if piece else NOTHING
        free = there - promised
        if not free.covers(asked):
            return Shortage(start, end, free, promised, there)
        replaced.append(Step(start, end, promised + asked, there))
    kept = [replace(step, end=window.start) for step in steps if step.start < window.start]
    kept += [replace(step, start=window.end) for step in steps if step.end > window.end]
    return sorted(_joined(replaced) + kept, key=lambda step: step.start)


S = TypeVar("S", Step, Available)


def _standing(pieces: Sequence[S], starts: Sequence[datetime], moment: datetime) -> S | None:
    place = bisect_right(starts, moment) - 1
    return pieces[place] if place >= 0 and moment < pieces[place].end else None


def _joined(steps: Sequence[Step]) -> list[Step]:
    joined: list[Step] = []
    for step in steps:
        if joined and (joined[-1].promised, joined[-1].limit) == (step.promised, step.limit):
            joined[-1] = replace(joined[-1], end=step.end)
        else:
            joined.append(step)
    return joined
