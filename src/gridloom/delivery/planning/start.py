"""Where a plan starts: the energy that each battery would store by its shares and own schedule alone."""

from __future__ import annotations

import numpy as np

from gridloom.delivery.model import Mask, sum_rows
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import StoredInputs, ZoneInput, ZonePlan
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
    changes_kwh = energy_changes_kwh(before.power_kw[old_rows, :column], efficiencies[:, :1], efficiencies[:, 1:])
    planned_kwh = inputs_before.energies_kwh[old_rows, 0] + changes_kwh.sum(axis=1)
    moved_kwh[rows] = inputs.energies_kwh[rows, 0] - planned_kwh
    return moved_kwh
