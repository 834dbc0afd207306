"""Validation of a change: by summaries where they prove enough, else on projected energy with the cuts to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.projection import NOISE_KW, Projection, ProjectionInput, project
from gridloom.virtual_assets.energy.trajectory import (
    BoundViolation,
    cycle_limits_kwh,
    energy_changes_kwh,
    may_exceed_cycles,
)
from gridloom.virtual_assets.model import AdjustmentReason, VirtualAsset
from gridloom.virtual_assets.schedule.change.draft import Draft, validate_energy
from gridloom.virtual_assets.schedule.change.store import ScheduleContext
from gridloom.virtual_assets.schedule.projection_input import hold_back, load_projection_input
from gridloom.virtual_assets.schedule.projection_loading import (
    first_cuttable_period,
    is_fully_available,
    precheck_uncut,
)
from gridloom.virtual_assets.schedule.rules import energy_out_of_bounds, power_held_back
from gridloom.virtual_assets.schedule.store import LaneChange


@dataclass(frozen=True, slots=True, eq=False)
class ValidatedChange:
    """A change that may be written: its projection from the period `first` on to the end of life."""

    first: int
    inputs: ProjectionInput
    projection: Projection


async def validate_change(
    db: Database, asset: VirtualAsset, draft: Draft, available: AvailableFraction, context: ScheduleContext
) -> ValidatedChange | None:
    """Refuse a change that moves the stored energy out of bounds. None if no schedule of the asset is cut after it."""
    if _precheck_uncut_change(asset, draft, available, context):
        return None
    if _may_be_cut(asset, draft, available, context):
        return await _validate_projected(db, asset, draft.changes, available, context)
    if draft.changes and not precheck_uncut(asset, draft.after):
        await validate_energy(db, asset, draft, available)
    return None


def _precheck_uncut_change(
    asset: VirtualAsset, draft: Draft, available: AvailableFraction, context: ScheduleContext
) -> bool:
    """Whether summaries prove that nothing is cut once the change is written; conservative.

    Cycle limits are left to `_may_be_cut`: a change is validated beside the schedules that they leave.
    """
    if asset.terms.has_cycle_limit or asset.first_activated is not None or context.has_reserves or asset.holds:
        return False
    return available.is_full and precheck_uncut(asset, draft.after, draft.starts_kwh)


def _may_be_cut(asset: VirtualAsset, draft: Draft, available: AvailableFraction, context: ScheduleContext) -> bool:
    """Whether schedules may be cut, or activations may have moved the stored energy."""
    if context.has_reserves or bool(asset.holds) or asset.first_activated is not None:
        return True
    if not is_fully_available(available, first_cuttable_period(asset, context.now), asset.end):
        return True
    exported_kwh = draft.after.exported_kwh
    return not precheck_uncut(asset, draft.before) or may_exceed_cycles(exported_kwh, *cycle_limits_kwh(asset.terms))


async def _validate_projected(
    db: Database,
    asset: VirtualAsset,
    changes: Mapping[int, LaneChange],
    available: AvailableFraction,
    context: ScheduleContext,
) -> ValidatedChange:
    """Refuse a change whose own points leave the bounds, or that adds an energy cut to accepted points."""
    first = first_cuttable_period(asset, context.now)
    lanes, inputs = await load_projection_input(db, asset, first, asset.end, available=available)
    changed = replace(inputs, power_kw=_overlay_change(inputs, lanes, changes, first))
    is_changed = np.zeros(len(inputs), dtype=np.bool_)
    for change in changes.values():
        is_changed[change.periods - first] = True
    before, after = project(inputs), project(changed)
    validated = after if not changed.cycles else project(without_cycle_cuts(changed, before, is_changed))
    if asset.holds:
        _validate_beside_holds(asset, inputs, changed, is_changed, available.between(first, asset.end))
    excess = first_energy_cut(changed, before, validated, is_changed) or first_energy_excess(changed, before, validated)
    if excess is not None:
        raise energy_out_of_bounds(asset, first + excess.position, excess, float(inputs.highest_kwh[excess.position]))
    return ValidatedChange(first, changed, after)


def _validate_beside_holds(
    asset: VirtualAsset,
    inputs: ProjectionInput,
    changed: ProjectionInput,
    is_changed: npt.NDArray[np.bool_],
    available: AvailableFraction,
) -> None:
    """Refuse a change that leaves too little power or energy for the reserves that waiting orders hold back."""
    inputs, changed = (hold_back(one, asset.holds, available) for one in (inputs, changed))
    before = project(inputs)
    after = project(without_cycle_cuts(changed, before, is_changed))
    for cut in after.cuts:
        if is_changed[cut.position] and cut.reason is AdjustmentReason.AVAILABILITY:
            raise power_held_back(available.first + cut.position, cut.accepted_kw, cut.adjusted_kw)
    excess = first_energy_cut(changed, before, after, is_changed) or first_energy_excess(changed, before, after)
    if excess is not None:
        highest_kwh = float(changed.highest_kwh[excess.position])
        raise energy_out_of_bounds(asset, available.first + excess.position, excess, highest_kwh)


def without_cycle_cuts(
    changed: ProjectionInput, before: Projection, is_changed: npt.NDArray[np.bool_]
) -> ProjectionInput:
    """The change as requested, beside accepted points as cycle limits will leave them.

    A change beyond the cycle limits is accepted and will be cut; its effect on other points is no reason to refuse it.
    """
    power_kw = changed.power_kw.copy()
    for cut in before.cuts:
        if cut.reason is AdjustmentReason.CYCLE_LIMIT and not is_changed[cut.position]:
            power_kw[:, cut.position] = before.power_kw[:, cut.position]
    return replace(changed, power_kw=power_kw, cycles=())


def _overlay_change(
    inputs: ProjectionInput, lanes: Sequence[int], changes: Mapping[int, LaneChange], first: int
) -> npt.NDArray[np.float64]:
    power_kw = inputs.power_kw.copy()
    for lane, change in changes.items():
        power_kw[lanes.index(lane), change.periods - first] = change.power_kw
    return power_kw


def first_energy_cut(
    changed: ProjectionInput, before: Projection, after: Projection, is_changed: npt.NDArray[np.bool_]
) -> BoundViolation | None:
    """The first period in which the store's bounds cut the change's own points, or accepted ones more than before."""
    accepted_kw = before.total_kw
    for cut in after.cuts:
        if cut.reason is not AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES:
            continue
        if is_changed[cut.position] or abs(cut.scheduled_kw) < abs(float(accepted_kw[cut.position])) - NOISE_KW:
            asked_kwh, done_kwh = energy_changes_kwh(np.array([cut.accepted_kw, cut.scheduled_kw]), changed.efficiency)
            return BoundViolation(cut.position, float(asked_kwh - done_kwh))
    return None


def first_energy_excess(changed: ProjectionInput, before: Projection, after: Projection) -> BoundViolation | None:
    """The first period that ends out of bounds because of the change, or further out, with nothing to cut."""
    slack_kwh = changed.slack_kwh
    was_kwh, is_kwh = (one.energy_kwh[1:] - one.unreachable_kwh for one in (before, after))
    above_kwh, below_kwh = is_kwh - changed.highest_kwh, is_kwh - changed.lowest_kwh
    noise_kwh = slack_kwh / 1000
    was_within = (was_kwh <= changed.highest_kwh + slack_kwh) & (was_kwh >= changed.lowest_kwh - slack_kwh)
    wrong = (above_kwh > slack_kwh) & (was_within | (is_kwh > was_kwh + noise_kwh))
    wrong |= (below_kwh < -slack_kwh) & (was_within | (is_kwh < was_kwh - noise_kwh))
    if not wrong.any():
        return None
    position = int(np.argmax(wrong))
    return BoundViolation(position, float(below_kwh[position] if below_kwh[position] < 0 else above_kwh[position]))
