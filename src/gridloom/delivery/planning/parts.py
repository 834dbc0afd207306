"""The parts of a battery's power: one for each virtual asset it backs, its owner's, drift, and reserved power."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.delivery.model import CODE_OF_KIND, PartKind, sum_rows
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.planning.netting import net, subtract_unserved
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, Ints


def parts_by_virtual_asset_kw(
    virtual_kw: Floats, share_of: Ints, shares: Floats, residual_kw: Floats
) -> tuple[Floats, Floats]:
    """The part of each virtual asset in each battery that backs it, and what batteries do for others of the zone.

    The parts are in the order of `share_of`, the indices of asset and battery; `residual_kw` is what netting has left
    of each asset. A battery that does less than its shares does less for each of them alike.
    """
    fair_kw = shares[:, None] * residual_kw[share_of[:, 0]]
    total_kw = sum_rows(fair_kw, share_of[:, 1], len(virtual_kw))
    fraction = np.zeros_like(total_kw)
    np.divide(virtual_kw, total_kw, out=fraction, where=np.abs(total_kw) > POWER_TOLERANCE_KW)
    named_kw = fair_kw * np.clip(fraction, 0.0, 1.0)[share_of[:, 1]]
    others_kw = virtual_kw - sum_rows(named_kw, share_of[:, 1], len(virtual_kw))
    others_kw[np.abs(others_kw) < POWER_TOLERANCE_KW] = 0.0
    return named_kw, others_kw


@dataclass(frozen=True, slots=True, eq=False)
class PartKeys:
    """The names of all parts of a plan's batteries: the battery's key, the kind's code and the virtual asset's key, 0
    for none. `order` brings the parts as they are computed into the order of their names."""

    names: Ints
    order: Ints

    @classmethod
    def of_plan(cls, plan: ZonePlan) -> PartKeys:
        keys, none = plan.battery_keys, np.zeros_like(plan.battery_keys)
        names = np.concatenate(
            [
                _name_parts(keys[plan.share_of[:, 1]], PartKind.VIRTUAL, plan.asset_keys[plan.share_of[:, 0]]),
                _name_parts(keys, PartKind.VIRTUAL, none),
                _name_parts(keys, PartKind.OWN, none),
                _name_parts(keys, PartKind.DRIFT, none),
                np.stack([keys[plan.reserve_keys[:, 0]], plan.reserve_keys[:, 1], plan.reserve_keys[:, 2]], axis=1),
            ]
        )
        order = np.lexsort(names.T[::-1])
        return cls(names[order], order)


def list_parts(plan: ZonePlan, low: int, high: int, keys: PartKeys | None = None) -> tuple[Ints, Floats]:
    """All batteries' parts in the columns [low, high), a row each, in the order of their names."""
    unserved_kw, power_kw = plan.unserved_kw[low:high], plan.power_kw[:, low:high]
    delivered_kw = subtract_unserved(power_kw, net(power_kw), unserved_kw) if unserved_kw.any() else power_kw
    residual_kw = delivered_kw - net(delivered_kw).netted_kw
    named_kw, others_kw = parts_by_virtual_asset_kw(
        plan.virtual_kw[:, low:high], plan.share_of, plan.shares, residual_kw
    )
    own_kw, drift_kw, reserve_kw = (one[:, low:high] for one in (plan.own_kw, plan.drift_kw, plan.reserve_kw))
    rows_kw = np.concatenate([named_kw, others_kw, own_kw, drift_kw, reserve_kw])
    keys = keys or PartKeys.of_plan(plan)
    return keys.names, rows_kw[keys.order]


_PART_ARRAYS: Final = ("power_kw", "virtual_kw", "own_kw", "drift_kw", "reserve_kw", "totals_kw")


def list_parts_of_both(
    before: ZonePlan, old: slice, after: ZonePlan, new: slice, keys: PartKeys
) -> tuple[Floats, Floats]:
    """Parts of two plans that have the same ones, in some columns of each: computed together, in half the time."""
    joined = {
        name: np.concatenate([getattr(before, name)[:, old], getattr(after, name)[:, new]], axis=1)
        for name in _PART_ARRAYS
    }
    count = old.stop - old.start
    part_kw = list_parts(replace(after, first=after.first, **joined), 0, count + new.stop - new.start, keys)[1]
    return part_kw[:, :count], part_kw[:, count:]


def _name_parts(battery_keys: Ints, kind: PartKind, asset_keys: Ints) -> Ints:
    return np.stack([battery_keys, np.full(len(battery_keys), CODE_OF_KIND[kind]), asset_keys], axis=1)
