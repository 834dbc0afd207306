"""Incremental replanning: a zone's plan is computed anew only from where something has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from gridloom.delivery.model import BatteryDispatch, Mask, StartState
from gridloom.delivery.planning.dispatch_zone import CurrentDispatch, compute_dispatch, overlay_change
from gridloom.delivery.planning.distribution import find_opposed
from gridloom.delivery.planning.model import ZoneInput, ZonePlan
from gridloom.delivery.planning.netting import net, subtract_unserved
from gridloom.delivery.planning.reserves import hold_unstored
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, Ints

K = TypeVar("K")

MAX_FULL_REPLAN_CELLS: Final = 2_000
"""Batteries × periods that are always computed as a whole: it takes a few milliseconds."""
MAX_PATCHED_PERIODS: Final = 16
"""In larger zones, a change of no more than this is overlaid on the current plan, where that fits."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanUpdate:
    """The zone's new plan. `changed_slice`: the columns outside which virtual assets and batteries do as before."""

    plan: ZonePlan
    changed_slice: slice
    opposed_periods: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PlanStart:
    """Each battery at the zone's first period: the energy stored, the energy by shares alone, and what it has done."""

    energy_kwh: Floats
    share_energy_kwh: Floats
    state: StartState


@dataclass(frozen=True, slots=True, eq=False)
class _ReplannedTail:
    """The periods from a change on; those before `stop` are not all as before."""

    batteries: BatteryDispatch
    stop: int


def replan(zone: ZoneInput, before: ZonePlan | None, start: PlanStart, *, batteries_unchanged: bool) -> PlanUpdate:
    """The new plan in place of the old one.

    `batteries_unchanged`: nothing that the batteries can do has changed, so periods before the first change stay as
    they are. Where the rest then leaves something unserved, all of it is computed anew: drift may have to move earlier.
    """
    is_changed = _find_changed_periods(zone, before) if before is not None and batteries_unchanged else None
    if before is not None and is_changed is not None and not is_changed[0]:
        index = int(np.argmax(is_changed)) if is_changed.any() else len(is_changed)
        tail = _replan_tail(zone, before, is_changed, index)
        if tail is None or not tail.batteries.unserved_kw.any():
            return _splice_plans(zone, before, index, tail, start)
    given = zone.dispatch_input(0, start.energy_kwh, start.share_energy_kwh, start.state)
    whole = _ReplannedTail(compute_dispatch(given).batteries, zone.end - zone.first)
    return _splice_plans(zone, None, 0, whole, start)


def _replan_tail(zone: ZoneInput, before: ZonePlan, is_changed: Mask, index: int) -> _ReplannedTail | None:
    """The periods from the first change on; None where there is none."""
    if index == len(is_changed):
        return None
    column = zone.first - before.first + index
    given = zone.dispatch_input(
        index, before.energy_kwh[:, column].copy(), before.share_energy_kwh[:, column].copy(), before.state_at(column)
    )
    is_small = int(is_changed[index:].sum()) <= MAX_PATCHED_PERIODS and before.end == zone.end
    is_same = np.array_equal(zone.asset_keys, before.asset_keys)
    if is_small and is_same and given.limits.charge_kw.size > MAX_FULL_REPLAN_CELLS:
        current = CurrentDispatch(
            before.power_kw[:, column:], before.share_energy_kwh[:, column:], _dispatch_after(before, column)
        )
        patched = overlay_change(given, current, is_changed[index:])
        if patched is not None:
            return _ReplannedTail(patched, int(np.flatnonzero(is_changed)[-1]) + 1 - index)
    return _ReplannedTail(compute_dispatch(given).batteries, len(is_changed) - index)


def _dispatch_after(plan: ZonePlan, column: int) -> BatteryDispatch:
    return BatteryDispatch(
        plan.virtual_kw[:, column:],
        plan.own_kw[:, column:],
        plan.drift_kw[:, column:],
        plan.energy_kwh[:, column:],
        plan.unreachable_kwh[:, column:],
        plan.unserved_kw[column:],
        plan.is_cycle_bound[column:] != 0,
    )


def _find_changed_periods(zone: ZoneInput, before: ZonePlan) -> Mask | None:
    """Which periods of the zone are not as they were planned, or were not planned; None for other batteries."""
    overlap = min(before.end, zone.end) - zone.first
    if overlap <= 0 or zone.first < before.first or not np.array_equal(zone.battery_keys, before.battery_keys):
        return None
    is_changed = np.zeros(overlap, dtype=bool)
    offset = zone.first - before.first
    old_kw, new_kw = before.power_kw[:, offset : offset + overlap], zone.power_kw[:, :overlap]
    if np.array_equal(zone.asset_keys, before.asset_keys):
        others = np.flatnonzero((new_kw != old_kw).any(axis=0))
        is_changed[others] = np.abs(new_kw[:, others] - old_kw[:, others]).max(axis=0, initial=0.0) > POWER_TOLERANCE_KW
    else:
        is_changed |= _find_differences(_by_name(before.asset_keys, old_kw), _by_name(zone.asset_keys, new_kw))
    held = _by_name(before.reserve_keys, before.asked_reserve_kw[:, offset : offset + overlap])
    holds = _by_name(zone.reserve_keys, zone.reserve_kw[:, :overlap])
    if held or holds:
        is_changed |= _find_differences(held, holds)
    # A battery moves no longer for virtual assets that are gone.
    moved_kw = np.abs(before.virtual_kw[:, offset : offset + overlap])
    is_changed |= (moved_kw * ~zone.limits.backs_virtual_asset[:, :overlap]).max(
        axis=0, initial=0.0
    ) > POWER_TOLERANCE_KW
    return np.concatenate([is_changed, np.ones(zone.end - zone.first - overlap, dtype=bool)])


def _by_name(names: Ints, rows: Floats) -> dict[object, Floats]:
    return {
        tuple(name) if isinstance(name, list) else name: row for name, row in zip(names.tolist(), rows, strict=True)
    }


def _find_differences(before: Mapping[K, Floats], after: Mapping[K, Floats]) -> Mask:
    """Where any of the series differs from before; what only one side has counts as zeros on the other."""
    is_changed = np.zeros(len(next(iter((*before.values(), *after.values())))), dtype=bool)
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        is_changed |= np.abs((0.0 if new is None else new) - (0.0 if old is None else old)) > POWER_TOLERANCE_KW
    return is_changed


def _splice_plans(
    zone: ZoneInput, before: ZonePlan | None, index: int, tail: _ReplannedTail | None, start: PlanStart
) -> PlanUpdate:
    """The columns of the old plan before `index`, then those of the tail, as one plan."""
    stop = index if tail is None else index + tail.stop
    offset = 0 if before is None else zone.first - before.first
    width = zone.end - zone.first

    def join(name: str) -> Floats:
        pieces = [] if before is None else [getattr(before, name)[..., offset : offset + index]]
        pieces += [] if tail is None else [getattr(tail.batteries, name)]
        return np.concatenate(pieces, axis=-1)

    if tail is None:
        assert before is not None
        energy_kwh = before.energy_kwh[:, offset : offset + index + 1]
        unreachable_kwh = before.unreachable_kwh[:, offset : offset + index + 1]
    else:
        energy_kwh, unreachable_kwh = join("energy_kwh"), join("unreachable_kwh")
    fractions = [start.state.available_fraction[:, None], zone.limits.available_fraction]
    unserved_kw = join("unserved_kw")
    totals_kw, netted_fraction = np.empty((4, width)), np.empty((2, width))
    if before is not None:
        for new, old in ((totals_kw, before.totals_kw), (netted_fraction, before.netted_fraction)):
            new[:, :index] = old[:, offset : offset + index]
            new[:, stop:] = old[:, offset + stop : offset + width]
    _net_periods(zone.power_kw, unserved_kw, slice(index, stop), totals_kw, netted_fraction)
    virtual_kw, own_kw, drift_kw = (join(name) for name in ("virtual_kw", "own_kw", "drift_kw"))
    reserve_keys, unstored_kw = hold_unstored(
        zone.limits,
        energy_kwh[:, :-1] - unreachable_kwh[:, 1:],
        energy_kwh[:, 1:] - unreachable_kwh[:, 1:],
        virtual_kw + own_kw + drift_kw,
        drift_kw,
        zone.reserve_keys,
        zone.reserve_kw,
    )
    asked_kw = np.concatenate([zone.reserve_kw, np.zeros((len(reserve_keys) - len(zone.reserve_kw), width))])
    plan = ZonePlan(
        first=zone.first,
        asset_keys=zone.asset_keys,
        power_kw=zone.power_kw,
        undelivered_kw=zone.undelivered_kw,
        battery_keys=zone.battery_keys,
        virtual_kw=virtual_kw,
        own_kw=own_kw,
        drift_kw=drift_kw,
        energy_kwh=energy_kwh,
        unreachable_kwh=unreachable_kwh,
        available_fraction=np.concatenate(fractions, axis=1),
        share_energy_start_kwh=start.share_energy_kwh,
        share_energy_changes_kwh=zone.share_energy_changes_kwh,
        share_of=zone.share_of,
        shares=zone.shares,
        reserve_keys=reserve_keys,
        reserve_kw=asked_kw - unstored_kw,
        unstored_reserve_kw=unstored_kw,
        shortfall_keys=zone.shortfall_keys,
        shortfall_kw=zone.shortfall_kw,
        netted_fraction=netted_fraction,
        totals_kw=totals_kw,
        is_cycle_bound=join("is_cycle_bound").astype(np.int64),
        exported_kwh=np.stack([start.state.day_export_kwh, start.state.year_export_kwh], axis=1),
        before_kw=start.state.power_kw,
        versions=np.zeros(len(zone.battery_keys), dtype=np.int64),
    )
    opposed = int(find_opposed(virtual_kw[:, index:stop] + drift_kw[:, index:stop]).sum())
    return PlanUpdate(plan, _widen_slice(slice(index, stop), plan, before, offset), opposed)


def _widen_slice(columns: slice, plan: ZonePlan, before: ZonePlan | None, offset: int) -> slice:
    """With the columns in which reserves are held otherwise than before, since there is more or less energy then."""
    if before is None or not (len(plan.reserve_keys) or len(before.reserve_keys)):
        return columns
    width = min(before.end - before.first - offset, plan.end - plan.first)
    old_kw, new_kw = before.unstored_reserve_kw[:, offset : offset + width], plan.unstored_reserve_kw[:, :width]
    indices = np.flatnonzero(
        _find_differences(_by_name(before.reserve_keys, old_kw), _by_name(plan.reserve_keys, new_kw))
    )
    if not len(indices):
        return columns
    return slice(min(columns.start, int(indices[0])), max(columns.stop, int(indices[-1]) + 1))


def _net_periods(
    power_kw: Floats, unserved_kw: Floats, columns: slice, totals_kw: Floats, netted_fraction: Floats
) -> None:
    """Write what is netted in some periods, before and after what is unserved is subtracted."""
    if columns.start >= columns.stop:
        return
    netting = net(power_kw[:, columns])
    delivered_kw = subtract_unserved(power_kw[:, columns], netting, unserved_kw[columns])
    after = net(delivered_kw) if unserved_kw[columns].any() else netting
    totals_kw[:, columns] = netting.exports_kw, netting.imports_kw, after.matched_kw, unserved_kw[columns]
    netted_fraction[0, columns] = _divide_sides(after.matched_kw, after.exports_kw)
    netted_fraction[1, columns] = _divide_sides(after.matched_kw, after.imports_kw)


def _divide_sides(matched_kw: Floats, side_kw: Floats) -> Floats:
    fraction = np.zeros_like(matched_kw)
    np.divide(matched_kw, side_kw, out=fraction, where=side_kw > 0)
    return fraction
