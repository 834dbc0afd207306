"""The dispatch of a zone: netting, fair parts, limits, levelling, unserved, netting again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.delivery.model import BatteryDispatch, BatteryLimits, DispatchInput, Mask, ZoneDispatch, slice_limits
from gridloom.delivery.planning.distribution import distribute, energy_changes_kwh, find_opposed
from gridloom.delivery.planning.drift import correct_drift_kw
from gridloom.delivery.planning.levelling import find_gaps_kwh
from gridloom.delivery.planning.netting import net, subtract_unserved
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats

MAX_CORRECTIONS: Final = 8
"""Unserved periods before which drift is moved out of the way, one after the other."""
GAP_TOLERANCE: Final = 0.01
ADDED_GAP_TOLERANCE: Final = 0.001
"""Of a battery's promised energy: what a plan with an overlaid change may leave to level, and may add to that."""


def compute_dispatch(given: DispatchInput) -> ZoneDispatch:
    """The same input gives the same dispatch. Cuts of the schedules themselves have happened before."""
    netting = net(given.power_kw)
    batteries = _distribute_net(given, netting.net_kw, given.power_kw - netting.netted_kw)
    delivered_kw = subtract_unserved(given.power_kw, netting, batteries.unserved_kw)
    return ZoneDispatch(
        given.power_kw,
        delivered_kw,
        net(delivered_kw).netted_kw,
        batteries,
        find_opposed(batteries.virtual_kw + batteries.drift_kw),
    )


def _distribute_net(given: DispatchInput, net_kw: Floats, residual_kw: Floats) -> BatteryDispatch:
    fair_kw = given.by_share(residual_kw)
    found = distribute(given, net_kw, fair_kw)
    for _ in range(MAX_CORRECTIONS):
        drift_kw = correct_drift_kw(given, found, net_kw) if found.unserved_kw.any() else None
        if drift_kw is None:
            break
        corrected = replace(given, limits=replace(given.limits, drift_kw=drift_kw))
        again = distribute(corrected, net_kw, fair_kw)
        if np.abs(again.unserved_kw).sum() >= np.abs(found.unserved_kw).sum() - POWER_TOLERANCE_KW:
            break
        given, found = corrected, again
    return found


@dataclass(frozen=True, slots=True, eq=False)
class CurrentDispatch:
    """The schedules and their dispatch, over the same periods as an input of the same assets."""

    power_kw: Floats
    share_energy_kwh: Floats
    batteries: BatteryDispatch


def overlay_change(given: DispatchInput, current: CurrentDispatch, is_changed: Mask) -> BatteryDispatch | None:
    """The current dispatch with a few changed periods: there each battery's power moves by what its fair part moves.

    All other periods stay. None where energy is out of reach, and where that leaves power unserved, energy further out
    of bounds or a battery with more to level than GAP_TOLERANCE: then all that follows is computed anew.

    For zones so large that writing a new dispatch for every battery would cost more than a small change is worth.
    """
    if current.batteries.unreachable_kwh.any() or (given.limits.available_fraction != 1).any():
        return None
    stop = int(np.flatnonzero(is_changed)[-1]) + 1
    head = _slice_input(given, current, stop)
    netting, before = net(head.power_kw), net(current.power_kw[:, :stop])
    moved_kw = given.by_share((head.power_kw - netting.netted_kw) - (current.power_kw[:, :stop] - before.netted_kw))
    wanted_kw = current.batteries.virtual_kw[:, :stop] + np.where(is_changed[:stop], moved_kw, 0.0)
    laid = distribute(head, netting.net_kw, wanted_kw, np.ones(stop, dtype=bool))
    if laid.unserved_kw.any():
        return None
    found = _continue_after(current.batteries, laid, given.limits)
    limits, old_kwh, new_kwh = given.limits, current.batteries.energy_kwh, found.energy_kwh
    if (_bound_violation_kwh(new_kwh, limits) > _bound_violation_kwh(old_kwh, limits) + POWER_TOLERANCE_KW).any():
        return None
    before_kwh = _end_gaps_kwh(old_kwh, current.share_energy_kwh, limits)
    allowed_kwh = np.maximum(GAP_TOLERANCE * limits.promised_kwh[:, -1], before_kwh)
    after_kwh = _end_gaps_kwh(new_kwh, given.share_energy_kwh, limits)
    return None if (after_kwh > allowed_kwh + ADDED_GAP_TOLERANCE * limits.promised_kwh[:, -1]).any() else found


def _end_gaps_kwh(energy_kwh: Floats, share_energy_kwh: Floats, limits: BatteryLimits) -> Floats:
    """The gap left to level of each battery at the end of a plan."""
    gaps_kwh = find_gaps_kwh(
        energy_kwh[:, -1],
        share_energy_kwh[:, -1],
        limits.promised_kwh[:, -1],
        limits.low_kwh[:, -1],
        limits.high_kwh[:, -1],
    )
    return np.abs(gaps_kwh)


def _slice_input(given: DispatchInput, current: CurrentDispatch, stop: int) -> DispatchInput:
    limits = slice_limits(given.limits, 0, given.limits.energy_kwh, stop)
    own_kw, drift_kw = current.batteries.own_kw[:, :stop], current.batteries.drift_kw[:, :stop]
    return replace(
        given,
        power_kw=given.power_kw[:, :stop],
        limits=replace(limits, own_kw=own_kw, drift_kw=drift_kw),
        share_energy_kwh=given.share_energy_kwh[:, : stop + 1],
        days=given.days[:stop],
        years=given.years[:stop],
    )


def _continue_after(current: BatteryDispatch, laid: BatteryDispatch, limits: BatteryLimits) -> BatteryDispatch:
    """The new periods, then the current ones: a battery that stores another amount by then goes on from there."""
    stop = laid.virtual_kw.shape[1]

    def join(name: str) -> Floats:
        return np.concatenate([getattr(laid, name), getattr(current, name)[..., stop:]], axis=-1)

    energy_kwh = np.concatenate([laid.energy_kwh, current.energy_kwh[:, stop + 1 :]], axis=1)
    moved = np.flatnonzero(energy_kwh[:, stop] != current.energy_kwh[:, stop])
    steps_kwh = energy_changes_kwh(
        current.power_kw[moved, stop:],
        limits.charge_efficiency[moved, stop:],
        limits.discharge_efficiency[moved, stop:],
    )
    energy_kwh[moved, stop:] = np.cumsum(
        np.concatenate([energy_kwh[moved, stop : stop + 1], steps_kwh], axis=1), axis=1
    )
    return BatteryDispatch(
        join("virtual_kw"),
        join("own_kw"),
        join("drift_kw"),
        energy_kwh,
        current.unreachable_kwh,
        join("unserved_kw"),
        np.asarray(join("is_cycle_bound"), dtype=bool),
    )


def _bound_violation_kwh(energy_kwh: Floats, limits: BatteryLimits) -> Floats:
    """By how much the energy at the end of each period is outside its bounds."""
    after_kwh = energy_kwh[:, 1:]
    return np.maximum(limits.low_kwh - after_kwh, 0.0) + np.maximum(after_kwh - limits.high_kwh, 0.0)
