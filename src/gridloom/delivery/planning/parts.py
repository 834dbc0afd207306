"""What a battery's power is made of: a part for each virtual asset it backs, the owner's, and what stands by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.delivery.model import CODE_OF_KIND, NOISE_KW, Floats, Ints, PartKind, sum_rows
from gridloom.delivery.planning.netting import cut_unserved, net
from gridloom.delivery.planning.standing_plan import StandingPlan


def named_parts_kw(virtual_kw: Floats, share_of: Ints, shares: Floats, residual_kw: Floats) -> tuple[Floats, Floats]:
    """The part of each virtual asset in each battery that backs it, and what batteries do for others of the zone.

    The parts stand in the order of `share_of`, which holds the places of asset and battery; `residual_kw` is what
    netting has left of each asset. A battery that does less than its shares say does less for each of them alike.
    """
    natural_kw = shares[:, None] * residual_kw[share_of[:, 0]]
    total_kw = sum_rows(natural_kw, share_of[:, 1], len(virtual_kw))
    part = np.zeros_like(total_kw)
    np.divide(virtual_kw, total_kw, out=part, where=np.abs(total_kw) > NOISE_KW)
    named_kw = natural_kw * np.clip(part, 0.0, 1.0)[share_of[:, 1]]
    others_kw = virtual_kw - sum_rows(named_kw, share_of[:, 1], len(virtual_kw))
    others_kw[np.abs(others_kw) < NOISE_KW] = 0.0
    return named_kw, others_kw


@dataclass(frozen=True, slots=True, eq=False)
class PartNames:
    """The names of all parts of a plan's batteries: the battery's key, the kind's code and the virtual asset's key, 0
    for none. `order` brings the parts as they are computed into the order of their names."""

    names: Ints
    order: Ints

    @classmethod
    def of_plan(cls, plan: StandingPlan) -> PartNames:
        keys, nobody = plan.battery_keys, np.zeros_like(plan.battery_keys)
        names = np.concatenate(
            [
                _name_parts(keys[plan.share_of[:, 1]], PartKind.VIRTUAL, plan.asset_keys[plan.share_of[:, 0]]),
                _name_parts(keys, PartKind.VIRTUAL, nobody),
                _name_parts(keys, PartKind.OWN, nobody),
                np.stack([keys[plan.stand_by_of[:, 0]], plan.stand_by_of[:, 1], plan.stand_by_of[:, 2]], axis=1),
            ]
        )
        order = np.lexsort(names.T[::-1])
        return cls(names[order], order)


def list_parts(plan: StandingPlan, low: int, high: int, named: PartNames | None = None) -> tuple[Ints, Floats]:
    """All batteries' parts in the periods at these places, a row each, in the order of their names, which may be given
    where they are known."""
    unserved_kw, power_kw = plan.unserved_kw[low:high], plan.power_kw[:, low:high]
    delivered_kw = cut_unserved(power_kw, net(power_kw), unserved_kw) if unserved_kw.any() else power_kw
    residual_kw = delivered_kw - net(delivered_kw).netted_kw
    named_kw, others_kw = named_parts_kw(plan.virtual_kw[:, low:high], plan.share_of, plan.shares, residual_kw)
    rows_kw = np.concatenate([named_kw, others_kw, plan.own_kw[:, low:high], plan.stand_by_kw[:, low:high]])
    named = named or PartNames.of_plan(plan)
    return named.names, rows_kw[named.order]


def _name_parts(battery_keys: Ints, kind: PartKind, asset_keys: Ints) -> Ints:
    return np.stack([battery_keys, np.full(len(battery_keys), CODE_OF_KIND[kind]), asset_keys], axis=1)
