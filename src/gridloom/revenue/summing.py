"""From kept sheets and sums to what the formulas take: measures summed over assets and buckets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridloom.revenue.formulas import FloatArray
from gridloom.revenue.grid import Grid
from gridloom.revenue.model import Buckets, Contribution, Rating
from gridloom.settlements.measures import BLOCK_SOURCES, BLOCKS_A_DAY, MEASURES, POSITION, Source, positions_of
from gridloom.settlements.sheets import decode_sheets, spread_blocks

BoolArray: TypeAlias = NDArray[np.bool_]

LEVEL_MEASURES: Final = ("fcr_capacity_mw", "fcr_price_capacity_eur")
"""Each asset's own level in a bucket, then summed over the assets."""

_SHARED: Final = np.array([[measure.is_shared] for measure in MEASURES])


@dataclass(frozen=True, slots=True)
class KeptDay:
    """The sheets of one asset's market day, by source; a source without facts is left out."""

    asset_key: int
    number: int
    sheets: Mapping[Source, bytes]


@dataclass(slots=True)
class Summation:
    """Sums over assets as they are added one by one."""

    bucket_count: int
    measures: FloatArray = field(init=False)
    levels: dict[str, FloatArray] = field(init=False)

    def __post_init__(self) -> None:
        self.measures = np.zeros((len(MEASURES), self.bucket_count))
        self.levels = {
            "fcr_capacity_mw": np.full(self.bucket_count, np.nan),
            "fcr_price_capacity_eur": np.zeros(self.bucket_count),
        }

    def add(self, part: Contribution, buckets: FloatArray) -> None:
        """One asset's measures by bucket."""
        if part.weight == 1.0 and part.holders == 1:
            self.measures += buckets
        else:
            self.measures += buckets * np.where(_SHARED, part.weight, float(part.holders))
        hours = buckets[POSITION["fcr_delivery_h"]]
        delivers = hours > 0
        if not delivers.any():
            return
        capacity_mw_h = part.weight * buckets[POSITION["fcr_capacity_mw_h"]][delivers]
        price_eur_mw_h = buckets[POSITION["fcr_price_eur_mw"]][delivers] / hours[delivers]
        level = self.levels["fcr_capacity_mw"]
        level[delivers] = np.nan_to_num(level[delivers]) + capacity_mw_h / hours[delivers]
        self.levels["fcr_price_capacity_eur"][delivers] += price_eur_mw_h * capacity_mw_h

    def sums(self) -> dict[str, FloatArray]:
        return {measure.name: self.measures[n] for n, measure in enumerate(MEASURES)} | self.levels


def sum_over_assets(
    grid: Grid, days: Iterable[KeptDay], contributions: Sequence[Contribution], sources: Iterable[Source]
) -> dict[str, FloatArray]:
    """All measures by bucket, from the sheets of the grid's days."""
    wanted = frozenset(sources)
    by_asset: dict[int, list[KeptDay]] = {}
    for day in days:
        by_asset.setdefault(day.asset_key, []).append(day)
    summation = Summation(len(grid.buckets))
    for part in contributions:
        if part.asset_key in by_asset:
            summation.add(part, grid.bucket_sums(_by_period(grid, by_asset[part.asset_key], wanted)))
    return summation.sums()


def presence(grid: Grid, days: Iterable[KeptDay], contributions: Sequence[Contribution], source: Source) -> BoolArray:
    """In which buckets some asset has a fact of this source."""
    found = np.zeros(len(grid.buckets), dtype=np.bool_)
    by_asset: dict[int, list[KeptDay]] = {}
    for day in days:
        by_asset.setdefault(day.asset_key, []).append(day)
    for part in contributions:
        if part.asset_key in by_asset:
            periods = _by_period(grid, by_asset[part.asset_key], frozenset({source}))
            found |= (np.abs(grid.bucket_sums(np.abs(periods))) > 0).any(axis=0)
    return found


def _by_period(grid: Grid, days: Sequence[KeptDay], sources: frozenset[Source]) -> FloatArray:
    """One asset's measures by period over the whole grid."""
    result = np.zeros((len(MEASURES), grid.period_count))
    by_number = {day.number: day.sheets for day in days}
    numbers: list[int] = grid.numbers.tolist()
    widths: list[int] = np.diff(grid.offsets).tolist()
    for source in sources:
        bodies = [by_number[number].get(source) if number in by_number else None for number in numbers]
        if not any(bodies):
            continue
        if source in BLOCK_SOURCES:
            blocks = decode_sheets(source, bodies, [BLOCKS_A_DAY] * len(bodies))
            result[positions_of(source)] = spread_blocks(blocks, grid.numbers)
        else:
            result[positions_of(source)] = decode_sheets(source, bodies, widths)
    return result


def rated_power_mw(ratings: Sequence[Rating], buckets: Buckets) -> FloatArray:
    """The rated power that stands in each bucket: that of the assets alive in it, or of all where none is."""
    if len(ratings) == 1:
        return ratings[0].mean_mw(buckets.starts_s, buckets.ends_s)
    alive = np.zeros(len(buckets))
    ever = np.zeros(len(buckets))
    for rating in ratings:
        power_mw = rating.mean_mw(buckets.starts_s, buckets.ends_s)
        ever += power_mw
        alive += np.where(rating.is_alive(buckets.starts_s, buckets.ends_s), power_mw, 0.0)
    return np.where(alive > 0, alive, ever)
