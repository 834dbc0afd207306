"""Drift of a zone: placed on the day-ahead market, and corrected in between where a promise would be unserved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from gridloom.delivery.model import BatteryDispatch, BatteryLimits, DispatchInput, Mask
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats

MIN_PERIODS: Final = 16
"""The best hours are four at least, so that a small drift is no spike of power."""
GAIN_DAYS: Final = 7
_MARGIN_KW: Final = 10 * POWER_TOLERANCE_KW
"""Moved besides what is unserved, so that rounding leaves nothing of it."""
_STEP_KW: Final = 0.001
"""Placed powers are whole watts: as MWh they are exact in eight decimals."""


@dataclass(frozen=True, slots=True)
class NoonDrift:
    """A zone's drift at noon, what was then placed until the next noon, and what failures have left in store since the
    noon before (taken out of it where negative); all as stored energy."""

    drift_kwh: float
    placed_kwh: float
    failed_kwh: float = 0.0


def mean_gain_kwh(noons: Sequence[NoonDrift | None]) -> float:
    """The mean daily gain over consecutive noons, oldest first; a missing noon breaks the days beside it.

    What failures left is drift that is placed once, and no gain of a day to come.
    """
    gains = [
        after.drift_kwh - before.drift_kwh + before.placed_kwh - after.failed_kwh
        for before, after in pairwise(noons)
        if before is not None and after is not None
    ]
    return float(np.mean(gains)) if gains else 0.0


def split_drift_kwh(total_kwh: float, promised_kwh: Floats, drift_kwh: Floats) -> Floats:
    """Each battery's part of what is placed: by promised energy, or its own drift where nothing is promised."""
    promised = float(promised_kwh.sum())
    return np.asarray(total_kwh * promised_kwh / promised) if promised > 0 else drift_kwh.copy()


def place_drift_kw(stored_kwh: float, efficiency: float, free_kw: Floats, price_eur_mwh: Floats | None) -> Floats:
    """Powers of a battery that take `stored_kwh` out of its store, or into it where that is below zero.

    Within free power; in the best periods by price (the highest to sell, the lowest to buy), or evenly without one.
    """
    placed_kw = np.zeros_like(free_kw)
    is_selling = stored_kwh > 0
    grid_kwh = stored_kwh * efficiency if is_selling else -stored_kwh / efficiency
    usable = np.flatnonzero(free_kw > POWER_TOLERANCE_KW)
    if grid_kwh < POWER_TOLERANCE_KW or not len(usable):
        return placed_kw
    if price_eur_mwh is not None:
        order = np.argsort(-price_eur_mwh[usable] if is_selling else price_eur_mwh[usable], kind="stable")
        usable = usable[order]
        enough = int(np.searchsorted(QUARTER_HOUR_H * np.cumsum(free_kw[usable]), grid_kwh)) + 1
        usable = usable[: max(MIN_PERIODS, enough)]
    free_kwh = QUARTER_HOUR_H * float(free_kw[usable].sum())
    placed_kw[usable] = free_kw[usable] * min(1.0, grid_kwh / free_kwh)
    placed_kw = np.floor(placed_kw / _STEP_KW + 1e-6) * _STEP_KW
    return np.asarray(np.round(placed_kw if is_selling else -placed_kw, 3) + 0.0)


def correct_drift_kw(given: DispatchInput, found: BatteryDispatch, net_kw: Floats) -> Floats | None:
    """DRIFT power with which full or empty batteries can serve the first unserved period, and those after it until
    power is unserved the other way. Until then no more is asked for than what batteries were found to move: the rest of
    a sale that had no energy would take away what is charged for the promise.

    Of batteries whose drift prevents that, pro rata of it and evenly over the earlier periods with free power:
    those whose net does not go the other way, or all of them where these do not suffice; the rest in the unserved
    period itself, against what the batteries do for virtual assets. None where no drift is in the way or no power free.
    """
    unserved = np.flatnonzero(found.unserved_kw)
    drift_kwh = found.energy_kwh - given.share_energy_kwh
    limits = given.limits
    for index in unserved.tolist():
        sign = -float(np.sign(found.unserved_kw[index]))  # discharge what is too much, charge what is missing
        is_full = _find_bound_by_energy(limits, found.in_reach_kwh[:, index], index, sign)
        moved_kwh = QUARTER_HOUR_H * np.maximum(sign * found.drift_kw[:, index], 0.0)
        in_the_way_kwh = np.where(is_full, np.maximum(sign * drift_kwh[:, index] - moved_kwh, 0.0), 0.0)
        total_kwh = float(in_the_way_kwh.sum())
        if total_kwh <= POWER_TOLERANCE_KW:
            continue
        round_trip = limits.charge_efficiency[:, index] * limits.discharge_efficiency[:, index]
        needed_kwh = QUARTER_HOUR_H * (_sum_one_way_kw(found.unserved_kw[index:]) + _MARGIN_KW)
        served_kwh = in_the_way_kwh * min(1.0, needed_kwh / total_kwh)
        asked_kwh = served_kwh * (round_trip if sign > 0 else 1 / round_trip)
        free_kw = _find_free_kw(given, found, index + 1, sign)
        with_net_kw = np.where(sign * net_kw[:index] >= 0, free_kw[:, :index], 0.0)
        suffices = QUARTER_HOUR_H * with_net_kw.sum(axis=1) >= asked_kwh
        used_kw = np.where(suffices[:, None], with_net_kw, free_kw[:, :index])
        free_kwh = QUARTER_HOUR_H * used_kw.sum(axis=1)
        fraction = np.zeros_like(free_kwh)
        np.divide(asked_kwh, free_kwh, out=fraction, where=free_kwh > 0)
        earlier_kw = used_kw * np.minimum(fraction, 1.0)[:, None]
        is_asked = asked_kwh > 0
        left = 1.0 - QUARTER_HOUR_H * earlier_kw[is_asked].sum(axis=1) / asked_kwh[is_asked]
        correction = np.zeros_like(limits.drift_kw)
        correction[:, :index] = sign * earlier_kw
        here_kw = (abs(found.unserved_kw[index]) + _MARGIN_KW) * served_kwh[is_asked] / float(served_kwh.sum())
        correction[is_asked, index] = sign * np.minimum(left * here_kw, free_kw[is_asked, index])
        if (np.abs(correction) > POWER_TOLERANCE_KW).any():
            drift_kw = limits.drift_kw.copy()
            drift_kw[:, : index + 1] = found.drift_kw[:, : index + 1]
            return np.asarray(drift_kw + correction)
    return None


def _sum_one_way_kw(unserved_kw: Floats) -> float:
    """The unserved power with the sign of the first period, until it has the other sign."""
    turned = np.flatnonzero(unserved_kw * unserved_kw[0] < 0)
    return float(np.abs(unserved_kw[: turned[0] if len(turned) else None]).sum())


def _find_bound_by_energy(limits: BatteryLimits, energy_kwh: Floats, index: int, sign: float) -> Mask:
    """Which promised batteries lack headroom (`sign` above zero) or energy for their available power."""
    if sign > 0:
        headroom_kwh = np.maximum(limits.high_kwh[:, index] - energy_kwh, 0.0)
        is_bound = headroom_kwh < QUARTER_HOUR_H * limits.charge_kw[:, index] * limits.charge_efficiency[:, index]
    else:
        stored_kwh = np.maximum(energy_kwh - limits.low_kwh[:, index], 0.0)
        is_bound = stored_kwh < QUARTER_HOUR_H * limits.discharge_kw[:, index] / limits.discharge_efficiency[:, index]
    return np.asarray(is_bound & (limits.promised_kwh[:, index] > 0))


def _find_free_kw(given: DispatchInput, found: BatteryDispatch, end: int, sign: float) -> Floats:
    """Power in no holder's book that the batteries do not use, in the periods before `end`."""
    limits = given.limits
    free_kw, limit_kw = (
        (limits.free_discharge_kw, limits.discharge_kw) if sign > 0 else (limits.free_charge_kw, limits.charge_kw)
    )
    placed_kw = np.maximum(sign * limits.drift_kw, 0.0)
    unused_kw = limit_kw - np.maximum(sign * found.power_kw, 0.0)
    return np.maximum(np.minimum(free_kw - placed_kw, unused_kw), 0.0)[:, :end]
