"""Judging a change on projected energy: stored points count after the cuts that are to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from gridloom.database.pool import Database
from gridloom.virtual_assets.backing.availability import Availability
from gridloom.virtual_assets.energy.outlook import closed_until
from gridloom.virtual_assets.energy.projection import NOISE_KW, Projection, Standing, project
from gridloom.virtual_assets.energy.standing import load_standing
from gridloom.virtual_assets.model import AdjustmentReason, VirtualAsset
from gridloom.virtual_assets.schedule.projection.trajectory import Excess, energy_changes_kwh
from gridloom.virtual_assets.schedule.rules import energy_out_of_bounds
from gridloom.virtual_assets.schedule.store import LaneChange


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A change that may be written: what will happen from the period `first` on to the end of life."""

    first: int
    standing: Standing
    projection: Projection


async def judge_projected(
    db: Database, asset: VirtualAsset, changes: Mapping[int, LaneChange], available: Availability, now: datetime
) -> Judged:
    """Refuse a change whose own points leave the bounds, or that adds an energy cut to points that stand."""
    first = closed_until(asset, now)
    lanes, standing = await load_standing(db, asset, first, asset.end, available=available)
    changed = replace(standing, power_kw=_lay_over(standing, lanes, changes, first))
    own = np.zeros(len(standing), dtype=np.bool_)
    for change in changes.values():
        own[change.periods - first] = True
    before, after = project(standing), project(changed)
    judged = after if not changed.cycles else project(_apart_from_cycles(changed, before, own))
    excess = first_energy_cut(changed, before, judged, own) or first_energy_excess(changed, before, judged)
    if excess is not None:
        raise energy_out_of_bounds(asset, first + excess.position, excess, float(standing.highest_kwh[excess.position]))
    return Judged(first, changed, after)


def _apart_from_cycles(changed: Standing, before: Projection, own: npt.NDArray[np.bool_]) -> Standing:
    """The change as it was asked for, beside stored points as cycle limits will leave them.

    A change beyond the cycle limits is accepted and will be cut; what that does to its other points is no refusal.
    """
    power_kw = changed.power_kw.copy()
    for cut in before.cuts:
        if cut.reason is AdjustmentReason.CYCLE_LIMIT and not own[cut.position]:
            power_kw[:, cut.position] = before.power_kw[:, cut.position]
    return replace(changed, power_kw=power_kw, cycles=())


def _lay_over(
    standing: Standing, lanes: Sequence[int], changes: Mapping[int, LaneChange], first: int
) -> npt.NDArray[np.float64]:
    power_kw = standing.power_kw.copy()
    for lane, change in changes.items():
        power_kw[lanes.index(lane), change.periods - first] = change.power_kw
    return power_kw


def first_energy_cut(
    changed: Standing, before: Projection, after: Projection, own: npt.NDArray[np.bool_]
) -> Excess | None:
    """The first period in which the store's bounds cut the change's own points, or stored ones more than before."""
    standing_kw = before.total_kw
    for cut in after.cuts:
        if cut.reason is not AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES:
            continue
        if own[cut.position] or abs(cut.adjusted_kw) < abs(float(standing_kw[cut.position])) - NOISE_KW:
            asked_kwh, done_kwh = energy_changes_kwh(np.array([cut.accepted_kw, cut.adjusted_kw]), changed.efficiency)
            return Excess(cut.position, float(asked_kwh - done_kwh))
    return None


def first_energy_excess(changed: Standing, before: Projection, after: Projection) -> Excess | None:
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
    return Excess(position, float(below_kwh[position] if below_kwh[position] < 0 else above_kwh[position]))
