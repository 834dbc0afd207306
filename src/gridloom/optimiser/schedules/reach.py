"""Energy that goes out of reach with missing energy capacity, as linear bounds of a programme; pure.

When the available part of the energy capacity falls, a part of what is in reach at that moment stays behind; when it
rises, a part of that comes back. So what is out of reach in a period is a sum of parts of the energies stored before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from gridloom.optimiser.solving.programme import EnergyTies, Floats
from gridloom.virtual_assets.energy.projection import Projection, ProjectionInput, find_moves
from gridloom.virtual_assets.energy.trajectory import energy_changes_kwh


@dataclass(slots=True)
class _Unreachable:
    """`constant_kwh` + Σ weight × energy at the end of a period of the window."""

    constant_kwh: float
    weights: dict[int, float] = field(default_factory=dict)

    def move(self, before: float, after: float, period: int, further_kwh: float) -> _Unreachable:
        """Once the available part goes from `before` to `after`; `further_kwh` is stored beyond what that period ends
        with."""
        taken = 1 - after / before if after < before else 0.0
        kept = 1 - taken if after < before else 1 - (after - before) / (1 - before)
        weights = {at: kept * weight for at, weight in self.weights.items()}
        if taken:
            weights[period] = weights.get(period, 0.0) + taken
        return _Unreachable(kept * self.constant_kwh + taken * further_kwh, weights)


@dataclass(slots=True)
class _Ties:
    rows: list[dict[int, float]] = field(default_factory=list)
    lowest_kwh: list[float] = field(default_factory=list)
    highest_kwh: list[float] = field(default_factory=list)

    def add(self, period: int, unreachable: _Unreachable, lowest_kwh: float, highest_kwh: float) -> None:
        """The energy at the end of this period, less what is out of reach, is within these bounds."""
        terms = {at: -weight for at, weight in unreachable.weights.items()}
        terms[period] = terms.get(period, 0.0) + 1.0
        self.rows.append(terms)
        self.lowest_kwh.append(lowest_kwh + unreachable.constant_kwh)
        self.highest_kwh.append(highest_kwh + unreachable.constant_kwh)

    def build(self) -> EnergyTies:
        return EnergyTies(
            np.array([row for row, terms in enumerate(self.rows) for _ in terms], dtype=np.int64),
            np.array([period for terms in self.rows for period in terms], dtype=np.int64),
            np.array([weight for terms in self.rows for weight in terms.values()]),
            np.array(self.lowest_kwh),
            np.array(self.highest_kwh),
        )


def tie_reach(inputs: ProjectionInput, projection: Projection, window: slice) -> EnergyTies | None:
    """Of the periods of a window, and of what is scheduled after it; None where all is in reach, whatever is stored."""
    reach = inputs.reach
    if reach is None:
        return None
    ties, last = _Ties(), window.stop - window.start - 1
    unreachable = _Unreachable(float(projection.unreachable_kwh[window.start]))
    edges = [window.start, *(at for at in find_moves(reach) if at > window.start), len(inputs)]
    moved_kwh = _sum_changes_kwh(inputs, projection, window.stop)
    for start, end in _list_pairs(edges):
        if start > window.start:
            before, after = reach.fraction[start : start + 2].tolist()
            is_inside = start <= window.stop
            period = start - 1 - window.start if is_inside else last
            further_kwh = 0.0 if is_inside else float(moved_kwh[start - window.stop])
            unreachable = unreachable.move(before, after, period, further_kwh)
        for at in range(start, min(end, window.stop)):
            bounds = float(inputs.lowest_kwh[at]), float(inputs.highest_kwh[at])
            ties.add(at - window.start, unreachable, *bounds)
        low = max(start, window.stop)
        if low < end:
            later = slice(low, end)
            beyond_kwh = moved_kwh[low + 1 - window.stop : end + 1 - window.stop]
            lowest_kwh = float((inputs.lowest_kwh[later] - beyond_kwh).max())
            ties.add(last, unreachable, lowest_kwh, float((inputs.highest_kwh[later] - beyond_kwh).min()))
    return ties.build()


def _list_pairs(edges: Sequence[int]) -> list[tuple[int, int]]:
    return [(low, high) for low, high in pairwise(edges) if low < high]


def _sum_changes_kwh(inputs: ProjectionInput, projection: Projection, first: int) -> Floats:
    """By what all that is scheduled from the period `first` on has moved the energy, before each period and at last."""
    changes_kwh = energy_changes_kwh(projection.total_kw[first:], inputs.efficiency)
    return np.concatenate([[0.0], np.cumsum(changes_kwh)])
