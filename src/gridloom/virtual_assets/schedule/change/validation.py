"""Judging a change on projected energy: stored points count after the cuts that are to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from gridloom.database.pool import Database
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.projection import NOISE_KW, Projection, ProjectionInput, project
from gridloom.virtual_assets.energy.projection_input import load_projection_input
from gridloom.virtual_assets.energy.projection_loading import first_cuttable_period
from gridloom.virtual_assets.model import AdjustmentReason, VirtualAsset
from gridloom.virtual_assets.schedule.projection.trajectory import BoundViolation, energy_changes_kwh
from gridloom.virtual_assets.schedule.rules import energy_out_of_bounds
from gridloom.virtual_assets.schedule.store import LaneChange


@dataclass(frozen=True, slots=True, eq=False)
class ValidatedChange:
    """A change that may be written: what will happen from the period `first` on to the end of life."""

    first: int
    standing: ProjectionInput
    projection: Projection


async def validate_projected(
    db: Database, asset: VirtualAsset, changes: Mapping[int, LaneChange], available: AvailableFraction, now: datetime
) -> ValidatedChange:
    """Refuse a change whose own points leave the bounds, or that adds an energy cut to points that stand."""
    first = first_cuttable_period(asset, now)
    lanes, standing = await load_projection_input(db, asset, first, asset.end, available=available)
    changed = replace(standing, power_kw=_overlay_change(standing, lanes, changes, first))
    own = np.zeros(len(standing), dtype=np.bool_)
    for change in changes.values():
        own[change.periods - first] = True
    before, after = project(standing), project(changed)
    validated = after if not changed.cycles else project(_without_cycle_cuts(changed, before, own))
    excess = first_energy_cut(changed, before, validated, own) or first_energy_excess(changed, before, validated)
    if excess is not None:
        raise energy_out_of_bounds(asset, first + excess.position, excess, float(standing.highest_kwh[excess.position]))
    return ValidatedChange(first, changed, after)


def _without_cycle_cuts(changed: ProjectionInput, before: Projection, own: npt.NDArray[np.bool_]) -> ProjectionInput:
    """The change as it was asked for, beside stored points as cycle limits will leave them.

    A change beyond the cycle limits is accepted and will be cut; what that does to its other points is no refusal.
    """
    power_kw = changed.power_kw.copy()
    for cut in before.cuts:
        if cut.reason is AdjustmentReason.CYCLE_LIMIT and not own[cut.position]:
            power_kw[:, cut.position] = before.power_kw[:, cut.position]
    return replace(changed, power_kw=power_kw, cycles=())


def _overlay_change(
    standing: ProjectionInput, lanes: Sequence[int], changes: Mapping[int, LaneChange], first: int
) -> npt.NDArray[np.float64]:
    power_kw = standing.power_kw.copy()
    for lane, change in changes.items():
        power_kw[lanes.index(lane), change.periods - first] = change.power_kw
    return power_kw


def first_energy_cut(
    changed: ProjectionInput, before: Projection, after: Projection, own: npt.NDArray[np.bool_]
) -> BoundViolation | None:
    """The first period in which the store's bounds cut the change's own points, or stored ones more than before."""
    standing_kw = before.total_kw
    for cut in after.cuts:
        if cut.reason is not AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES:
            continue
        if own[cut.position] or abs(cut.adjusted_kw) < abs(float(standing_kw[cut.position])) - NOISE_KW:
            asked_kwh, done_kwh = energy_changes_kwh(np.array([cut.accepted_kw, cut.adjusted_kw]), changed.efficiency)
            return BoundViolation(cut.position, float(asked_kwh - done_kwh))
    return None


def first_energy_excess(changed: ProjectionInput, before: Projection, after: Projection) -> BoundViolation | None:
    """The first period that ends out of bounds because of the change, or further out, with nothing to cut."""
    slack_kwh = changed.slack_kwh
    was_kwh, is_kwh = before.energy_kwh[1:], after.energy_kwh[1:]
    above_kwh, below_kwh = is_kwh - changed.highest_kwh, is_kwh - changed.lowest_kwh
    noise_kwh = slack_kwh / 1000
    was_within = (was_kwh <= changed.highest_kwh + slack_kwh) & (was_kwh >= changed.lowest_kwh - slack_kwh)
    wrong = (above_kwh > slack_kwh) & (was_within | (is_kwh > was_kwh + noise_kwh))
    wrong |= (below_kwh < -slack_kwh) & (was_within | (is_kwh < was_kwh - noise_kwh))
    if not wrong.any():
        return None
    position = int(np.argmax(wrong))
    return BoundViolation(position, float(below_kwh[position] if below_kwh[position] < 0 else above_kwh[position]))
