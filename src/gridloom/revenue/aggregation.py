"""From stored sheets and sums to what the formulas take: measures summed over assets and buckets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridloom.market_calendar import BLOCKS_PER_DAY, Ints
from gridloom.revenue.formulas import FloatArray, quotient
from gridloom.revenue.grid import Grid
from gridloom.revenue.model import Contribution, RatedPowerSteps, ReportBuckets
from gridloom.settlements.measures import (
    AGGREGATED_SOURCES,
    BLOCK_SOURCES,
    MEASURES,
    POSITION,
    FactSource,
    positions_of,
)
from gridloom.settlements.period_aggregates import decode_sheets, spread_blocks

BoolArray: TypeAlias = NDArray[np.bool_]

LEVEL_MEASURES: Final = ("fcr_capacity_mw", "fcr_price_capacity_eur")
"""Each asset's own level in a bucket, then summed over the assets."""

_SHARED: Final = np.array([[measure.is_shared] for measure in MEASURES])


@dataclass(frozen=True, slots=True)
class DaySheets:
    """The sheets of consecutive market days: by asset and source one a day, None for a day without facts."""

    first: int
    """The number of the first day."""
    by_asset: Mapping[int, Mapping[FactSource, Sequence[bytes | None]]]

    def on(self, numbers: Ints) -> DaySheets:
        """Those of some consecutive days among them."""
        low, high = int(numbers[0]) - self.first, int(numbers[-1]) + 1 - self.first
        by_asset = {
            key: {source: bodies[low:high] for source, bodies in sheets.items()}
            for key, sheets in self.by_asset.items()
        }
        return DaySheets(int(numbers[0]), by_asset)


@dataclass(slots=True)
class Summation:
    """Sums over assets as they are added one by one."""

    bucket_count: int
    measures: FloatArray | None = None
    levels: dict[str, FloatArray] = field(init=False)

    def __post_init__(self) -> None:
        self.levels = {
            "fcr_capacity_mw": np.full(self.bucket_count, np.nan),
            "fcr_price_capacity_eur": np.zeros(self.bucket_count),
        }

    def add(self, part: Contribution, buckets: FloatArray) -> None:
        """One asset's measures by bucket; the array is taken over."""
        if buckets[POSITION["fcr_delivery_h"]].any():
            self._add_levels(part, buckets)
        if part.weight != 1.0 or part.holders != 1:
            buckets = buckets * np.where(_SHARED, part.weight, float(part.holders))
        if self.measures is None:
            self.measures = buckets
        else:
            self.measures += buckets

    def _add_levels(self, part: Contribution, buckets: FloatArray) -> None:
        hours = buckets[POSITION["fcr_delivery_h"]]
        delivers = hours > 0
        capacity_mw_h = part.weight * buckets[POSITION["fcr_capacity_mw_h"]]
        capacity_mw = quotient(capacity_mw_h, hours)
        price_eur_mw_h = quotient(buckets[POSITION["fcr_price_eur_mw"]], hours)
        known = self.levels["fcr_capacity_mw"]
        together = np.where(delivers, known + capacity_mw, known)
        self.levels["fcr_capacity_mw"] = np.where(np.isnan(known), capacity_mw, together)
        self.levels["fcr_price_capacity_eur"] += np.where(delivers, price_eur_mw_h * capacity_mw_h, 0.0)

    def sums(self) -> dict[str, FloatArray]:
        measures = np.zeros((len(MEASURES), self.bucket_count)) if self.measures is None else self.measures
        return {measure.name: measures[n] for n, measure in enumerate(MEASURES)} | self.levels


def sum_over_assets(
    grid: Grid, sheets: DaySheets, contributions: Sequence[Contribution], sources: Collection[FactSource]
) -> dict[str, FloatArray]:
    """All measures by bucket, from the sheets of the grid's days."""
    summation = Summation(len(grid.buckets))
    for part in contributions:
        if part.asset_key in sheets.by_asset:
            summation.add(part, grid.bucket_sums(_by_period(grid, sheets.by_asset[part.asset_key], sources)))
    return summation.sums()


def _by_period(
    grid: Grid, sheets: Mapping[FactSource, Sequence[bytes | None]], wanted: Collection[FactSource]
) -> FloatArray:
    """One asset's measures by period over the whole grid."""
    result = np.empty((len(MEASURES), grid.period_count))
    widths: list[int] = np.diff(grid.offsets).tolist()
    for source in AGGREGATED_SOURCES:
        own = result[positions_of(source)]
        bodies = sheets.get(source, ()) if source in wanted else ()
        if not any(bodies):
            own[:] = 0.0
        elif source in BLOCK_SOURCES:
            blocks = decode_sheets(source, bodies, [BLOCKS_PER_DAY] * len(bodies))
            own[:] = spread_blocks(blocks, grid.numbers)
        else:
            decode_sheets(source, bodies, widths, into=own)
    return result


def rated_power_mw(ratings: Sequence[RatedPowerSteps], buckets: ReportBuckets) -> FloatArray:
    """The rated power in force in each bucket.

    That of one asset is its own. Several count for the time of the bucket in which each of them is alive; where none
    is, all of them count.
    """
    if len(ratings) == 1:
        return ratings[0].mean_mw(buckets.starts_s, buckets.ends_s)
    alive = np.zeros(len(buckets))
    ever = np.zeros(len(buckets))
    for rating in ratings:
        ever += rating.mean_mw(buckets.starts_s, buckets.ends_s)
        alive += rating.lived_mw(buckets.starts_s, buckets.ends_s)
    return np.where(alive > 0, alive, ever)
