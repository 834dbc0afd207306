"""Balancing reserves of a zone's virtual assets: held by share, and by other batteries where one cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.delivery.model import CODE_OF_KIND, RESERVE_KINDS, BatteryLimits, Mask, PartKind, sum_rows
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, Ints

_ENERGY_DIRECTIONS: Final = {PartKind.FCR: 2.0, PartKind.AFRR_POS: 1.0, PartKind.AFRR_NEG: 1.0}
"""FCR takes energy in store and headroom for as much."""


@dataclass(frozen=True, slots=True, eq=False)
class ReservePower:
    """Reserved power of a battery (its index); `asset_key` is the virtual asset whose block it is, 0 where its own.

    `reserve_h`: for how long full power must be in store, or have headroom.
    """

    battery: int
    kind: PartKind
    asset_key: int
    power_kw: Floats
    reserve_h: float


@dataclass(frozen=True, slots=True, eq=False)
class ReserveCapability:
    """Free capacity of each battery, and which fraction of its firm holdings it still covers, by direction and energy.

    `backs_virtual_asset`: only such batteries step in for others.
    """

    free_charge_kw: Floats
    free_discharge_kw: Floats
    free_kwh: Floats
    charge_coverage: Floats
    discharge_coverage: Floats
    energy_coverage: Floats
    backs_virtual_asset: Mask

    def coverage(self, kind: PartKind, battery: int) -> Floats:
        power = {
            PartKind.FCR: np.minimum(self.charge_coverage[battery], self.discharge_coverage[battery]),
            PartKind.AFRR_POS: self.discharge_coverage[battery],
            PartKind.AFRR_NEG: self.charge_coverage[battery],
        }[kind]
        return np.asarray(np.minimum(power, self.energy_coverage[battery]))

    def headroom_kw(self, kind: PartKind, reserve_h: float) -> Floats:
        """How much reserve of a kind each battery could hold beyond what is in its book."""
        power_kw = {
            PartKind.FCR: np.minimum(self.free_charge_kw, self.free_discharge_kw),
            PartKind.AFRR_POS: self.free_discharge_kw,
            PartKind.AFRR_NEG: self.free_charge_kw,
        }[kind]
        if reserve_h > 0:
            power_kw = np.minimum(power_kw, self.free_kwh / (_ENERGY_DIRECTIONS[kind] * reserve_h))
        return np.where(self.backs_virtual_asset, power_kw, 0.0)

    def without(self, kind: PartKind, held_kw: Floats, reserve_h: float) -> ReserveCapability:
        """The capability left once `held_kw` of each battery is reserved."""
        charge_kw = 0.0 if kind is PartKind.AFRR_POS else held_kw
        discharge_kw = 0.0 if kind is PartKind.AFRR_NEG else held_kw
        return replace(
            self,
            free_charge_kw=np.maximum(self.free_charge_kw - charge_kw, 0.0),
            free_discharge_kw=np.maximum(self.free_discharge_kw - discharge_kw, 0.0),
            free_kwh=np.maximum(self.free_kwh - _ENERGY_DIRECTIONS[kind] * reserve_h * held_kw, 0.0),
        )


@dataclass(frozen=True, slots=True, eq=False)
class HeldReserves:
    """Reserves as they are held: `keys` names each row of `power_kw` by battery index, kind's code and virtual asset's
    key, `reserve_h` its hours of energy; `shortfall_keys` those of `shortfall_kw`, by the battery that failed."""

    keys: Ints
    power_kw: Floats
    reserve_h: Floats
    shortfall_keys: Ints
    shortfall_kw: Floats
    free_charge_kw: Floats
    free_discharge_kw: Floats

    def by_kind(self, batteries: int) -> Floats:
        """FCR, aFRR upward and downward of each battery."""
        return self._sum_by_kind(self.power_kw, batteries)

    def energy_by_kind(self, batteries: int) -> Floats:
        return self._sum_by_kind(self.power_kw * self.reserve_h[:, None], batteries)

    def _sum_by_kind(self, rows: Floats, batteries: int) -> Floats:
        sums = np.zeros((len(RESERVE_KINDS), batteries, rows.shape[1]))
        kinds = {CODE_OF_KIND[kind]: index for index, kind in enumerate(RESERVE_KINDS)}
        for (battery, code, _), row in zip(self.keys.tolist(), rows, strict=True):
            sums[kinds[code], battery] += row
        return sums


def hold_reserves(asked: Sequence[ReservePower], capability: ReserveCapability) -> HeldReserves:
    """Each battery holds what a loss of capacity leaves of its reserves. What is missing of virtual assets' reserves is
    held by other batteries in proportion of what they have free; the rest is a shortfall."""
    periods = capability.free_charge_kw.shape[1]
    held: dict[tuple[int, int, int], tuple[Floats, float]] = {}
    shortfalls: dict[tuple[int, int, int], Floats] = {}
    for kind in RESERVE_KINDS:
        missing: list[ReservePower] = []
        for one in asked:
            if one.kind is not kind:
                continue
            covered_kw = one.power_kw * capability.coverage(kind, one.battery)
            _add_row(held, (one.battery, CODE_OF_KIND[kind], one.asset_key), covered_kw, one.reserve_h)
            if one.asset_key and (one.power_kw - covered_kw).max(initial=0.0) > POWER_TOLERANCE_KW:
                missing.append(replace(one, power_kw=one.power_kw - covered_kw))
        if missing:
            capability = _hold_missing(kind, missing, capability, held, shortfalls)
    return HeldReserves(
        np.array(list(held), dtype=np.int64).reshape(-1, 3),
        np.array([power_kw for power_kw, _ in held.values()]).reshape(-1, periods),
        np.array([hours for _, hours in held.values()]).reshape(-1),
        np.array(list(shortfalls), dtype=np.int64).reshape(-1, 3),
        np.array(list(shortfalls.values())).reshape(-1, periods),
        capability.free_charge_kw,
        capability.free_discharge_kw,
    )


def _hold_missing(
    kind: PartKind,
    missing: Sequence[ReservePower],
    capability: ReserveCapability,
    held: dict[tuple[int, int, int], tuple[Floats, float]],
    shortfalls: dict[tuple[int, int, int], Floats],
) -> ReserveCapability:
    reserve_h = max(one.reserve_h for one in missing)
    headroom_kw = capability.headroom_kw(kind, reserve_h)
    missing_kw = np.sum([one.power_kw for one in missing], axis=0)
    total_kw = headroom_kw.sum(axis=0)
    used, covered = np.zeros_like(total_kw), np.zeros_like(total_kw)
    np.divide(np.minimum(missing_kw, total_kw), total_kw, out=used, where=total_kw > 0)
    np.divide(np.minimum(missing_kw, total_kw), missing_kw, out=covered, where=missing_kw > 0)
    taken_kw = headroom_kw * used
    for one in missing:
        fraction = np.zeros_like(missing_kw)
        np.divide(one.power_kw, missing_kw, out=fraction, where=missing_kw > 0)
        for battery in np.flatnonzero(taken_kw.max(axis=1, initial=0.0) > POWER_TOLERANCE_KW).tolist():
            key = (battery, CODE_OF_KIND[kind], one.asset_key)
            _add_row(held, key, taken_kw[battery] * fraction, reserve_h)
        left_kw = one.power_kw * (1.0 - covered)
        left_kw[left_kw < POWER_TOLERANCE_KW] = 0.0
        if left_kw.any():
            key = (one.battery, CODE_OF_KIND[kind], one.asset_key)
            shortfalls[key] = shortfalls.get(key, 0.0) + left_kw
    return capability.without(kind, taken_kw, reserve_h)


def _add_row(
    held: dict[tuple[int, int, int], tuple[Floats, float]], key: tuple[int, int, int], power_kw: Floats, hours: float
) -> None:
    before_kw, before_h = held.get(key, (np.zeros_like(power_kw), hours))
    held[key] = before_kw + power_kw, max(before_h, hours)


def hold_unstored(
    limits: BatteryLimits,
    starts_kwh: Floats,
    ends_kwh: Floats,
    power_kw: Floats,
    drift_kw: Floats,
    keys: Ints,
    reserve_kw: Floats,
) -> tuple[Ints, Floats]:
    """Let others of the zone step in for reserved power that lacks its energy, as far as their dispatch leaves them
    free power and energy throughout the period, in proportion of that.

    `starts_kwh` and `ends_kwh` are in reach at the start and at the end of each period. The keys of all rows, those of
    batteries that step in appended, and what each row holds less than it is asked: below zero where it holds more.
    """
    unstored_kw = find_unstored_kw(limits, starts_kwh, keys, reserve_kw)
    lacking = np.flatnonzero(unstored_kw.any(axis=1))
    if not len(lacking):
        return keys, unstored_kw
    whole = np.ones_like(power_kw)
    capability = ReserveCapability(
        _find_unused_kw(limits.free_charge_kw, limits.charge_kw, -drift_kw, -power_kw),
        _find_unused_kw(limits.free_discharge_kw, limits.discharge_kw, drift_kw, power_kw),
        *(whole, whole, whole, whole),
        limits.backs_virtual_asset,
    )
    lowest_kwh, highest_kwh = (way(starts_kwh, ends_kwh) for way in (np.minimum, np.maximum))
    stored_kwh = np.maximum(lowest_kwh - limits.low_kwh, 0.0) * limits.discharge_efficiency
    headroom_kwh = np.maximum(limits.high_kwh - highest_kwh, 0.0) / limits.charge_efficiency
    stored_h = _find_hours(limits.reserve_stored_kwh * limits.discharge_efficiency, PartKind.AFRR_POS, keys, reserve_kw)
    headroom_h = _find_hours(
        limits.reserve_headroom_kwh / limits.charge_efficiency, PartKind.AFRR_NEG, keys, reserve_kw
    )
    held: dict[tuple[int, int, int], tuple[Floats, float]] = {}
    for kind in RESERVE_KINDS:
        by_kind: dict[PartKind, tuple[Floats, Floats]] = {
            PartKind.FCR: (np.maximum(stored_h, headroom_h), 2 * np.minimum(stored_kwh, headroom_kwh)),
            PartKind.AFRR_POS: (stored_h, stored_kwh),
            PartKind.AFRR_NEG: (headroom_h, headroom_kwh),
        }
        hours, free_kwh = by_kind[kind]
        missing = [
            ReservePower(battery, kind, asset_key, unstored_kw[row], float(hours[battery]))
            for row, (battery, code, asset_key) in zip(lacking.tolist(), keys[lacking].tolist(), strict=True)
            if code == CODE_OF_KIND[kind]
        ]
        if not missing:
            continue
        capability = _hold_missing(kind, missing, replace(capability, free_kwh=free_kwh), held, {})
        for (battery, code, _), (held_kw, reserve_h) in held.items():
            if code == CODE_OF_KIND[kind]:
                stored_kwh[battery] -= 0.0 if kind is PartKind.AFRR_NEG else reserve_h * held_kw
                headroom_kwh[battery] -= 0.0 if kind is PartKind.AFRR_POS else reserve_h * held_kw
    return _subtract_held(keys, unstored_kw, held)


def _find_unused_kw(free_kw: Floats, limit_kw: Floats, drift_kw: Floats, power_kw: Floats) -> Floats:
    """Power of one direction that is in no book and that the dispatch leaves."""
    unused_kw = np.minimum(free_kw - np.maximum(drift_kw, 0.0), limit_kw - np.maximum(power_kw, 0.0))
    return np.asarray(np.maximum(unused_kw, 0.0))


def _find_hours(energy_kwh: Floats, kind: PartKind, keys: Ints, reserve_kw: Floats) -> Floats:
    """For how long each battery's reserves in the direction of a kind need full power, at most."""
    rows = (keys[:, 1] == CODE_OF_KIND[kind]) | (keys[:, 1] == CODE_OF_KIND[PartKind.FCR])
    power_kw = sum_rows(reserve_kw[rows], keys[rows, 0], len(energy_kwh))
    hours = np.divide(energy_kwh, power_kw, out=np.zeros_like(energy_kwh), where=power_kw > 0)
    return np.asarray(hours.max(axis=1, initial=0.0))


def _subtract_held(
    keys: Ints, unstored_kw: Floats, held: dict[tuple[int, int, int], tuple[Floats, float]]
) -> tuple[Ints, Floats]:
    rows = {tuple(key): row for row, key in enumerate(keys.tolist())}
    new = [key for key in held if key not in rows]
    rows |= {key: len(keys) + number for number, key in enumerate(new)}
    unstored_kw = np.concatenate([unstored_kw, np.zeros((len(new), unstored_kw.shape[1]))])
    for key, (held_kw, _) in held.items():
        unstored_kw[rows[key]] -= held_kw
    return np.concatenate([keys, np.array(new, dtype=np.int64).reshape(-1, 3)]), unstored_kw


def find_unstored_kw(limits: BatteryLimits, start_kwh: Floats, keys: Ints, reserve_kw: Floats) -> Floats:
    """The part of each row of virtual assets' reserved power that lacks the energy it needs, in store or as headroom,
    at the start of a period: drift may have brought a battery out of the bounds that its reserves set.

    `start_kwh` is in reach then. Rows are named as in `ZoneInput`; a battery's own awards are its
    owner's concern.
    """
    unstored_kw = np.zeros_like(reserve_kw)
    if not len(keys):
        return unstored_kw
    below = _uncovered_fraction(limits.low_kwh - start_kwh, limits.reserve_stored_kwh)
    above = _uncovered_fraction(start_kwh - limits.high_kwh, limits.reserve_headroom_kwh)
    by_kind = {PartKind.FCR: np.maximum(below, above), PartKind.AFRR_POS: below, PartKind.AFRR_NEG: above}
    by_code = {CODE_OF_KIND[kind]: fraction for kind, fraction in by_kind.items()}
    for row, (battery, code, asset_key) in enumerate(keys.tolist()):
        if asset_key:
            unstored_kw[row] = reserve_kw[row] * by_code[code][battery]
    unstored_kw[unstored_kw < POWER_TOLERANCE_KW] = 0.0
    return unstored_kw


def _uncovered_fraction(missing_kwh: Floats, needed_kwh: Floats) -> Floats:
    fraction = np.zeros_like(missing_kwh)
    np.divide(np.maximum(missing_kwh, 0.0), needed_kwh, out=fraction, where=needed_kwh > 0)
    return np.minimum(fraction, 1.0)
