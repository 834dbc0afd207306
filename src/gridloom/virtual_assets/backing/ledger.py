"""What of a physical asset is promised over time, as steps: adding a promise, and finding what stands in its way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Final, TypeVar

from gridloom.kernel.window import Window
from gridloom.virtual_assets.model import Efficiency

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

    def at_least(self, other: Capacity) -> Capacity:
        return Capacity(
            max(self.charge_kw, other.charge_kw),
            max(self.discharge_kw, other.discharge_kw),
            max(self.energy_kwh, other.energy_kwh),
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


@dataclass(frozen=True, slots=True)
class Means:
    """What turns a physical asset's capacity into what it can promise: from when on, its losses, its usable energy."""

    valid_from: datetime
    efficiency: Efficiency
    usable_share: float
    """The part of its energy between its lowest and highest allowed state of charge."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A share of a virtual asset over its life: the power and energy that it stands for, and the losses it admits."""

    window: Window
    share: float
    rated: Capacity
    efficiency: Efficiency

    def asked_of(self, means: Means) -> Capacity:
        """What the share takes of a physical asset.

        Where the physical asset loses more than the virtual one, it must import more to store as much (`η_c` of the
        virtual over that of the physical asset) and hold more to deliver as much (`η_d` likewise); and only the energy
        between its allowed states of charge counts.
        """
        charge_factor = max(1.0, self.efficiency.charge / means.efficiency.charge)
        energy_factor = max(1.0, self.efficiency.discharge / means.efficiency.discharge) / means.usable_share
        return Capacity(
            self.share * self.rated.charge_kw * charge_factor,
            self.share * self.rated.discharge_kw,
            self.share * self.rated.energy_kwh * energy_factor,
        )


def weighed_anew(steps: Sequence[Step], demands: Sequence[Demand], means: Sequence[Means]) -> list[Step]:
    """The steps as all demands together ask for now that the means have changed.

    They may ask for more than there was when they were promised; such a step's limit rises with them. All sequences are
    in the order of time, `means` from before the first demand on.
    """
    edges = {edge for demand in demands for edge in (demand.window.start, demand.window.end)}
    edges |= {edge for step in steps for edge in (step.start, step.end)}
    if not edges:
        return []
    first, last = min(edges), max(edges)
    edges |= {one.valid_from for one in means if first < one.valid_from < last}
    step_starts, means_starts = [step.start for step in steps], [one.valid_from for one in means]
    coming, standing = list(reversed(demands)), list[Demand]()
    weighed = []
    for start, end in pairwise(sorted(edges)):
        while coming and coming[-1].window.start <= start:
            standing.append(coming.pop())
        standing = [demand for demand in standing if demand.window.end > start]
        if not standing:
            continue
        in_force = means[max(0, bisect_right(means_starts, start) - 1)]
        promised = sum((demand.asked_of(in_force) for demand in standing), NOTHING)
        step = _standing(steps, step_starts, start)
        weighed.append(Step(start, end, promised, promised.at_least(step.limit) if step else promised))
    return _joined(weighed)


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
        last = joined[-1] if joined else None
        if last and last.end == step.start and (last.promised, last.limit) == (step.promised, step.limit):
            joined[-1] = replace(joined[-1], end=step.end)
        else:
            joined.append(step)
    return joined
