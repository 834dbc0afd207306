"""Stored energy over time and its limits: efficiencies, summaries of days, reserves and cycles; pure.

Power is signed as everywhere: positive leaves the battery, negative enters it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.market_calendar import PERIODS_PER_DAY, Floats
from gridloom.virtual_assets.model import AssetTerms, Block, Efficiency, Market

# A milliwatt-hour plus a billionth of the capacity: rounding errors of sums over decades of quarter-hours are smaller.
# It is absolute, so a series of changes cannot exceed it either.
ABSOLUTE_TOLERANCE_KWH: Final = 1e-6


RELATIVE_TOLERANCE: Final = 1e-9


def tolerance_kwh(energy_capacity_kwh: float) -> float:
    return ABSOLUTE_TOLERANCE_KWH + RELATIVE_TOLERANCE * energy_capacity_kwh


def energy_changes_kwh(power_kw: Floats, efficiency: Efficiency) -> Floats:
    """The change of the stored energy in each period: `Δt·(charge·η_c − discharge/η_d)`."""
    # 0.25 h is a power of two: the order of multiplications changes no bit.
    factor_h = np.where(power_kw < 0, -QUARTER_HOUR_H * efficiency.charge, -QUARTER_HOUR_H * (1 / efficiency.discharge))
    return np.asarray(power_kw * factor_h)


def energy_trajectory_kwh(initial_kwh: float, power_kw: Floats, efficiency: Efficiency) -> Floats:
    """The stored energy at the start of every period and, as the last value, at the end: one more than periods.

    `power_kw` is the sum of all blocks' schedules.
    """
    energy_kwh = np.empty(len(power_kw) + 1)
    energy_kwh[0] = 0.0
    np.cumsum(energy_changes_kwh(power_kw, efficiency), out=energy_kwh[1:])
    energy_kwh += initial_kwh
    return energy_kwh


def exported_kwh(power_kw: Floats) -> Floats:
    return np.asarray(np.maximum(power_kw, 0.0) * QUARTER_HOUR_H)


class DaySummaries(Struct, frozen=True, eq=False):
    """The change of stored energy of each day relative to its start: enough to validate days without their schedules.

    Rows, with a column for each day: the day's change, the lowest and the highest energy at the ends of its periods,
    and its exports (for cycles). A day without a schedule is all zeros.
    """

    rows_kwh: Floats

    @property
    def change_kwh(self) -> Floats:
        return np.asarray(self.rows_kwh[0])

    @property
    def lowest_kwh(self) -> Floats:
        return np.asarray(self.rows_kwh[1])

    @property
    def highest_kwh(self) -> Floats:
        return np.asarray(self.rows_kwh[2])

    @property
    def exported_kwh(self) -> Floats:
        return np.asarray(self.rows_kwh[3])

    def __len__(self) -> int:
        return len(self.rows_kwh[0])

    @staticmethod
    def zeros(days: int) -> DaySummaries:
        return DaySummaries(np.zeros((4, days)))

    @staticmethod
    def of(power_kw: Floats, efficiency: Efficiency) -> DaySummaries:
        """Of whole days: `power_kw` has a row for each day and 96 columns.

        Each summary is computed from its day alone, so rounding errors do not add up.
        """
        assert power_kw.shape[1] == PERIODS_PER_DAY
        if len(power_kw) == 1:
            return DaySummaries._of_day(power_kw[0], efficiency)
        relative_kwh = energy_changes_kwh(power_kw, efficiency).cumsum(axis=1)
        rows_kwh = np.empty((4, len(power_kw)))
        rows_kwh[0] = relative_kwh[:, -1]
        np.minimum.reduce(relative_kwh, axis=1, out=rows_kwh[1])
        np.maximum.reduce(relative_kwh, axis=1, out=rows_kwh[2])
        np.add.reduce(exported_kwh(power_kw), axis=1, out=rows_kwh[3])
        return DaySummaries(rows_kwh)

    @staticmethod
    def _of_day(power_kw: Floats, efficiency: Efficiency) -> DaySummaries:
        """The same for one day, in half the time."""
        relative_kwh = energy_changes_kwh(power_kw, efficiency).cumsum()
        rows_kwh = np.empty((4, 1))
        rows_kwh[0, 0] = relative_kwh[-1]
        rows_kwh[1, 0] = np.minimum.reduce(relative_kwh)
        rows_kwh[2, 0] = np.maximum.reduce(relative_kwh)
        rows_kwh[3, 0] = np.add.reduce(np.maximum(power_kw, 0.0)) * QUARTER_HOUR_H
        return DaySummaries(rows_kwh)

    def with_days(self, positions: Sequence[int], days: DaySummaries) -> DaySummaries:
        """These summaries with the days at `positions` replaced."""
        rows_kwh = self.rows_kwh.copy()
        if len(positions) == 1:  # as in most changes; a list as index is slow
            rows_kwh[:, positions[0]] = days.rows_kwh[:, 0]
        else:
            rows_kwh[:, positions] = days.rows_kwh
        return DaySummaries(rows_kwh)

    def day_starts_kwh(self, initial_kwh: float) -> Floats:
        """The stored energy at the start of each day and, as the last value, at the end of them all."""
        starts_kwh = np.zeros(len(self) + 1)
        self.rows_kwh[0].cumsum(out=starts_kwh[1:])
        starts_kwh += initial_kwh
        return starts_kwh


@dataclass(frozen=True, slots=True)
class BoundViolation:
    """The index of the first period that ends out of bounds, and its excess (negative: below empty)."""

    position: int
    excess_kwh: float


def first_excess(
    before_kwh: Floats, after_kwh: Floats, available_kwh: Floats, slack_kwh: float
) -> BoundViolation | None:
    """The first period whose energy a change moves out of `[0, available]`, or further out than it was.

    The arrays have the energy at each period's end and its available capacity. A violation that existed before, because
    capacity was lost later, is not held against a change that does not make it worse.
    """
    noise_kwh = slack_kwh / 1000
    above_kwh = after_kwh - available_kwh
    was_within = (before_kwh <= available_kwh + slack_kwh) & (before_kwh >= -slack_kwh)
    wrong = (above_kwh > slack_kwh) & (was_within | (after_kwh > before_kwh + noise_kwh))
    wrong |= (after_kwh < -slack_kwh) & (was_within | (after_kwh < before_kwh - noise_kwh))
    position = int(np.argmax(wrong))
    if not wrong[position]:
        return None
    if after_kwh[position] < 0:
        return BoundViolation(position, float(after_kwh[position]))
    return BoundViolation(position, float(above_kwh[position]))


def days_possibly_out_of_bounds(
    before: DaySummaries, after: DaySummaries, initial_kwh: float, lowest_available_kwh: Floats, slack_kwh: float
) -> npt.NDArray[np.bool_]:
    """The days whose energy a change may have moved out of bounds, by their summaries; conservative.

    `lowest_available_kwh` is the lowest available capacity of each day.
    """
    before_kwh, after_kwh = before.day_starts_kwh(initial_kwh)[:-1], after.day_starts_kwh(initial_kwh)[:-1]
    same = (before.highest_kwh == after.highest_kwh) & (before.lowest_kwh == after.lowest_kwh)
    moved = ~same | (after_kwh != before_kwh)
    high = after_kwh + after.highest_kwh > lowest_available_kwh + slack_kwh
    low = after_kwh + after.lowest_kwh < -slack_kwh
    return np.asarray(moved & (high | low))


def reserved_kwh(blocks: Iterable[Block], first: int, end: int) -> tuple[Floats, Floats]:
    """The energy and the headroom that reserves need at the end of each of the periods [first, end).

    `kW · reserve_minutes / 60`, for FCR in both directions, for aFRR in its own. The period before a block counts too,
    because the block starts with the energy at its end.
    """
    stored_kwh, free_kwh = np.zeros(end - first), np.zeros(end - first)
    for block in blocks:
        if block.market is Market.WHOLESALE or not block.overlaps(first, end + 1):
            continue
        span = slice(max(0, block.first - 1 - first), max(0, block.end - first))
        if block.market is not Market.AFRR_NEG:
            stored_kwh[span] += block.discharge_kw * block.reserve_minutes / 60
        if block.market is not Market.AFRR_POS:
            free_kwh[span] += block.charge_kw * block.reserve_minutes / 60
    return stored_kwh, free_kwh


def cycle_limits_kwh(terms: AssetTerms) -> tuple[float | None, float | None]:
    """The exports allowed in a market day and in a year; None without a limit."""
    capacity_kwh = terms.energy_capacity_kwh
    return (
        None if terms.daily_cycle_limit is None else terms.daily_cycle_limit * capacity_kwh,
        None if terms.annual_cycle_limit is None else terms.annual_cycle_limit * capacity_kwh,
    )


def may_exceed_cycles(exported_by_day_kwh: Floats, daily_limit_kwh: float | None, limit_kwh: float | None) -> bool:
    """Whether a market day or a year may exceed its limit, by the exports of UTC days; conservative."""
    if daily_limit_kwh is not None:
        # A market day lies within two UTC days.
        pairs_kwh = exported_by_day_kwh + np.append(exported_by_day_kwh[1:], 0.0)
        if pairs_kwh.max(initial=0.0) > daily_limit_kwh:
            return True
    return limit_kwh is not None and float(exported_by_day_kwh.sum()) > limit_kwh
