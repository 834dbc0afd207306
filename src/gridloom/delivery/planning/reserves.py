"""Balancing reserves of a zone's virtual assets: held by share, and by other batteries where one cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.delivery.model import CODE_OF_KIND, RESERVE_KINDS, Mask, PartKind
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
    """What is free of each battery, and which fraction of its firm holdings it still covers, by direction and energy.

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
        """What is left free once `held_kw` of each battery is reserved."""
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
        return self._sum(self.power_kw, batteries)

    def energy_by_kind(self, batteries: int) -> Floats:
        return self._sum(self.power_kw * self.reserve_h[:, None], batteries)

    def _sum(self, rows: Floats, batteries: int) -> Floats:
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
