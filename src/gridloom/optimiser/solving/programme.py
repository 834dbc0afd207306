"""The programme of one battery, as arrays: prices, bounds of power and energy, cycles, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

QUARTER_HOUR_H = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class CycleLimit:
    """The remaining discharge within each group of periods (a market day, a year).

    `groups` gives each period's group, counted from 0; `left_kwh` what each group has left, grid-side.
    """

    groups: Ints
    left_kwh: Floats


@dataclass(frozen=True, slots=True)
class EnergyBound:
    """`weight` × the energy at the end of a period + Σ weight × earlier energies, within bounds."""

    weight: float
    earlier: tuple[tuple[int, float], ...]
    lowest_kwh: float
    highest_kwh: float

    def find_bounds(self, stored_kwh: Sequence[float]) -> tuple[float, float]:
        """Of the energy at the end of the period, by those at the ends of all periods before."""
        rest_kwh = sum(weight * stored_kwh[period] for period, weight in self.earlier)
        return (self.lowest_kwh - rest_kwh) / self.weight, (self.highest_kwh - rest_kwh) / self.weight


@dataclass(frozen=True, slots=True, eq=False)
class EnergyTies:
    """Bounds of sums of energies: each row's `Σ weight × energy at the end of a period` stays within its bounds.

    `rows`, `periods` and `weights` are the terms; rows are in the order of the periods that they bound.
    """

    rows: Ints
    periods: Ints
    weights: Floats
    lowest_kwh: Floats
    highest_kwh: Floats

    def __len__(self) -> int:
        return len(self.lowest_kwh)

    def hold(self, energy_kwh: Floats) -> bool:
        sums_kwh = np.bincount(self.rows, self.weights * energy_kwh[self.periods], minlength=len(self))
        return bool(((sums_kwh >= self.lowest_kwh) & (sums_kwh <= self.highest_kwh)).all())

    def list_by_period(self) -> dict[int, list[EnergyBound]]:
        """By the last period of each row."""
        terms: list[dict[int, float]] = [{} for _ in range(len(self))]
        for row, period, weight in zip(self.rows.tolist(), self.periods.tolist(), self.weights.tolist(), strict=True):
            terms[row][period] = weight
        found: dict[int, list[EnergyBound]] = {}
        for row, weights in enumerate(terms):
            last = max(weights)
            if weights[last] > 0:  # else all of what is stored then goes out of reach
                earlier = tuple((period, weight) for period, weight in weights.items() if period != last)
                bounds = float(self.lowest_kwh[row]), float(self.highest_kwh[row])
                found.setdefault(last, []).append(EnergyBound(weights[last], earlier, *bounds))
        return found

    def take_first(self, count: int) -> EnergyTies:
        """The first so many rows."""
        kept = self.rows < count
        return EnergyTies(
            self.rows[kept],
            self.periods[kept],
            self.weights[kept],
            self.lowest_kwh[:count],
            self.highest_kwh[:count],
        )


@dataclass(frozen=True, slots=True, eq=False)
class BatteryProgramme:
    """One battery over a run of periods of `step_h` hours each.

    The power is the battery's net power, positive when it discharges, within `[min_kw, max_kw]`; where both are equal
    it is fixed. The energy at the end of each period stays within `[lowest_kwh, highest_kwh]`; what must hold at the
    very end is part of the last pair.
    """

    price_eur_mwh: Floats
    min_kw: Floats
    max_kw: Floats
    lowest_kwh: Floats
    highest_kwh: Floats
    initial_kwh: float
    charge_efficiency: float
    discharge_efficiency: float
    cycles: tuple[CycleLimit, ...] = ()
    step_h: float = QUARTER_HOUR_H
    wear_eur_mwh: float = 0.0
    """The cost of a MWh that is discharged: the price of the cycles that it takes from later days."""
    ties: EnergyTies | None = None
    """The bounds of what is in reach, where energy capacity that is missing takes some of its content with it; then
    `lowest_kwh` and `highest_kwh` bound what is stored, in reach and out of it."""

    def __len__(self) -> int:
        return len(self.price_eur_mwh)

    @property
    def charge_kw(self) -> Floats:
        """The most that can be charged."""
        return np.maximum(-self.min_kw, 0.0)

    @property
    def discharge_kw(self) -> Floats:
        return np.maximum(self.max_kw, 0.0)

    def value_eur(self, power_kw: Floats) -> float:
        """Its earnings, less wear."""
        wear = self.wear_eur_mwh * float(np.maximum(power_kw, 0.0).sum()) if self.wear_eur_mwh else 0.0
        return (float(self.price_eur_mwh @ power_kw) - wear) * self.step_h / 1000

    def energy_kwh(self, power_kw: Floats) -> Floats:
        """The stored energy at the end of each period."""
        factor = np.where(power_kw < 0, self.charge_efficiency, 1 / self.discharge_efficiency)
        return np.asarray(self.initial_kwh - np.cumsum(power_kw * factor) * self.step_h)


class SolutionStatus(StrEnum):
    OPTIMAL = "OPTIMAL"
    TIME_LIMIT = "TIME_LIMIT"


@dataclass(frozen=True, slots=True, eq=False)
class ShadowPrices:
    """The marginal value of each limit over the whole window, in EUR per kW or kWh.

    `stored_eur_mwh` is by period: what one more MWh in store at its end is worth.
    """

    charge_eur_kw: float
    discharge_eur_kw: float
    energy_eur_kwh: float
    stored_eur_mwh: Floats
    cycles_eur_kwh: tuple[Floats, ...] = ()
    end_eur_kwh: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """`bound_eur` is proven: no schedule earns more; `value_eur` is what this one earns."""

    status: SolutionStatus
    power_kw: Floats
    value_eur: float
    bound_eur: float
    shadow: ShadowPrices | None = field(default=None)

    @property
    def gap(self) -> float:
        """How far from the bound, relative to it; 0 where optimality is proven."""
        if self.status is SolutionStatus.OPTIMAL:
            return 0.0
        return max(0.0, self.bound_eur - self.value_eur) / max(abs(self.bound_eur), 1e-9)


class InfeasibilityRule(StrEnum):
    """The rule that makes a schedule infeasible."""

    ENERGY_ABOVE = "ENERGY_ABOVE"
    ENERGY_BELOW = "ENERGY_BELOW"
    CYCLE_LIMIT = "CYCLE_LIMIT"
    END_STATE_OF_CHARGE = "END_STATE_OF_CHARGE"
    POWER = "POWER"
    SHARED_LIMIT = "SHARED_LIMIT"


class InfeasibleError(Exception):
    """No power satisfies all bounds: the rule and the first period that bind."""

    def __init__(self, rule: InfeasibilityRule, position: int, missing_kwh: float) -> None:
        super().__init__(f"{rule} at {position}")
        self.rule = rule
        self.position = position
        self.missing_kwh = missing_kwh


class CancelledError(Exception):
    """Solving was cancelled because the request has ended."""
