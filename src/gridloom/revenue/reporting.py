"""A report: the sums of a subject over a window at a resolution, part by part, now or as of an earlier instant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.window import Window
from gridloom.market_calendar import Ints, day_start
from gridloom.platform.database.pool import Database, Pool, repeatable_read
from gridloom.revenue import store
from gridloom.revenue.accruals import auction_sums, tolling_sums
from gridloom.revenue.aggregation import DaySheets, rated_power_mw, sum_over_assets
from gridloom.revenue.categories import CATEGORIES, Category
from gridloom.revenue.day_sheets import read_stored_days
from gridloom.revenue.formulas import FloatArray, Sums
from gridloom.revenue.grid import days_of, grid_of, parts_of
from gridloom.revenue.model import AuctionResult, RatedPowerSteps, ReportBuckets, SecondsSpan, Subject, Toll
from gridloom.revenue.raw import raw_sums
from gridloom.settlements.measures import AGGREGATED_SOURCES, FactSource
from gridloom.settlements.store import read_starts

ASSET_DAY_BATCH_SIZE: Final = 8_000
DAY_BATCH_SIZE: Final = 375
"""Bound what is read at a time: the sheets of 8,000 asset-days, or those of a year."""
DAYS_IN_A_PART: Final = 183
"""Two parts a year: fewer are sent late, more cost the fixed part of their work more often."""
SHORTEST_FIRST: Final = (*AGGREGATED_SOURCES, FactSource.TOLLING, FactSource.AUCTION)
"""Periods, blocks, contracts."""


@dataclass(frozen=True)
class Report:
    """The parameters of a report."""

    subject: Subject
    window: Window
    resolution: Resolution
    categories: tuple[Category, ...]
    as_of: datetime | None = None
    provisional_sources: frozenset[FactSource] = frozenset()
    """Of which there are awards in the window that are not settled yet."""

    @cached_property
    def span(self) -> SecondsSpan:
        return SecondsSpan(self.window.start.timestamp(), self.window.end.timestamp())

    @cached_property
    def sources(self) -> frozenset[FactSource]:
        return frozenset().union(*(category.sources for category in self.categories))

    @cached_property
    def aggregated_sources(self) -> tuple[FactSource, ...]:
        return tuple(source for source in AGGREGATED_SOURCES if source in self.sources)

    @cached_property
    def measures(self) -> frozenset[str]:
        return frozenset().union(*(category.formula.measures for category in self.categories))


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive buckets of a report with their sums.

    present: for `raw`, in which buckets each source has a fact; empty where every bucket counts.
    rated_power_mw: for `raw`, over the time of each source's facts, which may be a quarter-hour or years.
    """

    buckets: ReportBuckets
    sums: Sums
    present: dict[FactSource, np.ndarray[tuple[int], np.dtype[np.bool_]]]
    rated_power_mw: dict[FactSource, FloatArray] = field(default_factory=dict)

    def values(self, category: Category) -> FloatArray:
        if not self.rated_power_mw or "rated_power_mw" not in category.formula.measures:
            return self.sums.of(category.formula)
        return Sums({**self.sums, "rated_power_mw": self._power_of(category)}).of(category.formula)

    def _power_of(self, category: Category) -> FloatArray:
        """Over the fact that starts there; where several of the category do, over the longest kind of them."""
        power_mw = np.zeros(len(self.buckets))
        for source in (source for source in SHORTEST_FIRST if source in category.sources):
            power_mw = np.where(self.present[source], self.rated_power_mw[source], power_mw)
        return power_mw

    def is_shown(self, category: Category) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        """Which buckets have a point of this category; None for all."""
        if not self.present:
            return None
        shown = np.zeros(len(self.buckets), dtype=np.bool_)
        for source in category.sources:
            shown |= self.present[source]
        return shown


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Inputs that are read once for a report."""

    ratings: dict[int, RatedPowerSteps]
    rated: tuple[RatedPowerSteps, ...]
    tolls: Sequence[Toll]
    results: Sequence[AuctionResult]
    weights: dict[int, float]


def all_categories(names: Collection[str] = ()) -> tuple[Category, ...]:
    """The named categories in the order of the table, or all of them."""
    return tuple(category for name, category in CATEGORIES.items() if not names or name in names)


async def report_parts(db: Pool, report: Report) -> AsyncIterator[Part]:
    """The report in parts of consecutive days. Each part is as of one instant; memory holds one part at a time."""
    if report.resolution is not Resolution.RAW:
        async for part in bucket_parts(db, report):
            yield part
        return
    background = await _read_background(db, report)
    async for part in _raw_parts(db, report, background, days_of(report.span), _find_batch_size(report)):
        yield part


def _find_batch_size(report: Report) -> int:
    """How many days are read at a time."""
    return max(1, min(DAY_BATCH_SIZE, ASSET_DAY_BATCH_SIZE // max(1, len(report.subject.contributions))))


async def bucket_parts(db: Database, report: Report) -> AsyncIterator[Part]:
    """A report in buckets, of any resolution but `raw`."""
    background = await _read_background(db, report)
    numbers = days_of(report.span)
    if report.resolution is Resolution.DAY and report.as_of is None:
        async for part in _daily_parts(db, report, background, numbers):
            yield part
        return
    for days in parts_of(numbers, _find_batch_size(report)):
        async for part in _parts_from_sheets(db, report, background, days):
            yield part


async def begun(parts: AsyncIterator[Part]) -> AsyncIterator[Part]:
    """The same parts, the first of them made already: what fails at the start fails before anything is sent."""
    first = await anext(parts, None)

    async def chained() -> AsyncIterator[Part]:
        if first is not None:
            yield first
        async for part in parts:
            yield part

    return chained()


async def _read_background(db: Database, report: Report) -> ReportInputs:
    subject, sources = report.subject, report.sources
    tolls: Sequence[Toll] = ()
    results: Sequence[AuctionResult] = ()
    window = report.window
    if FactSource.TOLLING in sources:
        tolls = await store.read_tolls(db, subject.keys, window.start, window.end, report.as_of)
    if FactSource.AUCTION in sources:
        results = await store.read_auction_results(db, subject.keys, window.start, window.end, report.as_of)
    accruing = {toll.asset_key for toll in tolls} | {result.asset_key for result in results}
    ratings = await store.read_ratings(db, accruing | set(subject.rated_keys), report.as_of)
    rated = tuple(ratings[key] for key in subject.rated_keys if key in ratings)
    weights = {part.asset_key: part.weight for part in subject.contributions}
    return ReportInputs(ratings, rated, tolls, results, weights)


async def _parts_from_sheets(db: Database, report: Report, background: ReportInputs, days: Ints) -> AsyncIterator[Part]:
    """Days read together, then summed up some at a time: the first are on their way while others wait."""
    sheets = await _stored_days(db, report, days)
    for some in parts_of(days, DAYS_IN_A_PART):
        yield await asyncio.to_thread(_sum_sheets, report, background, some, sheets.on(some))


def _sum_sheets(report: Report, background: ReportInputs, days: Ints, sheets: DaySheets) -> Part:
    grid = grid_of(days, report.resolution, report.span)
    sums = sum_over_assets(grid, sheets, report.subject.contributions, report.aggregated_sources)
    return _complete_part(report, background, grid.buckets, sums)


def _complete_part(
    report: Report, background: ReportInputs, buckets: ReportBuckets, sums: dict[str, FloatArray]
) -> Part:
    """The stored sums completed by what accrues with time and by the rated power."""
    needed = report.measures
    if FactSource.TOLLING in report.sources:
        sums |= tolling_sums(background.tolls, background.ratings, background.weights, buckets)
    if FactSource.AUCTION in report.sources:
        sums |= auction_sums(background.results, background.ratings, background.weights, buckets)
    if "rated_power_mw" in needed:
        sums["rated_power_mw"] = rated_power_mw(background.rated, buckets)
    return Part(buckets, Sums({name: values for name, values in sums.items() if name in needed}), {})


async def _stored_days(db: Database, report: Report, days: Ints) -> DaySheets:
    return await read_stored_days(db, report.subject.keys, days, report.aggregated_sources, report.as_of)


# --- daily: sums as they lie, but for the days that the window cuts -------------------------------------------------


async def _daily_parts(db: Database, report: Report, background: ReportInputs, numbers: Ints) -> AsyncIterator[Part]:
    span = report.span
    first_cut = span.start_s > day_start(numbers[0])
    last_cut = span.end_s < day_start(numbers[-1] + 1)
    if first_cut:
        async for part in _parts_from_sheets(db, report, background, numbers[:1]):
            yield part
    whole = numbers[int(first_cut) : len(numbers) - int(last_cut)]
    if len(whole):
        sums = await store.read_day_sums(db, report.subject.contributions, whole)
        grid = grid_of(whole, Resolution.DAY, span)
        yield _complete_part(report, background, grid.buckets, sums)
    if last_cut and (len(numbers) > 1 or not first_cut):
        async for part in _parts_from_sheets(db, report, background, numbers[-1:]):
            yield part


# --- raw: each fact's own period -------------------------------------------------------------------------------------


async def _raw_parts(
    db: Pool, report: Report, background: ReportInputs, numbers: Ints, batch_size: int
) -> AsyncIterator[Part]:
    waiting_tolls, waiting_results = list(background.tolls), list(background.results)
    for days in parts_of(numbers, batch_size):
        async with repeatable_read(db) as snapshot:
            sheets = await _stored_days(snapshot, report, days)
            starts = {
                source: await read_starts(snapshot, source, report.subject.keys, days, report.as_of)
                for source in report.aggregated_sources
            }
        is_last = int(days[-1]) == int(numbers[-1])
        until_s = float("inf") if is_last else float(day_start(days[-1] + 1))
        tolls = [toll for toll in waiting_tolls if toll.span.start_s < until_s]
        results = [result for result in waiting_results if result.span.start_s < until_s]
        waiting_tolls = [toll for toll in waiting_tolls if toll not in tolls]
        waiting_results = [result for result in waiting_results if result not in results]
        part = await asyncio.to_thread(_raw_part, report, background, days, sheets, starts, tolls, results)
        if len(part.buckets):
            yield part


def _raw_part(
    report: Report,
    background: ReportInputs,
    days: Ints,
    sheets: DaySheets,
    starts: Mapping[FactSource, Ints],
    tolls: Sequence[Toll],
    results: Sequence[AuctionResult],
) -> Part:
    line = raw_sums(
        days,
        report.span,
        sheets,
        starts,
        report.subject.contributions,
        report.sources,
        (tolls, results, background.ratings, background.weights),
    )
    rated: dict[FactSource, FloatArray] = {}
    if "rated_power_mw" in report.measures:
        rated = {source: rated_power_mw(background.rated, span) for source, span in line.spans.items()}
    starts_s = line.labels_s.astype(np.float64)
    sums = Sums({name: values for name, values in line.sums.items() if name in report.measures})
    return Part(ReportBuckets(line.labels_s, starts_s, starts_s), sums, line.present, rated)
