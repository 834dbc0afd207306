"""The projection of a virtual asset: its powers after expected cuts, and its stored energy; pure.

Reads, the validation of schedules, gate closure and delivery share one function, `project`. It processes whole arrays
where nothing is cut, and single periods where something is.

Power is signed as everywhere: positive leaves the battery, negative enters it. A cut only ever reduces charging or
discharging and never turns it around.

A cut is announced where it follows from an unavailability that was recorded in time, or from the asset's own cycle
limit. Every other cut counts as delivered, and the virtual store moves as if it was: `scheduled_kw` is what the store
follows, `announced_kw` what counts as delivered, `adjusted_kw` what the batteries are asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from gridloom.capacity.reach import move_reach_of_one
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats, Ints
from gridloom.virtual_assets.energy.trajectory import energy_changes_kwh, exported_kwh, tolerance_kwh
from gridloom.virtual_assets.model import AdjustmentReason, Efficiency

NOISE_KW: Final = POWER_TOLERANCE_KW
"""Powers below a milliwatt are rounding errors."""
_MIN_CHUNK_PERIODS: Final = 32
_UNCUT_BEFORE_VECTORISING: Final = 4
_MAX_CHUNK_PERIODS: Final = 4096
"""Periods in one array: few after a cut, where the next one is likely, then ever more."""


@dataclass(frozen=True, slots=True, eq=False)
class CycleBudget:
    """At most `limit_kwh` may be exported within each group of periods: a market day, or a year.

    `groups` numbers the periods' groups in the order of time; `exported_before_kwh` are the exports of the first
    group before the first period.
    """

    limit_kwh: float
    groups: Ints
    exported_before_kwh: float


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The available part of the energy capacity before the first period and then in each, and the energy that is out
    of reach at the start of the period at `start`; before that, all is in reach."""

    fraction: Floats
    start: int
    unreachable_kwh: float


@dataclass(frozen=True, slots=True, eq=False)
class ProjectionInput:
    """The schedules of all lanes over consecutive periods, and their limits.

    `power_kw`, `charge_kw` and `discharge_kw` have a row for each lane; the latter two are the available power of its
    block, `announced_charge_kw` and `announced_discharge_kw` the same with announced unavailabilities alone; None where
    that is no more. `lowest_kwh` and `highest_kwh` bound the energy in reach at each period's end: zero and the
    available capacity, or less where reserves narrow them. `reach` says what goes out of reach, None where nothing
    does. `energy_kwh` is stored at the start, of `capacity_kwh`. `activated_kwh` is the energy that settled activations
    add in each period, negative where they draw it; `has_activations` is true where they have moved the store in these
    periods, or before. The first `closed` periods are not cut.
    """

    power_kw: Floats
    charge_kw: Floats
    discharge_kw: Floats
    lowest_kwh: Floats
    highest_kwh: Floats
    energy_kwh: float
    capacity_kwh: float
    efficiency: Efficiency
    cycles: Sequence[CycleBudget] = ()
    activated_kwh: Floats | None = None
    closed: int = 0
    announced_charge_kw: Floats | None = None
    announced_discharge_kw: Floats | None = None
    reach: Reach | None = None
    has_activations: bool = False

    @property
    def slack_kwh(self) -> float:
        """The tolerance of all bounds."""
        return tolerance_kwh(self.capacity_kwh)

    @property
    def announced_limits_kw(self) -> tuple[Floats, Floats]:
        """Charging and discharging power of each lane with announced unavailabilities alone."""
        if self.announced_charge_kw is None or self.announced_discharge_kw is None:
            return self.charge_kw, self.discharge_kw
        return self.announced_charge_kw, self.announced_discharge_kw

    def __len__(self) -> int:
        return int(self.power_kw.shape[1])


@dataclass(frozen=True, slots=True)
class Cut:
    """One period's accepted power, summed over all lanes, and its power after the cut; what of the cut the store
    follows, and what is left to deliver after what was announced of it."""

    position: int
    accepted_kw: float
    adjusted_kw: float
    reason: AdjustmentReason
    scheduled_kw: float
    announced_kw: float


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """`power_kw` of each lane as the store follows it; `energy_kwh` at the start of every period and, last, at the end.

    `unreachable_kwh` is the energy out of reach in each period. `unexplained_kwh` is the energy of activations beyond
    the capacity in each period: positive if it was drawn from an empty battery, negative if a full one was charged.
    """

    power_kw: Floats
    energy_kwh: Floats
    cuts: Sequence[Cut]
    unexplained_kwh: Floats
    unreachable_kwh: Floats

    @property
    def total_kw(self) -> Floats:
        return np.asarray(self.power_kw.sum(axis=0))

    @property
    def adjusted_kw(self) -> Floats:
        """After all cuts: what the batteries are asked for."""
        total_kw = self.total_kw
        for cut in self.cuts:
            total_kw[cut.position] = cut.adjusted_kw
        return total_kw

    @property
    def end_kwh(self) -> float:
        return float(self.energy_kwh[-1])


def project(inputs: ProjectionInput) -> Projection:
    """Simulate the schedules forward in time, and cut the power that exceeds a limit.

    A lane is first cut to the available power of its block, then the sum to the remaining cycles and energy, pro rata
    over the lanes of its direction. Stored energy stays within the capacity.
    """
    projector = _ProjectionRun(inputs)
    count = len(inputs)
    position, chunk = 0, _MAX_CHUNK_PERIODS
    while position < count:
        end = min(count, position + chunk, projector.move_reach(position))
        reached = projector.project_vectorised(position, end)
        if reached < end:
            reached, chunk = projector.project_stepwise(reached, end), _MIN_CHUNK_PERIODS
        else:
            chunk = min(2 * chunk, _MAX_CHUNK_PERIODS)
        position = reached
    energy_kwh = np.clip(projector.energy_kwh, 0.0, inputs.capacity_kwh) if count else projector.energy_kwh
    return Projection(
        projector.power_kw, energy_kwh, projector.cuts, projector.unexplained_kwh, projector.unreachable_kwh
    )


@dataclass(slots=True)
class _CycleUse:
    """The exports of the current group of a cycle budget so far."""

    group: int
    exported_kwh: float


@dataclass(slots=True)
class _ProjectionRun:
    """The state of a projection: all periods before its position are computed."""

    inputs: ProjectionInput
    power_kw: Floats = field(init=False)
    total_kw: Floats = field(init=False)
    changes_kwh: Floats = field(init=False)
    energy_kwh: Floats = field(init=False)
    unexplained_kwh: Floats = field(init=False)
    unreachable_kwh: Floats = field(init=False)
    """In each period from the last move on until the next: all that follow hold the last."""
    moves: list[int] = field(init=False)
    cuts: list[Cut] = field(init=False, default_factory=list)
    spent: list[_CycleUse] = field(init=False)

    def __post_init__(self) -> None:
        inputs = self.inputs
        self.power_kw = inputs.power_kw
        self.total_kw = inputs.power_kw.sum(axis=0)
        self.changes_kwh = energy_changes_kwh(self.total_kw, inputs.efficiency)
        if inputs.activated_kwh is not None:
            self.changes_kwh = self.changes_kwh + inputs.activated_kwh
        self.energy_kwh = np.empty(len(inputs) + 1)
        self.energy_kwh[0] = inputs.energy_kwh
        self.unexplained_kwh = np.zeros(len(inputs))
        self.unreachable_kwh = np.zeros(len(inputs))
        self.moves = [] if inputs.reach is None else find_moves(inputs.reach)
        self.spent = [
            _CycleUse(int(rule.groups[0]) if len(rule.groups) else 0, rule.exported_before_kwh)
            for rule in inputs.cycles
        ]

    def move_reach(self, position: int) -> int:
        """Move energy out of reach, or back, at the start of a period; the next period at which that happens."""
        reach = self.inputs.reach
        if reach is None:
            return len(self.inputs)
        index = bisect_left(self.moves, position)
        if index < len(self.moves) and self.moves[index] == position:
            before_kwh = self.unreachable_kwh[position - 1] if position > reach.start else reach.unreachable_kwh
            before, after = reach.fraction[position : position + 2].tolist()
            in_reach_kwh = float(self.energy_kwh[position]) - float(before_kwh)
            self.unreachable_kwh[position:] = move_reach_of_one(in_reach_kwh, float(before_kwh), before, after)
            index += 1
        return self.moves[index] if index < len(self.moves) else len(self.inputs)

    def project_vectorised(self, first: int, end: int) -> int:
        """Project the periods from `first` on as scheduled; the first that exceeds a limit, or `end`."""
        inputs, span = self.inputs, slice(first, end)
        total_kw = self.total_kw[span]
        ends_kwh = self.energy_kwh[first] + np.cumsum(self.changes_kwh[span])
        unreachable_kwh = float(self.unreachable_kwh[first])
        wrong = (ends_kwh < unreachable_kwh - inputs.slack_kwh) | (ends_kwh > inputs.capacity_kwh + inputs.slack_kwh)
        open_from = min(max(inputs.closed - first, 0), end - first)
        is_cut = self._beyond_available(span)
        in_reach_kwh = ends_kwh - unreachable_kwh
        is_cut |= (total_kw < -NOISE_KW) & (in_reach_kwh > inputs.highest_kwh[span] + inputs.slack_kwh)
        is_cut |= (total_kw > NOISE_KW) & (in_reach_kwh < inputs.lowest_kwh[span] - inputs.slack_kwh)
        exported = [self._exported_in_group_kwh(number, span) for number in range(len(self.spent))]
        for rule, running_kwh in zip(inputs.cycles, exported, strict=True):
            is_cut |= (total_kw > NOISE_KW) & (running_kwh > rule.limit_kwh + inputs.slack_kwh)
        is_cut[:open_from] = False
        wrong |= is_cut
        index = int(np.argmax(wrong))
        fitting = index if wrong[index] else end - first
        self.energy_kwh[first + 1 : first + fitting + 1] = ends_kwh[:fitting]
        if fitting:
            for spent, rule, running_kwh in zip(self.spent, inputs.cycles, exported, strict=True):
                spent.group = int(rule.groups[first + fitting - 1])
                spent.exported_kwh = float(running_kwh[fitting - 1])
        return first + fitting

    def project_stepwise(self, position: int, end: int) -> int:
        """Project period by period until a few in a row are not cut, or the end; the first period after them."""
        fitting = 0
        while position < end and fitting < _UNCUT_BEFORE_VECTORISING:
            fitting = 0 if self.step(position) else fitting + 1
            position += 1
        return position

    def step(self, position: int) -> bool:
        """Project one period; whether it is cut or unexplained."""
        inputs = self.inputs
        total_kw = accepted_kw = float(self.total_kw[position])
        activated_kwh = 0.0 if inputs.activated_kwh is None else float(inputs.activated_kwh[position])
        before_kwh = float(self.energy_kwh[position]) + activated_kwh
        if position >= inputs.closed:
            total_kw = self._cut_period(position, before_kwh, accepted_kw)
        after_kwh = before_kwh + _change_kwh(total_kw, inputs.efficiency)
        stored_kwh = min(max(after_kwh, float(self.unreachable_kwh[position])), inputs.capacity_kwh)
        is_unexplained = abs(stored_kwh - after_kwh) > inputs.slack_kwh
        if is_unexplained:
            self.unexplained_kwh[position] = stored_kwh - after_kwh
            after_kwh = stored_kwh
        self.energy_kwh[position + 1] = after_kwh
        for spent, rule in zip(self.spent, inputs.cycles, strict=True):
            self._enter_group(spent, int(rule.groups[position]))
            spent.exported_kwh += max(0.0, total_kw) * QUARTER_HOUR_H
        return is_unexplained or bool(self.cuts and self.cuts[-1].position == position)

    def _cut_period(self, position: int, before_kwh: float, accepted_kw: float) -> float:
        """Cut what does not fit; the power that the store follows."""
        inputs = self.inputs
        lanes_kw, by_power_kw, total_kw, reason = self._fit_power(position, before_kwh)
        scheduled_kw = _reduce_pro_rata(lanes_kw, total_kw)
        left_kw, is_cut = _clip_lanes(scheduled_kw, inputs.charge_kw[:, position], inputs.discharge_kw[:, position])
        if reason is None and not is_cut:
            return total_kw
        # A schedule that was accepted keeps the bounds of the store until its own cuts move it, which are its holder's,
        # or activations do, which settle later: what is cut then counts as delivered, and the store cannot follow that.
        is_of_energy = reason is AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES
        is_owners = is_of_energy and inputs.has_activations and not self._is_reach_reduced(position)
        announced_kw = by_power_kw if is_owners else total_kw
        cut = Cut(
            position,
            accepted_kw,
            float(left_kw.sum()),
            reason or AdjustmentReason.AVAILABILITY,
            total_kw,
            announced_kw,
        )
        self._write_cut(position, scheduled_kw, cut)
        return total_kw

    def _is_reach_reduced(self, position: int) -> bool:
        reach = self.inputs.reach
        return reach is not None and (reach.fraction[position + 1] < 1 or self.unreachable_kwh[position] > 0)

    def _fit_power(self, position: int, before_kwh: float) -> tuple[Floats, float, float, AdjustmentReason | None]:
        """The lanes within the power that announced unavailabilities leave, their sum before and after cuts by cycles
        and energy, and the reason; None if nothing is cut."""
        inputs = self.inputs
        charge_kw, discharge_kw = inputs.announced_limits_kw
        before_kwh -= float(self.unreachable_kwh[position])
        lanes_kw, is_cut = _clip_lanes(self.power_kw[:, position], charge_kw[:, position], discharge_kw[:, position])
        reason = AdjustmentReason.AVAILABILITY if is_cut else None
        total_kw = by_power_kw = float(lanes_kw.sum())
        for spent, rule in zip(self.spent, inputs.cycles, strict=True):
            self._enter_group(spent, int(rule.groups[position]))
            left_kwh = rule.limit_kwh - spent.exported_kwh
            if total_kw > NOISE_KW and total_kw * QUARTER_HOUR_H > left_kwh + inputs.slack_kwh:
                total_kw, reason = max(0.0, left_kwh / QUARTER_HOUR_H), AdjustmentReason.CYCLE_LIMIT
                by_power_kw = total_kw
        after_kwh = before_kwh + _change_kwh(total_kw, inputs.efficiency)
        lowest_kwh, highest_kwh = float(inputs.lowest_kwh[position]), float(inputs.highest_kwh[position])
        if total_kw < -NOISE_KW and after_kwh > highest_kwh + inputs.slack_kwh:
            headroom_kwh = max(0.0, highest_kwh - before_kwh)
            # 0.0 − x avoids -0.0.
            total_kw = 0.0 - headroom_kwh / inputs.efficiency.charge / QUARTER_HOUR_H
            reason = AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES
        elif total_kw > NOISE_KW and after_kwh < lowest_kwh - inputs.slack_kwh:
            total_kw = max(0.0, before_kwh - lowest_kwh) * inputs.efficiency.discharge / QUARTER_HOUR_H
            reason = AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES
        return lanes_kw, by_power_kw, total_kw, reason

    def _write_cut(self, position: int, lanes_kw: Floats, cut: Cut) -> None:
        if not self.cuts:
            self.power_kw = self.power_kw.copy()
        self.power_kw[:, position] = lanes_kw
        self.total_kw[position] = cut.scheduled_kw
        self.cuts.append(cut)

    def _beyond_available(self, span: slice) -> npt.NDArray[np.bool_]:
        inputs = self.inputs
        scheduled_kw = inputs.power_kw[:, span]
        beyond = scheduled_kw > inputs.discharge_kw[:, span] + NOISE_KW
        beyond |= scheduled_kw < -inputs.charge_kw[:, span] - NOISE_KW
        return np.asarray(beyond.any(axis=0))

    def _exported_in_group_kwh(self, number: int, span: slice) -> Floats:
        """The exports of each period's group up to and including the period."""
        groups, spent = self.inputs.cycles[number].groups[span], self.spent[number]
        running_kwh = np.cumsum(exported_kwh(self.total_kw[span]))
        starts = np.flatnonzero(np.diff(groups, prepend=spent.group))
        before_kwh = np.zeros(len(groups))
        before_kwh[:] = -spent.exported_kwh
        if len(starts):
            at_start_kwh = np.where(starts > 0, running_kwh[starts - 1], 0.0)
            of_group = np.searchsorted(starts, np.arange(len(groups)), side="right") - 1
            before_kwh = np.where(of_group >= 0, at_start_kwh[np.maximum(of_group, 0)], before_kwh)
        return np.asarray(running_kwh - before_kwh)

    @staticmethod
    def _enter_group(spent: _CycleUse, group: int) -> None:
        if spent.group != group:
            spent.group, spent.exported_kwh = group, 0.0


def _change_kwh(power_kw: float, efficiency: Efficiency) -> float:
    """`energy_changes_kwh` of one period."""
    return -QUARTER_HOUR_H * power_kw * (efficiency.charge if power_kw < 0 else 1 / efficiency.discharge)


def find_moves(reach: Reach) -> list[int]:
    """The periods at whose start energy may go out of reach or come back."""
    changes = np.flatnonzero(np.diff(reach.fraction) != 0)
    moves = {reach.start, *changes[changes >= reach.start].tolist()}
    return sorted(move for move in moves if move < len(reach.fraction) - 1)


def _clip_lanes(scheduled_kw: Floats, charge_kw: Floats, discharge_kw: Floats) -> tuple[Floats, bool]:
    """The lanes within their limits, and whether that cuts them."""
    lanes_kw = np.clip(scheduled_kw, -charge_kw, discharge_kw)
    if np.abs(lanes_kw - scheduled_kw).max(initial=0.0) > NOISE_KW:
        return lanes_kw, True
    return scheduled_kw, False


def _reduce_pro_rata(lanes_kw: Floats, total_kw: float) -> Floats:
    """The lanes with their sum reduced to `total_kw`, pro rata over the lanes of its direction."""
    surplus_kw = float(lanes_kw.sum()) - total_kw
    if surplus_kw == 0:
        return lanes_kw
    giving_kw = np.maximum(lanes_kw, 0.0) if surplus_kw > 0 else np.minimum(lanes_kw, 0.0)
    return np.asarray(lanes_kw - giving_kw * (surplus_kw / giving_kw.sum()))
