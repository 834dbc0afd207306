"""Levelling: fair parts tilted so that every battery carries its part of the zone's drift, their sum unchanged.

A battery's *gap* is its drift less its target, the zone's drift × its part of the zone's promised energy, less what the
next ten hours will add to it anyway. A charging period closes a quarter of each gap. A discharging one closes an eighth
of it, and only for that fraction of the gaps which the charging in view cannot close: only what batteries with too much
would charge can go to others. Energy above a lowered capacity is discharged first.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats, Ints

CHARGING_RATE: Final = 1 / 4
DISCHARGING_RATE: Final = 1 / 8
"""Nine charging periods leave (3/4)^9 = 7.5 % of a gap, eighteen discharging ones 9 %."""
HORIZON_PERIODS: Final = 32
"""Periods with a net, not quarter-hours: how far ahead charging counts."""
ANTICIPATED_PERIODS: Final = 40
"""How far ahead counts what will be added to gaps."""
_NEEDED_GAPS: Final = 2.5
"""Charging that closes a quarter of a gap so often (ten times) leaves 6 % of it."""


class ChargingInView:
    """For each period of a plan, the fair parts that are charged in the next periods that have a net."""

    def __init__(self, net_kw: Floats, fair_kw: Floats) -> None:
        is_active = np.abs(net_kw) > POWER_TOLERANCE_KW
        self._charged_kwh = QUARTER_HOUR_H * np.maximum(-fair_kw[:, is_active].T, 0.0)
        self._next: Ints = np.cumsum(is_active)

    def uncovered_fraction(self, index: int, gaps_kwh: Floats, gap_kwh: float) -> float:
        """Which fraction of the gaps the charging in view cannot close; `gap_kwh` is to be moved in all.

        Batteries with too much leave their fair parts to the others; what the others charge themselves levels nothing.
        """
        after = int(self._next[index])
        in_view_kwh = self._charged_kwh[after : after + HORIZON_PERIODS] @ (gaps_kwh > 0)
        closed_kwh = float(np.minimum(in_view_kwh, CHARGING_RATE * gap_kwh).sum())
        return max(0.0, 1.0 - closed_kwh / (_NEEDED_GAPS * gap_kwh))


def anticipate_gaps_kwh(added_kwh: Floats, promised_kwh: Floats) -> Floats:
    """By period and battery: what the next ANTICIPATED_PERIODS will add to its gap.

    `added_kwh` is what netting adds to each battery's drift in a period: virtual energy moves, and no battery does.
    Opposite schedules may leave next to no net for hours, so gaps are closed before they open.
    """
    totals_kwh = promised_kwh.sum(axis=1, keepdims=True)
    parts = np.divide(promised_kwh, totals_kwh, out=np.zeros_like(promised_kwh), where=totals_kwh > 0)
    added_kwh = np.where(promised_kwh > 0, added_kwh, 0.0)
    added_kwh = added_kwh - parts * added_kwh.sum(axis=1, keepdims=True)
    sums_kwh = np.concatenate([np.zeros((1, added_kwh.shape[1])), np.cumsum(added_kwh, axis=0)])
    nexts = np.arange(1, len(sums_kwh))
    return np.asarray(sums_kwh[np.minimum(nexts + ANTICIPATED_PERIODS, nexts[-1:])] - sums_kwh[nexts])


def find_gaps_kwh(
    energy_kwh: Floats,
    share_energy_kwh: Floats,
    promised_kwh: Floats,
    low: Floats,
    high: Floats,
    anticipated_kwh: Floats | float = 0.0,
) -> Floats:
    """By how much each battery's energy exceeds its target, as far as its bounds `low` and `high` allow the target.

    The target leaves room for what is anticipated to be added. Zero for batteries without promises, which levelling
    does not move.
    """
    total_kwh = float(promised_kwh.sum())
    if total_kwh <= 0:
        return np.zeros_like(energy_kwh)
    has_commitments_in_window = promised_kwh > 0
    zone_drift_kwh = float((energy_kwh - share_energy_kwh)[has_commitments_in_window].sum())
    target_kwh = share_energy_kwh + zone_drift_kwh * promised_kwh / total_kwh - anticipated_kwh
    target_kwh = np.minimum(np.maximum(target_kwh, low), np.maximum(high, low))
    return np.where(has_commitments_in_window, energy_kwh - target_kwh, 0.0)


def tilt(part_kw: Floats, headroom_kw: Floats, wanted_kw: Floats) -> Floats:
    """Parts moved by `wanted_kw` as far as each stays within [0, part + headroom] and the sum stays the same.

    Who is to do more and who is to do less meet at the smaller of the two sums, each pro rata.
    """
    more_kw = np.minimum(np.maximum(wanted_kw, 0.0), headroom_kw)
    less_kw = np.minimum(np.maximum(-wanted_kw, 0.0), part_kw)
    more, less = float(more_kw.sum()), float(less_kw.sum())
    moved = min(more, less)
    if moved <= POWER_TOLERANCE_KW:
        return part_kw
    return np.asarray(part_kw + more_kw * (moved / more) - less_kw * (moved / less))


def displace(part_kw: Floats, headroom_kw: Floats, first_kw: Floats) -> Floats:
    """Parts of at least `first_kw` as far as their headroom allows, taken from all others pro rata of their parts."""
    more_kw = np.minimum(np.maximum(first_kw - part_kw, 0.0), headroom_kw)
    less_kw = np.maximum(part_kw - first_kw, 0.0)
    more, less = float(more_kw.sum()), float(less_kw.sum())
    moved = min(more, less)
    if moved <= POWER_TOLERANCE_KW:
        return part_kw
    return np.asarray(part_kw + more_kw * (moved / more) - less_kw * (moved / less))
