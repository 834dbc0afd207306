"""Distributing a zone's net power over its batteries: fair parts, within every limit, levelled; in the order of time.

The four steps of one period are closed forms:

1. A battery's fair part is Σ share × what netting has left of each virtual asset that it backs.
2. What a battery cannot take goes to the others in proportion of their headroom (water-filling, one pass).
3. The parts are tilted towards level drift; their sum stays.
4. What is left over is unserved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.capacity.reach import move_reach
from gridloom.delivery.model import LIMIT_NAMES, BatteryDispatch, BatteryLimits, DispatchInput, Mask
from gridloom.delivery.planning.levelling import (
    CHARGING_RATE,
    DISCHARGING_RATE,
    ChargingInView,
    anticipate_gaps_kwh,
    displace,
    find_gaps_kwh,
    tilt,
)
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats

_ROUNDING_KW = 1e-9


def distribute(given: DispatchInput, net_kw: Floats, fair_kw: Floats, is_fixed: Mask | None = None) -> BatteryDispatch:
    """The dispatch of all batteries. `fair_kw` has the sign of the net in each period.

    Where `is_fixed`, `fair_kw` are powers decided earlier: they are brought into the limits and not levelled.
    """
    is_levelled = [True] * len(net_kw) if is_fixed is None else (~is_fixed).tolist()
    walk = _Projector(given, net_kw, fair_kw, is_levelled=any(is_levelled))
    for index in range(len(net_kw)):
        walk.step(index, fair_kw[:, index], is_levelled=is_levelled[index])
    return walk.result()


def energy_changes_kwh(power_kw: Floats, charge_efficiency: Floats, discharge_efficiency: Floats) -> Floats:
    """The change of the stored energy: `Δt·(charge·η_c − discharge/η_d)`."""
    return np.asarray(-QUARTER_HOUR_H * power_kw * np.where(power_kw < 0, charge_efficiency, 1 / discharge_efficiency))


def find_opposed(power_kw: Floats) -> Mask:
    """In which periods one battery charges while another discharges."""
    if not len(power_kw):
        return np.zeros(power_kw.shape[1], dtype=bool)
    return np.asarray((power_kw.max(axis=0) > POWER_TOLERANCE_KW) & (power_kw.min(axis=0) < -POWER_TOLERANCE_KW))


def fill_water(asked_kw: float, part_kw: Floats, limit_kw: Floats) -> tuple[Floats, float]:
    """Parts within their limits that sum to what is asked, and what is left over.

    What exceeds a limit goes to the others in proportion of their headroom, so that none is exceeded in turn. Parts
    that sum to more shrink alike.
    """
    within_kw = np.minimum(part_kw, limit_kw)
    missing_kw = asked_kw - float(within_kw.sum())
    if missing_kw < -_ROUNDING_KW:
        return within_kw * (asked_kw / float(within_kw.sum())), 0.0
    if missing_kw <= _ROUNDING_KW:
        return within_kw, 0.0
    headroom_kw = limit_kw - within_kw
    total_kw = float(headroom_kw.sum())
    if missing_kw >= total_kw:
        left_kw = missing_kw - total_kw
        return limit_kw.copy(), left_kw if left_kw > POWER_TOLERANCE_KW else 0.0
    return within_kw + headroom_kw * (missing_kw / total_kw), 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Range:
    """How much each battery can export and import in a period, and export if cycles were not limited; magnitudes."""

    export_kw: Floats
    import_kw: Floats
    uncycled_kw: Floats


class _Projector:
    """The batteries' state while periods are distributed one after the other.

    Periods are rows here: numpy adds up contiguous rows several times faster than columns.
    """

    def __init__(self, given: DispatchInput, net_kw: Floats, fair_kw: Floats, *, is_levelled: bool) -> None:
        limits = given.limits
        count, periods = limits.shape
        self._limits = _transpose_limits(limits)
        self._net_kw, self._days, self._years = net_kw.tolist(), given.days.tolist(), given.years.tolist()
        self._share_energy_kwh = np.ascontiguousarray(given.share_energy_kwh.T)
        self._charging = ChargingInView(net_kw, fair_kw)
        if is_levelled:
            netted_kw = (given.by_share(given.power_kw) - fair_kw).T
            netted_kwh = energy_changes_kwh(
                netted_kw, self._limits.charge_efficiency, self._limits.discharge_efficiency
            )
            self._anticipated_kwh = anticipate_gaps_kwh(-netted_kwh, self._limits.promised_kwh)
        self._is_ramped = bool(np.isfinite(limits.ramp_kw).any())
        self._is_cycled = bool(
            np.isfinite(limits.daily_export_kwh).any() or np.isfinite(limits.annual_export_kwh).any()
        )
        self._day_kwh, self._year_kwh = given.start.day_export_kwh.copy(), given.start.year_export_kwh.copy()
        self._before_kw = given.start.power_kw
        self._virtual_kw, self._own_kw, self._drift_kw = np.zeros((3, periods, count))
        has_own, has_drift = np.any(limits.own_kw, axis=0), np.any(limits.drift_kw, axis=0)
        self._has_own, self._has_drift = has_own.tolist(), has_drift.tolist()
        self._is_idle = (~(has_own | has_drift) & (np.abs(net_kw) <= _ROUNDING_KW)).tolist()
        self._energy_kwh = np.empty((periods + 1, count))
        self._energy_kwh[0] = limits.energy_kwh
        self._unreachable_kwh = np.empty((periods + 1, count))
        self._unreachable_kwh[0] = np.minimum(given.start.unreachable_kwh, limits.energy_kwh)
        self._fractions = np.vstack([given.start.available_fraction, self._limits.available_fraction])
        self._moves_reach = (np.diff(self._fractions, axis=0) != 0).any(axis=1).tolist()
        self._unserved_kw, self._is_cycle_bound = np.zeros(periods), np.zeros(periods, dtype=bool)

    def result(self) -> BatteryDispatch:
        return BatteryDispatch(
            np.ascontiguousarray(self._virtual_kw.T),
            np.ascontiguousarray(self._own_kw.T),
            np.ascontiguousarray(self._drift_kw.T),
            np.ascontiguousarray(self._energy_kwh.T),
            np.ascontiguousarray(self._unreachable_kwh.T),
            self._unserved_kw,
            self._is_cycle_bound,
        )

    def step(self, index: int, fair_kw: Floats, *, is_levelled: bool) -> None:
        if index and self._is_cycled:
            self._start_days(index)
        self._move_reach(index)
        if self._is_idle[index]:
            self._energy_kwh[index + 1] = self._energy_kwh[index]
            self._before_kw = self._virtual_kw[index]
            return
        can = self._find_range(index)
        total_kw = self._virtual_kw[index] = self._serve_assets(index, fair_kw, can, is_levelled=is_levelled)
        if self._has_own[index]:
            self._own_kw[index] = _fit_beside(self._limits.own_kw[index], total_kw, can)
            total_kw = total_kw + self._own_kw[index]
        if self._has_drift[index]:
            self._drift_kw[index] = _fit_beside(self._limits.drift_kw[index], total_kw, can)
            total_kw = total_kw + self._drift_kw[index]
        self._energy_kwh[index + 1] = self._energy_kwh[index] + energy_changes_kwh(
            total_kw, self._limits.charge_efficiency[index], self._limits.discharge_efficiency[index]
        )
        self._before_kw = total_kw
        if self._is_cycled:
            exported_kwh = QUARTER_HOUR_H * np.maximum(total_kw, 0.0)
            self._day_kwh, self._year_kwh = self._day_kwh + exported_kwh, self._year_kwh + exported_kwh

    def _start_days(self, index: int) -> None:
        if self._days[index] != self._days[index - 1]:
            self._day_kwh = np.zeros_like(self._day_kwh)
        if self._years[index] != self._years[index - 1]:
            self._year_kwh = np.zeros_like(self._year_kwh)

    def _move_reach(self, index: int) -> None:
        unreachable_kwh = self._unreachable_kwh[index]
        if self._moves_reach[index]:
            before, after = self._fractions[index : index + 2]
            in_reach_kwh = self._energy_kwh[index] - unreachable_kwh
            unreachable_kwh = move_reach(in_reach_kwh, unreachable_kwh, before, after)
        self._unreachable_kwh[index + 1] = unreachable_kwh

    def _find_range(self, index: int) -> _Range:
        limits, energy_kwh = self._limits, self._energy_kwh[index] - self._unreachable_kwh[index + 1]
        stored_kwh = np.maximum(energy_kwh - limits.low_kwh[index], 0.0)
        headroom_kwh = np.maximum(limits.high_kwh[index] - energy_kwh, 0.0)
        export_kw = np.minimum(
            limits.discharge_kw[index], stored_kwh * limits.discharge_efficiency[index] / QUARTER_HOUR_H
        )
        import_kw = np.minimum(limits.charge_kw[index], headroom_kwh / limits.charge_efficiency[index] / QUARTER_HOUR_H)
        if self._is_ramped:
            export_kw = np.minimum(export_kw, np.maximum(self._before_kw + limits.ramp_kw[index], 0.0))
            import_kw = np.minimum(import_kw, np.maximum(limits.ramp_kw[index] - self._before_kw, 0.0))
        if not self._is_cycled:
            return _Range(export_kw, import_kw, export_kw)
        left_kwh = np.minimum(
            limits.daily_export_kwh[index] - self._day_kwh, limits.annual_export_kwh[index] - self._year_kwh
        )
        return _Range(np.minimum(export_kw, np.maximum(left_kwh, 0.0) / QUARTER_HOUR_H), import_kw, export_kw)

    def _serve_assets(self, index: int, fair_kw: Floats, can: _Range, *, is_levelled: bool) -> Floats:
        """Each battery's power for virtual assets, with the sign of the net."""
        asked_kw = self._net_kw[index]
        if abs(asked_kw) <= _ROUNDING_KW:
            return np.zeros_like(fair_kw)
        sign = 1.0 if asked_kw > 0 else -1.0
        backs = self._limits.promised_kwh[index] > 0
        can_kw = can.export_kw if sign > 0 else can.import_kw
        if self._has_drift[index]:  # what it sells of its drift it can take for virtual assets at the same time
            can_kw = can_kw + np.maximum(-sign * self._limits.drift_kw[index], 0.0)
        limit_kw = np.where(backs, can_kw, 0.0)
        part_kw, left_kw = fill_water(abs(asked_kw), np.maximum(sign * fair_kw, 0.0), limit_kw)
        if is_levelled:
            part_kw = self._level_batteries(index, part_kw, limit_kw, sign)
        if left_kw:
            self._unserved_kw[index] = sign * left_kw
            self._is_cycle_bound[index] = sign > 0 and bool(
                (can.uncycled_kw - can.export_kw)[backs].sum() > left_kw / 2
            )
        return sign * part_kw + 0.0

    def _level_batteries(self, index: int, part_kw: Floats, limit_kw: Floats, sign: float) -> Floats:
        limits, energy_kwh = self._limits, self._energy_kwh[index]
        unreachable_kwh = self._unreachable_kwh[index + 1]
        low_kwh, high_kwh = limits.low_kwh[index] + unreachable_kwh, limits.high_kwh[index] + unreachable_kwh
        gaps_kwh = find_gaps_kwh(
            energy_kwh,
            self._share_energy_kwh[index],
            limits.promised_kwh[index],
            low_kwh,
            high_kwh,
            self._anticipated_kwh[index],
        )
        gap_kwh = float(np.abs(gaps_kwh).sum()) / 2
        if gap_kwh <= POWER_TOLERANCE_KW:
            return part_kw
        if sign < 0:
            wanted_kw = -CHARGING_RATE / QUARTER_HOUR_H * gaps_kwh / limits.charge_efficiency[index]
            return tilt(part_kw, limit_kw - part_kw, wanted_kw)
        above_kwh = np.maximum(energy_kwh - np.maximum(high_kwh, low_kwh), 0.0)
        if above_kwh.any():
            first_kw = above_kwh * limits.discharge_efficiency[index] / QUARTER_HOUR_H
            return displace(part_kw, limit_kw - part_kw, first_kw)
        rate = DISCHARGING_RATE * self._charging.uncovered_fraction(index, gaps_kwh, gap_kwh)
        return tilt(part_kw, limit_kw - part_kw, rate / QUARTER_HOUR_H * gaps_kwh * limits.discharge_efficiency[index])


def _transpose_limits(limits: BatteryLimits) -> BatteryLimits:
    transposed = {name: np.ascontiguousarray(getattr(limits, name).T) for name in LIMIT_NAMES}
    return BatteryLimits(**transposed, energy_kwh=limits.energy_kwh)


def _fit_beside(wanted_kw: Floats, others_kw: Floats, can: _Range) -> Floats:
    """The part of a power that fits beside others that go before it; never beyond itself, never the other way."""
    fitting_kw = np.minimum(np.maximum(wanted_kw, -can.import_kw - others_kw), can.export_kw - others_kw)
    return np.asarray(np.minimum(np.maximum(fitting_kw, np.minimum(wanted_kw, 0.0)), np.maximum(wanted_kw, 0.0)))
