"""Where a plan starts: the energy that each battery would store by its shares and own schedule alone, and how far that
lets its owner's schedule go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridloom.delivery.model import Mask, sum_rows
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import StoredInputs, ZoneInput, ZonePlan
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats


def carry_share_energy(
    zone: ZoneInput,
    inputs: StoredInputs,
    before: ZonePlan | None,
    inputs_before: StoredInputs | None,
    energy_kwh: Floats,
    is_new: Mask,
) -> Floats:
    """The share energy of each battery at the zone's first period.

    A battery that was planned before goes on from the plan, corrected by what has become of virtual assets' energy
    since (activations, cuts); one that `is_new` starts without drift. What backs no virtual asset stays between the
    bounds that leave room for all that is promised: energy beyond them is drift, since it would break a promise.
    """
    if inputs.first != zone.first:
        assert before is not None, "only schedules were read again"
        return np.asarray(before.share_energy_kwh[:, zone.first - before.first])
    share_kwh = energy_kwh.copy()
    if before is not None:
        column = min(max(zone.first - before.first, 0), before.energy_kwh.shape[1] - 1)
        _, rows, old_rows = np.intersect1d(zone.battery_keys, before.battery_keys, return_indices=True)
        share_kwh[rows] = before.share_energy_kwh[old_rows, column]
        if inputs_before is not None:
            moved_kwh = _find_moved_kwh(zone, inputs, before, inputs_before, column)
            share_kwh[rows] += _sum_shares(zone, moved_kwh)[rows]
    share_kwh[is_new] = energy_kwh[is_new]
    promised_kwh = _sum_shares(zone, inputs.energies_kwh[:, 0])
    headroom_kwh = _sum_shares(zone, inputs.energies_kwh[:, 1] - inputs.energies_kwh[:, 0])
    low_kwh, high_kwh = _find_bounds(zone)
    lowest_kwh, highest_kwh = low_kwh + promised_kwh, high_kwh - headroom_kwh
    middle_kwh = (lowest_kwh + highest_kwh) / 2
    is_tight = lowest_kwh > highest_kwh
    lowest_kwh, highest_kwh = np.where(is_tight, middle_kwh, lowest_kwh), np.where(is_tight, middle_kwh, highest_kwh)
    return np.asarray(np.minimum(np.maximum(share_kwh, lowest_kwh), highest_kwh))


def limit_own_schedules(zone: ZoneInput, inputs: StoredInputs, share_energy_kwh: Floats) -> ZoneInput:
    """The zone with own schedules as far as each owner's energy goes: what virtual assets have in store, and the room
    that they have to charge, are theirs while they live. `share_energy_kwh`: of each battery at the first period.

    What is in the battery for assets that begin later, or have ended, is the owner's until then, or from then on.
    Bounds of later periods are kept ahead: an owner charges no energy that an outage would leave no room for.
    """
    limits = zone.limits
    rows = np.flatnonzero(limits.own_kw.any(axis=1))
    resting_kwh = _sum_resting_kwh(zone, inputs)[rows]
    low_kwh = limits.low_kwh[rows] - resting_kwh
    high_kwh = np.maximum(limits.high_kwh[rows] - limits.promised_kwh[rows] - resting_kwh, low_kwh)
    wanted_kwh = energy_changes_kwh(
        limits.own_kw[rows], limits.charge_efficiency[rows], limits.discharge_efficiency[rows]
    )
    owned_kwh = share_energy_kwh[rows] - _sum_shares(zone, inputs.energies_kwh[:, 0])[rows]
    path_kwh = owned_kwh[:, None] + np.cumsum(wanted_kwh, axis=1)
    if ((path_kwh >= low_kwh - POWER_TOLERANCE_KW) & (path_kwh <= high_kwh + POWER_TOLERANCE_KW)).all():
        return zone
    low_kwh, high_kwh = look_ahead(low_kwh, high_kwh, wanted_kwh)
    moved_kwh = np.zeros_like(wanted_kwh)
    for index in range(wanted_kwh.shape[1]):
        # Never further out of bounds than it is.
        lowest_kwh, highest_kwh = np.minimum(low_kwh[:, index], owned_kwh), np.maximum(high_kwh[:, index], owned_kwh)
        moved_kwh[:, index] = np.clip(wanted_kwh[:, index], lowest_kwh - owned_kwh, highest_kwh - owned_kwh)
        owned_kwh = owned_kwh + moved_kwh[:, index]
    fraction = np.ones_like(wanted_kwh)
    np.divide(moved_kwh, wanted_kwh, out=fraction, where=wanted_kwh != 0)
    own_kw, changes_kwh = limits.own_kw.copy(), zone.share_energy_changes_kwh.copy()
    own_kw[rows] *= fraction
    changes_kwh[rows] += moved_kwh - wanted_kwh
    return replace(zone, limits=replace(limits, own_kw=own_kw), share_energy_changes_kwh=changes_kwh)


def look_ahead(low_kwh: Floats, high_kwh: Floats, wanted_kwh: Floats) -> tuple[Floats, Floats]:
    """Bounds from which the schedule can keep those of every later period: only what it discharges in between makes
    room, and only what it charges fills up."""
    low_kwh, high_kwh = low_kwh.copy(), high_kwh.copy()
    charged_kwh, discharged_kwh = np.maximum(wanted_kwh, 0.0), np.maximum(-wanted_kwh, 0.0)
    for index in range(wanted_kwh.shape[1] - 2, -1, -1):
        later_low_kwh, later_high_kwh = low_kwh[:, index + 1], high_kwh[:, index + 1]
        low_kwh[:, index] = np.maximum(low_kwh[:, index], later_low_kwh - charged_kwh[:, index + 1])
        high_kwh[:, index] = np.minimum(high_kwh[:, index], later_high_kwh + discharged_kwh[:, index + 1])
    return low_kwh, np.maximum(high_kwh, low_kwh)


def _sum_resting_kwh(zone: ZoneInput, inputs: StoredInputs) -> Floats:
    """By battery and period, the share energy of virtual assets that do not live then: what they will begin with, or
    were to end with."""
    periods = np.arange(zone.first, zone.end)
    starts, ends = inputs.lifetimes[:, :1], inputs.lifetimes[:, 1:]
    stored_kwh, target_kwh = inputs.energies_kwh[:, :1], inputs.energies_kwh[:, 2:]
    resting_kwh = np.where(periods < starts, stored_kwh, np.where(periods >= ends, target_kwh, 0.0))
    return sum_rows(
        zone.shares[:, None] * resting_kwh[zone.share_of[:, 0]], zone.share_of[:, 1], len(zone.battery_keys)
    )


def _find_bounds(zone: ZoneInput) -> tuple[Floats, Floats]:
    """The bounds of each battery's energy when all of it is available and nothing is in reserve."""
    limits = zone.limits
    widest = np.argmax(limits.high_kwh - limits.low_kwh, axis=1)
    rows = np.arange(len(widest))
    return limits.low_kwh[rows, widest], limits.high_kwh[rows, widest]


def _sum_shares(zone: ZoneInput, asset_kwh: Floats) -> Floats:
    count = len(zone.battery_keys)
    return sum_rows((zone.shares * asset_kwh[zone.share_of[:, 0]])[:, None], zone.share_of[:, 1], count)[:, 0]


def _find_moved_kwh(
    zone: ZoneInput, inputs: StoredInputs, before: ZonePlan, inputs_before: StoredInputs, column: int
) -> Floats:
    """By how much each virtual asset stores more at the zone's first period than the plan before has it."""
    moved_kwh = np.zeros(len(zone.asset_keys))
    _, rows, old_rows = np.intersect1d(zone.asset_keys, before.asset_keys, return_indices=True)
    efficiencies = inputs_before.efficiencies[old_rows]
    changes_kwh = energy_changes_kwh(before.counted_kw[old_rows, :column], efficiencies[:, :1], efficiencies[:, 1:])
    planned_kwh = inputs_before.energies_kwh[old_rows, 0] + changes_kwh.sum(axis=1)
    moved_kwh[rows] = inputs.energies_kwh[rows, 0] - planned_kwh
    return moved_kwh
