"""The availability of an asset in each delivery period: its ratings in force, less everything that is unavailable.

At every instant, available = max(0, rated − sum of all volumes missing at that instant). A period can do what its
worst instant can do: an outage of one minute counts for the whole quarter-hour it touches, and two outages that touch
the same quarter-hour one after the other do not add up, since they are never missing together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.market_time import EPOCH, PERIOD, floor_to_period
from gridloom.kernel.window import Window

CHARGE: Final = 0
DISCHARGE: Final = 1
ENERGY: Final = 2
FCR: Final = 3
CHARGE_EFFICIENCY: Final = 4
DISCHARGE_EFFICIENCY: Final = 5
USABLE: Final = 6

_MILLISECOND: Final = timedelta(milliseconds=1)
PERIOD_MS: Final = PERIOD // _MILLISECOND

# Volumes are summed as whole milliwatts, so that what was added and taken away again leaves exactly nothing.
_PARTS_PER_KW: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Rating:
    """The asset's ratings from an instant on, until a later rating takes over."""

    valid_from: datetime
    charge_power_kw: float
    discharge_power_kw: float
    energy_kwh: float
    fcr_limit_ratio: float = 0.8
    charge_efficiency: float = 1.0
    discharge_efficiency: float = 1.0
    usable_share: float = 1.0
    """The part of its energy between its lowest and highest allowed state of charge."""

    @property
    def fcr_power_kw(self) -> float:
        """The power to offer as FCR, which must be able to go either way; to the milliwatt, since 0.57 of 100 MW are
        57 MW and not a rounding error less."""
        return round(self.fcr_limit_ratio * min(self.charge_power_kw, self.discharge_power_kw), 6)


@dataclass(frozen=True, slots=True)
class CapacityOutage:
    """A volume that is missing over a window."""

    start: datetime
    end: datetime
    charge_power_kw: float
    discharge_power_kw: float
    energy_kwh: float


@dataclass(frozen=True, slots=True)
class RatingsAndOutages:
    """An asset's ratings and whatever is missing from it."""

    ratings: list[Rating] = field(default_factory=list)
    outages: list[CapacityOutage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AvailabilityRun:
    """Consecutive periods in which the same is available."""

    start: datetime
    end: datetime
    charge_power_kw: float
    discharge_power_kw: float
    energy_kwh: float


@dataclass(frozen=True, slots=True, eq=False)
class AvailabilitySeries:
    """Rated and available values, one row per delivery period: columns CHARGE and DISCHARGE in kW, ENERGY in kWh.

    What is rated has more columns: FCR in kW, and what its promises are weighed by, CHARGE_EFFICIENCY,
    DISCHARGE_EFFICIENCY and USABLE, the part of its energy between its allowed states of charge.
    """

    periods_ms: NDArray[np.int64]
    rated: NDArray[np.float64]
    available: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.periods_ms)

    @property
    def starts(self) -> list[datetime]:
        return [instant_of(period) for period in self.periods_ms.tolist()]

    def least(self, column: int) -> float:
        """The least that is available in any of the periods."""
        return float(self.available[:, column].min())

    def within(self, window: Window) -> AvailabilitySeries:
        """Those periods that the window touches."""
        first = np.searchsorted(self.periods_ms, milliseconds_of(floor_to_period(window.start)), "left")
        last = np.searchsorted(self.periods_ms, milliseconds_of(window.end), "left")
        return AvailabilitySeries(self.periods_ms[first:last], self.rated[first:last], self.available[first:last])

    def runs(self) -> list[AvailabilityRun]:
        """The series as its steps, for comparison with a long series."""
        changes = np.flatnonzero((self.available[1:] != self.available[:-1]).any(axis=1)) + 1
        firsts = np.concatenate(([0], changes))
        ends = np.append(self.periods_ms[firsts[1:]], self.periods_ms[-1] + PERIOD_MS)
        return [
            AvailabilityRun(instant_of(start), instant_of(end), charge, discharge, energy)
            for start, end, (charge, discharge, energy) in zip(
                self.periods_ms[firsts].tolist(), ends.tolist(), self.available[firsts].tolist(), strict=True
            )
        ]


def milliseconds_of(instant: datetime) -> int:
    """Since 1970, rounded down."""
    return (instant - EPOCH) // _MILLISECOND


def instant_of(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * _MILLISECOND


def availability_series(
    ratings: Sequence[Rating], outages: Sequence[CapacityOutage], window: Window
) -> AvailabilitySeries:
    """The series over every period that the window touches. Before the first rating, nothing is rated."""
    first = milliseconds_of(floor_to_period(window.start))
    end = milliseconds_of(window.end + PERIOD - _MILLISECOND)  # so that a part of a millisecond still counts
    grid = np.arange(first, end - (end - first) % PERIOD_MS, PERIOD_MS, dtype=np.int64)
    return _minimum_per_period(ratings, outages, grid, int(grid[-1]) + PERIOD_MS)


def availability_at(
    ratings: Sequence[Rating], outages: Sequence[CapacityOutage], instant: datetime
) -> AvailabilitySeries:
    """The one row that holds at this very instant."""
    instant_ms = milliseconds_of(instant)
    return _minimum_per_period(ratings, outages, np.array([instant_ms], dtype=np.int64), instant_ms + 1)


def maximum_rating(ratings: Sequence[Rating], window: Window) -> tuple[float, float, float]:
    """The most charge and discharge power (kW) and energy (kWh) rated at any instant of the window, however long."""
    valid_from, steps = _rated_steps(ratings)
    first = np.searchsorted(valid_from, milliseconds_of(window.start), "right")
    last = np.searchsorted(valid_from, milliseconds_of(window.end), "left")
    charge, discharge, energy = steps[first : last + 1, :FCR].max(axis=0).tolist()
    return charge, discharge, energy


def available_between(
    ratings_and_outages: RatingsAndOutages, grid_ms: NDArray[np.int64], end_ms: int
) -> AvailabilitySeries:
    """The least rated and available between each instant of the grid and the next, the last reaching to the end."""
    return _minimum_per_period(ratings_and_outages.ratings, ratings_and_outages.outages, grid_ms, end_ms)


def change_periods(ratings_and_outages: RatingsAndOutages) -> NDArray[np.int64]:
    """The periods with which what is there may change: those that hold a change, and those after them."""
    instants = [rating.valid_from for rating in ratings_and_outages.ratings]
    instants += [edge for outage in ratings_and_outages.outages for edge in (outage.start, outage.end)]
    periods_ms = np.array([milliseconds_of(instant) for instant in instants], dtype=np.int64)
    return np.unique(np.concatenate([periods_ms // PERIOD_MS, -(-periods_ms // PERIOD_MS)]))


def _minimum_per_period(
    ratings: Sequence[Rating], outages: Sequence[CapacityOutage], grid: NDArray[np.int64], end: int
) -> AvailabilitySeries:
    """The least rated and available between each instant of the grid and the next, the last reaching to `end`."""
    valid_from, rated_steps = _rated_steps(ratings)
    starts, ends, volumes = _missing_volumes(outages, int(grid[0]), end)
    inner = valid_from[(valid_from > grid[0]) & (valid_from < end)]
    instants = _merge_instants(grid, np.unique(np.concatenate((inner, starts, ends[ends < end]))))

    rated = rated_steps[np.searchsorted(valid_from, instants, "right")]
    changes = np.zeros((len(instants) + 1, 3), dtype=np.int64)
    np.add.at(changes, np.searchsorted(instants, starts), volumes)
    np.subtract.at(changes, np.searchsorted(instants, ends), volumes)
    missing = np.cumsum(changes[:-1], axis=0) / _PARTS_PER_KW
    available = np.maximum(rated[:, :FCR] - missing, 0.0)

    firsts = np.searchsorted(instants, grid)
    return AvailabilitySeries(
        grid, np.minimum.reduceat(rated, firsts, axis=0), np.minimum.reduceat(available, firsts, axis=0)
    )


def _merge_instants(grid: NDArray[np.int64], changes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The instants of both, in order and once each. The grid is long and in order already: sorting it again with the
    few changes would cost more than all the rest."""
    indices = np.searchsorted(grid, changes)
    is_new = grid[np.minimum(indices, len(grid) - 1)] != changes
    return np.insert(grid, indices[is_new], changes[is_new])


def _rated_steps(ratings: Sequence[Rating]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Instants at which a rating takes over, and the values before the first and from each; of equals the last wins."""
    ordered = sorted(ratings, key=lambda rating: rating.valid_from)
    valid_from = np.array([milliseconds_of(rating.valid_from) for rating in ordered], dtype=np.int64)
    values = [
        (
            rating.charge_power_kw,
            rating.discharge_power_kw,
            rating.energy_kwh,
            rating.fcr_power_kw,
            rating.charge_efficiency,
            rating.discharge_efficiency,
            rating.usable_share,
        )
        for rating in ordered
    ]
    return valid_from, np.array([(0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0), *values], dtype=np.float64)


def _missing_volumes(
    outages: Sequence[CapacityOutage], first: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends cut to `[first, end)`, and the volumes in whole parts; those outside fall away."""
    starts = np.array([milliseconds_of(outage.start) for outage in outages], dtype=np.int64)
    ends = np.array([milliseconds_of(outage.end) for outage in outages], dtype=np.int64)
    volumes = np.array(
        [(outage.charge_power_kw, outage.discharge_power_kw, outage.energy_kwh) for outage in outages], dtype=np.float64
    ).reshape(-1, 3)
    touching = (starts < end) & (ends > first)
    return (
        np.maximum(starts[touching], first),
        np.minimum(ends[touching], end),
        np.rint(volumes[touching] * _PARTS_PER_KW).astype(np.int64),
    )
