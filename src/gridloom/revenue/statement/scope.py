"""The window of a statement, and what is read of all its assets together: facts, and inputs of virtual assets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.delivery.failures.store import (
    FailureSeries,
    read_failures,
    read_first_settled_period,
    spread_failures,
)
from gridloom.delivery.positions.position import IMBALANCE_SERIES, MissedPower, PeriodFacts
from gridloom.delivery.runs.store import UnheldReserve, read_shortfalls
from gridloom.kernel.window import Window
from gridloom.market_calendar import PERIOD_S, day_start, period_counts, utc_days_of
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_period_prices
from gridloom.revenue import store
from gridloom.revenue.aggregation import DaySheets
from gridloom.revenue.day_sheets import read_stored_days
from gridloom.revenue.grid import Grid
from gridloom.revenue.model import AuctionResult, RatedPowerSteps, Toll
from gridloom.revenue.statement.model import Cents
from gridloom.revenue.statement.rounding import cents_by_period
from gridloom.revenue.statement.store import BatteryOwner, read_organisations, read_owners
from gridloom.settlements.measures import AGGREGATED_SOURCES, FactSource, measure_count
from gridloom.settlements.period_aggregates import FloatArray, decode_sheets
from gridloom.settlements.period_volumes import volumes_of_sheets
from gridloom.virtual_assets.backing.shortfall import Shortfalls, load_shortfalls_of_each
from gridloom.virtual_assets.history.store import UnannouncedCut, read_unannounced_cuts, spread_cuts
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.store import DayPowers, read_day_range_of_each

_VOLUME_SOURCES: Final = (FactSource.WHOLESALE, FactSource.AFRR_ENERGY)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scope:
    """The window of a statement: its market days, the edges of its buckets in periods, and what was read at once."""

    keys: frozenset[int]
    """Of all assets whose facts are read."""
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]]
    edges: np.ndarray[tuple[int], np.dtype[np.int64]]
    sheets: DaySheets
    tolls: Mapping[int, Sequence[Toll]]
    ratings: Mapping[int, RatedPowerSteps]
    auctions: Mapping[int, AuctionResult]
    imbalance_price_eur_mwh: FloatArray
    """Of each period of the market days; NaN where none is published."""
    now: datetime
    """The instant whose knowledge counts: `as_of`, or the platform's present."""
    owners: Mapping[int, Sequence[BatteryOwner]]
    """By virtual asset."""
    cuts: Mapping[int, Sequence[UnannouncedCut]]
    unheld: Mapping[int, Sequence[UnheldReserve]]
    failures: Mapping[int, FailureSeries]
    """By battery behind the assets, over the market days."""
    settled_from: int
    """The first period that is settled by failures."""
    organisations: Mapping[int, UUID]
    """Owners of batteries that stood in for others, by key."""
    as_of: datetime | None = None
    """The instant whose knowledge counts; None for all that is known."""

    @cached_property
    def first(self) -> int:
        """The first period of the first market day."""
        return day_start(self.numbers[0]) // PERIOD_S

    @cached_property
    def end(self) -> int:
        return day_start(self.numbers[-1] + 1) // PERIOD_S

    @cached_property
    def offsets(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.concatenate(([0], np.cumsum(period_counts(self.numbers))))

    @cached_property
    def widths(self) -> list[int]:
        """How many periods each market day has."""
        widths: list[int] = period_counts(self.numbers).tolist()
        return widths

    def facts_of(self, key: int, first: int, end: int) -> PeriodFacts | None:
        """Of an asset in the periods `first` up to but not `end`; None where its facts are no part of this."""
        if key not in self.keys:
            return None
        sheets = self.sheets.by_asset.get(key, {})
        trades, activations = (self._decode_periods(sheets.get(source), source) for source in _VOLUME_SOURCES)
        here = slice(first - self.first, end - self.first)
        return PeriodFacts(
            volumes_of_sheets(trades[:, here], activations[:, here]),
            spread_cuts(self.cuts.get(key, ()), first, end),
            self.imbalance_price_eur_mwh[here],
        )

    def missed_of(self, key: int, first: int, end: int) -> MissedPower:
        """Of a battery in the periods [first, end)."""
        known = self.failures.get(key)
        here = slice(first - self.first, end - self.first)
        return MissedPower(self.settled_from, np.zeros(end - first) if known is None else known.missed_kw[here])

    def _decode_periods(self, bodies: Sequence[bytes | None] | None, source: FactSource) -> FloatArray:
        if bodies is None or not any(bodies):
            return np.zeros((measure_count(source), self.end - self.first))
        return decode_sheets(source, bodies, self.widths)

    def until(self, amount_eur: FloatArray) -> Cents:
        """Cumulative euros of all periods of the market days at each edge."""
        running = np.concatenate(([0], np.cumsum(cents_by_period(amount_eur, self.offsets))))
        return np.asarray(running[self.edges - self.first])

    def by_bucket(self, amounts: FloatArray) -> FloatArray:
        """The sum of the periods' amounts in each bucket."""
        running = np.concatenate(([0.0], np.cumsum(amounts)))
        return np.asarray(np.diff(running[self.edges - self.first]))


async def load_scope(
    db: Database,
    keys: Sequence[int],
    window: Window,
    grid: Grid,
    as_of: datetime | None = None,
    settled_from: int | None = None,
    cut_at: int | None = None,
) -> Scope:
    """keys: of all assets whose facts, contracts or auctions count.

    settled_from: the first period settled by failures, where another than that of the platform is asked for. cut_at: a
    period within the window at which the bucket that it falls into is cut in two.
    """
    edges_s = np.append(grid.buckets.starts_s, grid.buckets.ends_s[-1]).astype(np.int64)
    ever = datetime(2000, 1, 1, tzinfo=UTC)
    tolls: dict[int, list[Toll]] = {}
    for toll in await store.read_tolls(db, keys, ever, window.end, as_of):
        tolls.setdefault(toll.asset_key, []).append(toll)
    first, end = (day_start(number) // PERIOD_S for number in (grid.numbers[0], grid.numbers[-1] + 1))
    auctions = await store.read_auction_results(db, keys, ever, window.end, as_of)
    owners = await read_owners(db, keys)
    if settled_from is None:
        settled_from = await read_first_settled_period(db)
    batteries = {owner.asset_key for some in owners.values() for owner in some} | {*keys}
    failures = spread_failures(
        await read_failures(db, sorted(batteries), max(first, settled_from), end, as_of), first, end
    )
    helpers = {helper for one in failures.values() for helper in one.taken_over_kw}
    return Scope(
        keys=frozenset(keys),
        numbers=grid.numbers,
        edges=edges_s // PERIOD_S if cut_at is None else np.union1d(edges_s // PERIOD_S, [cut_at]),
        sheets=await read_stored_days(db, keys, grid.numbers, AGGREGATED_SOURCES, as_of),
        tolls=tolls,
        ratings=await store.read_ratings(db, keys, as_of),
        auctions={result.asset_key: result for result in auctions},
        imbalance_price_eur_mwh=await read_period_prices(db, IMBALANCE_SERIES, first, end, as_of),
        now=await platform_now(db) if as_of is None else as_of,
        owners=owners,
        cuts=await read_unannounced_cuts(db, keys, first, end, as_of),
        unheld=await read_shortfalls(db, keys, first, end, as_of),
        failures=failures,
        settled_from=settled_from,
        organisations=await read_organisations(db, sorted(helpers)),
        as_of=as_of,
    )


@dataclass(frozen=True, slots=True, eq=False)
class VirtualInputs:
    """By asset, of the part of its life that lies in the market days."""

    shortfalls: Mapping[int, Shortfalls] = field(default_factory=dict)
    powers: Mapping[int, DayPowers] = field(default_factory=dict)
    """The present schedules, where they are needed; none as of an earlier instant."""


NO_INPUTS: Final = VirtualInputs()


async def load_virtual_inputs(
    db: Database, scope: Scope, assets: Sequence[VirtualAsset], scheduled: Sequence[VirtualAsset] | None = None
) -> VirtualInputs:
    """scheduled: those whose positions are computed, and hence need their schedules; all where it is left out."""
    if not assets:
        return NO_INPUTS
    shortfalls = await load_shortfalls_of_each(db, assets, scope.first, scope.end, scope.now)
    keys = [asset.key for asset in (assets if scheduled is None else scheduled)]
    if scope.as_of is not None or not keys:
        return VirtualInputs(shortfalls)
    days = utc_days_of(scope.first, scope.end)
    return VirtualInputs(shortfalls, await read_day_range_of_each(db, keys, days))
