"""Benchmarks over HTTP: what each market day earned against what it could have, and against peers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal
from uuid import UUID

import numpy as np
from msgspec import UNSET, UnsetType, field

from gridloom.kernel.market_time import Resolution, market_day_window, market_days_in, period_count, period_number
from gridloom.kernel.permission import Permission
from gridloom.kernel.window import Window
from gridloom.markets.benchmark import store
from gridloom.markets.benchmark.model import BenchmarkDay, PeerFigures
from gridloom.markets.benchmark.rules import choose_peers, compare_peers, foresee_days
from gridloom.optimiser.prices import DAY_AHEAD, load_quarters
from gridloom.optimiser.solver_queue import SolverQueue, SolverTurn
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Instant, QueryParameters, Request, ResponseBody, operation
from gridloom.platform.http.operation import H
from gridloom.platform.http.windows import check_length
from gridloom.platform.identity.authorization import authorize_asset
from gridloom.platform.identity.store.grants import list_granting_organisations
from gridloom.revenue.categories import CATEGORIES
from gridloom.revenue.model import Contribution, Subject
from gridloom.revenue.reporting import Report, all_categories, bucket_parts
from gridloom.revenue.routes import TAG as REPORTING_TAG
from gridloom.revenue.routes import read_report_window, require_fleet, require_portfolio
from gridloom.revenue.store import read_backed

TAG: Final = REPORTING_TAG
READ: Final = Permission.READ_REVENUE
MAX_DAYS: Final = 366
"""Of all assets together, each of which is solved for each day."""
_TOTAL: Final = "revenue_total_revenue"
_PER_MW: Final = "revenue_normalised_total"


class BenchmarkQuery(QueryParameters):
    start: Instant
    end: Instant


class PeerQuartiles(ResponseBody):
    """EUR per MW."""

    lower: float
    upper: float


class PeerBenchmark(ResponseBody):
    """The other assets of the duration class, EUR per MW."""

    median: float
    quartiles: PeerQuartiles


class BenchmarkDayView(ResponseBody):
    """A whole market day. `peers` is left out where an asset or its owner could be told apart."""

    day: date
    earned: float
    per_mw: float | None = field(name="perMW")
    foresight: float | None
    share: float | None
    peers: PeerBenchmark | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class BenchmarkSubject:
    """Whose days are asked for, and the organisation that owns them."""

    kind: Literal["PHYSICAL", "VIRTUAL"]
    report: Subject
    organisation_id: UUID


def _declare_benchmark(path: str, summary: str) -> Callable[[H], H]:
    return operation("GET", path, summary=summary, access=READ)


@_declare_benchmark("/revenue-reporting/physical-assets/{physicalAssetID}/benchmark", "Benchmark a physical asset")
async def read_physical_asset_benchmark(
    request: Request, physical_asset_id: UUID, query: BenchmarkQuery
) -> list[BenchmarkDayView]:
    """Each market day that the window touches: revenue as its data points have it, with its share in what it backs.

    `foresight` is the best schedule at the published day-ahead prices, by its own parameters, availability and cycles.
    Peers are the other batteries of its duration class.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ, kind="PHYSICAL")
    parts = await read_backed(request.db, [authorized.key])
    report = Subject("", parts, (authorized.key,))
    return await _answer_benchmark(request, BenchmarkSubject("PHYSICAL", report, authorized.organisation_id), query)


@_declare_benchmark("/revenue-reporting/virtual-assets/{virtualAssetID}/benchmark", "Benchmark a virtual asset")
async def read_virtual_asset_benchmark(
    request: Request, virtual_asset_id: UUID, query: BenchmarkQuery
) -> list[BenchmarkDayView]:
    """The same of a virtual asset, by what is available of it. Peers are the other virtual assets of its duration
    class."""
    authorized = await authorize_asset(request.db, request.caller, virtual_asset_id, READ, kind="VIRTUAL")
    report = Subject("", (Contribution(authorized.key),), (authorized.key,))
    return await _answer_benchmark(request, BenchmarkSubject("VIRTUAL", report, authorized.organisation_id), query)


@_declare_benchmark("/revenue-reporting/fleets/{fleetID}/benchmark", "Benchmark a fleet")
async def read_fleet_benchmark(request: Request, fleet_id: UUID, query: BenchmarkQuery) -> list[BenchmarkDayView]:
    """Its physical assets together; `foresight` is the sum of each by itself. Peers are batteries outside of it."""
    group = await require_fleet(request.db, request.caller, fleet_id)
    parts = await read_backed(request.db, group.asset_keys)
    report = Subject("", parts, group.asset_keys)
    return await _answer_benchmark(request, BenchmarkSubject("PHYSICAL", report, group.organisation_id), query)


@_declare_benchmark("/revenue-reporting/portfolios/{portfolioID}/benchmark", "Benchmark a portfolio")
async def read_portfolio_benchmark(
    request: Request, portfolio_id: UUID, query: BenchmarkQuery
) -> list[BenchmarkDayView]:
    """Its virtual assets together; `foresight` is the sum of each by itself. Peers are virtual assets outside of it."""
    group = await require_portfolio(request.db, request.caller, portfolio_id)
    parts = tuple(Contribution(key) for key in group.asset_keys)
    report = Subject("", parts, group.asset_keys)
    return await _answer_benchmark(request, BenchmarkSubject("VIRTUAL", report, group.organisation_id), query)


async def _answer_benchmark(
    request: Request, subject: BenchmarkSubject, query: BenchmarkQuery
) -> list[BenchmarkDayView]:
    asked = read_report_window(query.start, query.end)
    longest = timedelta(days=max(1, MAX_DAYS // max(1, len(subject.report.rated_keys))))
    check_length(asked.start, asked.end, longest, "query:end")
    days = list(market_days_in(asked))

    reader = request.caller.organisation_id
    known = {subject.organisation_id, reader, *await list_granting_organisations(request.db, reader, READ)}

    async def compare(turn: SolverTurn) -> list[BenchmarkDay]:
        return await _compare_days(request.pool, turn, subject, days, known)

    found = await request.resources[SolverQueue].run(request, compare, is_long=True)
    return [_view_day(one) for one in found]


async def _compare_days(
    db: Database, turn: SolverTurn, subject: BenchmarkSubject, days: list[date], known_organisations: Collection[UUID]
) -> list[BenchmarkDay]:
    """`known_organisations`: those whose figures the reader may know."""
    window = Window(market_day_window(days[0]).start, market_day_window(days[-1]).end)
    keys = subject.report.rated_keys
    is_physical = subject.kind == "PHYSICAL"
    batteries, rated = await (store.load_physical if is_physical else store.load_virtual)(db, keys, window)
    load_peers = store.load_physical_peers if is_physical else store.load_virtual_peers
    peers = choose_peers(await load_peers(db, keys, window, days), rated)
    quarters = await load_quarters(db, DAY_AHEAD, period_number(window.start), period_number(window.end))
    prices = np.split(quarters, np.cumsum([period_count(day) for day in days])[:-1])
    foresight = await turn.solve(lambda deadline: foresee_days(batteries, days, prices, deadline))
    earned = await _read_earned(db, subject.report, window)
    return [
        BenchmarkDay(day, *earned[index], foresight[index], compare_peers(peers, index, known_organisations))
        for index, day in enumerate(days)
    ]


async def _read_earned(db: Database, subject: Subject, window: Window) -> list[tuple[float, float | None]]:
    """EUR, and EUR per MW, of each day as the daily data points have them."""
    report = Report(subject, window, Resolution.DAY, all_categories((_TOTAL, _PER_MW)))
    found: list[tuple[float, float | None]] = []
    async for part in bucket_parts(db, report):
        totals, per_mw = (part.values(CATEGORIES[name]).tolist() for name in (_TOTAL, _PER_MW))
        found += [(total, None if one != one else one) for total, one in zip(totals, per_mw, strict=True)]
    return found


def _view_day(one: BenchmarkDay) -> BenchmarkDayView:
    foresight = one.foresight_eur
    return BenchmarkDayView(
        day=one.day,
        earned=round(one.earned_eur, 2),
        per_mw=None if one.per_mw is None else round(one.per_mw, 2),
        foresight=None if foresight is None else round(foresight, 2),
        share=round(one.earned_eur / foresight, 4) if foresight and foresight >= 0.005 else None,
        peers=UNSET if one.peers is None else _view_peers(one.peers),
    )


def _view_peers(peers: PeerFigures) -> PeerBenchmark:
    return PeerBenchmark(
        median=round(peers.median, 2),
        quartiles=PeerQuartiles(lower=round(peers.lower_quartile, 2), upper=round(peers.upper_quartile, 2)),
    )
