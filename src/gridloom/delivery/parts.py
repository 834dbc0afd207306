"""What a battery's power is made of: a part for each virtual asset it backs, the owner's, and what stands by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridloom.delivery.model import NOISE_KW, Floats, Ints, sum_rows


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


def changed_range(before: Mapping[str, Floats], after: Mapping[str, Floats]) -> tuple[int, int] | None:
    """From the first place at which any of the series differs by more than noise to the last, if there is one.

    Series hold a column for each period; rows that only one side has count as zeros.
    """
    changed = np.zeros(next(iter(after.values())).shape[-1], dtype=bool)
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        difference = new if old is None else old if new is None else new - old
        assert difference is not None
        changed |= np.abs(difference) > NOISE_KW
    places = np.flatnonzero(changed)
    return (int(places[0]), int(places[-1]) + 1) if len(places) else None
