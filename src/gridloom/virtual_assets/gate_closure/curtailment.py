"""What happens when a gate closes: what no longer fits is cut, in the order of time, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.virtual_assets.grid import Floats, Ints
from gridloom.virtual_assets.model import AdjustmentReason, Efficiency
from gridloom.virtual_assets.schedule.trajectory import energy_trajectory_kwh, exported_kwh

_NOISE_KW: Final = 1e-6  # powers below a milliwatt are what a subtraction leaves behind


@dataclass(frozen=True, slots=True)
class CycleRule:
    """At most `limit_kwh` may be exported within each group of periods: a market day, or a year.

    `groups` numbers the periods' groups in the order of time; `exported_before_kwh` is what the first group has
    exported before the first period.
    """

    limit_kwh: float
    groups: Ints
    exported_before_kwh: float


@dataclass(frozen=True, slots=True)
class Standing:
    """The schedules of all lanes over a run of periods, and what they must fit into.

    `power_kw`, `charge_kw` and `discharge_kw` have a row for each lane; the latter two are what its block has
    available. `available_kwh` is the energy capacity in each period, `energy_kwh` what is stored at the very start.
    """

    power_kw: Floats
    charge_kw: Floats
    discharge_kw: Floats
    available_kwh: Floats
    energy_kwh: float
    efficiency: Efficiency
    slack_kwh: float
    cycles: Sequence[CycleRule] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """One period's accepted power, summed over all lanes, and what remained of it."""

    position: int
    accepted_kw: float
    adjusted_kw: float
    reason: AdjustmentReason


def first_misfit(standing: Standing) -> int | None:
    """The place of the first period whose schedule does not fit, if there is one."""
    total_kw = standing.power_kw.sum(axis=0)
    wrong = _beyond_available(standing).any(axis=0)
    energy_kwh = energy_trajectory_kwh(standing.energy_kwh, total_kw, standing.efficiency)[1:]
    wrong |= (total_kw < -_NOISE_KW) & (energy_kwh > standing.available_kwh + standing.slack_kwh)
    wrong |= (total_kw > _NOISE_KW) & (energy_kwh < -standing.slack_kwh)
    for rule in standing.cycles:
        wrong |= (total_kw > _NOISE_KW) & (_exported_in_group_kwh(total_kw, rule) > rule.limit_kwh + standing.slack_kwh)
    position = int(np.argmax(wrong)) if wrong.size else 0
    return position if wrong.size and wrong[position] else None


def cut_to_fit(standing: Standing) -> tuple[Floats, list[Cut]]:
    """The lanes' powers after cutting, and the cuts.

    Charging and discharging are only ever reduced, never turned around. A lane is first cut to what its block has
    available; then the sum to the cycles and the energy that are left, all lanes of its direction in proportion.
    """
    first = first_misfit(standing)
    if first is None:
        return standing.power_kw, []
    power_kw = standing.power_kw.copy()
    low_kw, high_kw = -standing.charge_kw, standing.discharge_kw
    fitting_kw = power_kw[:, :first].sum(axis=0)
    energy_kwh = float(energy_trajectory_kwh(standing.energy_kwh, fitting_kw, standing.efficiency)[-1])
    exported = [_exported_before(fitting_kw, rule) for rule in standing.cycles]
    cuts = []
    for position in range(first, power_kw.shape[1]):
        lanes_kw = np.clip(power_kw[:, position], low_kw[:, position], high_kw[:, position])
        accepted_kw, total_kw = float(power_kw[:, position].sum()), float(lanes_kw.sum())
        reason = None
        if np.abs(lanes_kw - power_kw[:, position]).max(initial=0.0) > _NOISE_KW:
            reason = AdjustmentReason.AVAILABILITY
        else:
            lanes_kw, total_kw = power_kw[:, position], accepted_kw
        for rule, spent in zip(standing.cycles, exported, strict=True):
            left_kwh = rule.limit_kwh - spent.get(int(rule.groups[position]), 0.0)
            if total_kw > _NOISE_KW and total_kw * QUARTER_HOUR_H > left_kwh + standing.slack_kwh:
                total_kw, reason = max(0.0, left_kwh / QUARTER_HOUR_H), AdjustmentReason.CYCLE_LIMIT
        if _leaves_bounds(standing, energy_kwh + _change_kwh(total_kw, standing.efficiency), total_kw, position):
            lowest_kw, highest_kw = _power_for_energy(standing, energy_kwh, position)
            total_kw, reason = min(max(total_kw, lowest_kw), highest_kw), AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES
        if reason is not None:
            power_kw[:, position] = _shared_out(lanes_kw, total_kw)
            cuts.append(Cut(position, accepted_kw, total_kw, reason))
        energy_kwh += _change_kwh(total_kw, standing.efficiency)
        for rule, spent in zip(standing.cycles, exported, strict=True):
            group = int(rule.groups[position])
            spent[group] = spent.get(group, 0.0) + max(0.0, total_kw) * QUARTER_HOUR_H
    return power_kw, cuts


def _beyond_available(standing: Standing) -> np.ndarray:
    return (standing.power_kw > standing.discharge_kw + _NOISE_KW) | (
        standing.power_kw < -standing.charge_kw - _NOISE_KW
    )


def _exported_in_group_kwh(total_kw: Floats, rule: CycleRule) -> Floats:
    """What each period's group has exported up to and with the period."""
    running_kwh = np.cumsum(exported_kwh(total_kw)) + rule.exported_before_kwh
    starts = np.flatnonzero(np.diff(rule.groups, prepend=rule.groups[:1] - 1))
    before_kwh = np.zeros(len(starts))
    before_kwh[1:] = running_kwh[starts[1:] - 1]
    group_of = np.searchsorted(starts, np.arange(len(total_kw)), side="right") - 1
    return np.asarray(running_kwh - before_kwh[group_of])


def _exported_before(total_kw: Floats, rule: CycleRule) -> dict[int, float]:
    """By group, what the last of these periods' groups has exported."""
    if not len(total_kw):
        return {int(rule.groups[0]): rule.exported_before_kwh}
    until = replace(rule, groups=rule.groups[: len(total_kw)])
    return {int(until.groups[-1]): float(_exported_in_group_kwh(total_kw, until)[-1])}


def _change_kwh(power_kw: float, efficiency: Efficiency) -> float:
    """`energy_changes_kwh` of one period."""
    return -QUARTER_HOUR_H * power_kw * (efficiency.charge if power_kw < 0 else 1 / efficiency.discharge)


def _leaves_bounds(standing: Standing, after_kwh: float, total_kw: float, position: int) -> bool:
    if total_kw < -_NOISE_KW:
        return after_kwh > float(standing.available_kwh[position]) + standing.slack_kwh
    return total_kw > _NOISE_KW and after_kwh < -standing.slack_kwh


def _power_for_energy(standing: Standing, energy_kwh: float, position: int) -> tuple[float, float]:
    """The most the store can take (negative) and give in one period, from what it holds."""
    room_kwh = max(0.0, float(standing.available_kwh[position]) - energy_kwh)
    lowest_kw = 0.0 - room_kwh / standing.efficiency.charge / QUARTER_HOUR_H  # never the -0.0 that a minus makes
    highest_kw = max(0.0, energy_kwh) * standing.efficiency.discharge / QUARTER_HOUR_H
    return lowest_kw, highest_kw


def _shared_out(lanes_kw: Floats, total_kw: float) -> Floats:
    """The lanes with their sum reduced to `total_kw`: those of its direction give way in proportion."""
    surplus_kw = float(lanes_kw.sum()) - total_kw
    if surplus_kw == 0:
        return lanes_kw
    giving_kw = np.maximum(lanes_kw, 0.0) if surplus_kw > 0 else np.minimum(lanes_kw, 0.0)
    return np.asarray(lanes_kw - giving_kw * (surplus_kw / giving_kw.sum()))
