"""Returning a battery's drift: what netting and unequal losses leave in it beyond, or short of, what its shares say."""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.delivery.model import Floats, Situation, Spread
from gridloom.kernel.units import QUARTER_HOUR_H

TOLERATED_SHARE: Final = 0.01
"""Of what a battery can hold: a smaller drift is left alone, since the next schedules move it anyway."""


def returned_kw(spread: Spread, situation: Situation, net_kw: Floats) -> Floats:
    """The owner's power that brings each battery back to what is due at the end, evenly over the periods that allow it.

    Only free power is used, and only in periods whose net does not go the other way, so that no battery charges beside
    one that discharges. Where the net is nil, the direction in which the zone as a whole has drifted goes first.
    """
    batteries = situation.batteries
    drift_kwh = spread.energy_kwh[:, -1] - situation.due_kwh
    room_kwh = (batteries.high_kwh - batteries.low_kwh)[:, -1:]
    drift_kwh = np.where(np.abs(drift_kwh) > TOLERATED_SHARE * np.abs(room_kwh[:, 0]), drift_kwh, 0.0)
    if not drift_kwh.any():
        return np.zeros(batteries.shape)
    idle_sign = 1.0 if drift_kwh.sum() >= 0 else -1.0
    direction = np.where(net_kw == 0, idle_sign, np.sign(net_kw))
    discharging = drift_kwh[:, None] > 0
    allowed = (direction[None, :] > 0) == discharging
    used_kw = np.abs(spread.virtual_kw + spread.own_kw)
    free_kw = np.where(
        discharging,
        np.minimum(batteries.free_discharge_kw, batteries.discharge_kw - used_kw),
        np.minimum(batteries.free_charge_kw, batteries.charge_kw - used_kw),
    )
    # An owner's schedule the other way would meet the return within the battery: leave such periods out.
    opposed = np.sign(spread.own_kw) == np.where(discharging, -1.0, 1.0)
    free_kw = np.where(allowed & ~opposed, np.maximum(free_kw, 0.0), 0.0)
    grid_kwh = np.where(
        drift_kwh > 0,
        drift_kwh * batteries.discharge_efficiency[:, -1],
        drift_kwh / batteries.charge_efficiency[:, -1],
    )
    free_kwh = QUARTER_HOUR_H * free_kw.sum(axis=1)
    used_share = np.zeros_like(free_kwh)
    np.divide(np.abs(grid_kwh), free_kwh, out=used_share, where=free_kwh > 0)
    return np.asarray(np.sign(drift_kwh)[:, None] * free_kw * np.minimum(used_share, 1.0)[:, None])
