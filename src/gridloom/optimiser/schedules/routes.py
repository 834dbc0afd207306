"""The best schedule and its repair over HTTP. Nothing here changes a schedule: applying one is its PUT."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
import numpy as np

from gridloom.ancillary.gates import TenderGates
from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import PERIOD
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, NotFound
from gridloom.optimiser.prices import PricesMissing
from gridloom.optimiser.schedules import jobs, store
from gridloom.optimiser.schedules.asset_optimisation import MAX_OPTIMISED_PERIODS, check_optimisation, load_optimisation
from gridloom.optimiser.schedules.capacity import ReserveProducts
from gridloom.optimiser.schedules.portfolio_optimisation import load_shared_assignment
from gridloom.optimiser.schedules.price_input import check_asked
from gridloom.optimiser.schedules.proposal import NoFeasibleSchedule
from gridloom.optimiser.schedules.repair import load_repair
from gridloom.optimiser.schedules.wire import (
    NewOptimisation,
    NewPortfolioOptimisation,
    NewRepair,
    OptimisationView,
    PortfolioOptimisationView,
    RepairView,
)
from gridloom.optimiser.solver_queue import MAX_SHORT_PERIODS, SolverQueue, SolverTurn
from gridloom.platform.database.clock import platform_now, real_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import BULK, Request, Response, operation
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.platform.jobs import admit_job, enqueue
from gridloom.virtual_assets.asset_lookup import ASSET, etag_of, require_asset
from gridloom.virtual_assets.model import Market, VirtualAsset
from gridloom.virtual_assets.portfolio_store import read_portfolio
from gridloom.virtual_assets.schedule.points import SchedulePoints, read_points
from gridloom.virtual_assets.schedule.rules import GateClosed

TAG = "Decisions"
PERIODS_A_SECOND = 20_000
"""About so many quarter-hours of one asset are solved in a second."""
PROBLEMS = (NoFeasibleSchedule, PricesMissing, GateClosed)


@operation(
    "POST",
    ASSET + "/optimisations",
    summary="Find the best schedule of a virtual asset",
    access=Permission.CREATE_OPTIMISATIONS,
    audited=False,
    transaction="manual",
    status=(200, 202),
    problems=PROBLEMS,
)
async def optimise_virtual_asset(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, body: Annotated[NewOptimisation, BULK]
) -> Response[OptimisationView]:
    """The powers of its open periods that earn most at the prices given, by all rules that a schedule must respect.

    Nothing is changed. To apply it, PUT `schedule` to the asset's schedule with `If-Match` and the ETag of this answer
    (with `keep`, PUT the part of the one block left). A window of more than 31 days is answered 202, and made by a job.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        check_optimisation(body)
        periods = _count_periods(asset, body, await platform_now(db))
    if _is_long(asset, body):
        if set(body.markets or ()) - {Market.WHOLESALE}:
            raise BadRequest("Balancing products are planned for 31 days at most.", [FieldError("/end", "is too late")])
        return await _queue_job(request, asset, body)

    async def optimise(turn: SolverTurn) -> tuple[VirtualAsset, OptimisationView]:
        async with repeatable_read(request.pool) as db:
            asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
            assignment = await load_optimisation(db, asset, body, await _products_of(request, db, body))
        return asset, await turn.solve(assignment.solve)

    asset, view = await request.resources[SolverQueue].run(request, optimise, is_long=periods > MAX_SHORT_PERIODS)
    if request.retry is not None:
        await request.begin()
    return Response(view, etag=etag_of(asset))


def _is_long(asset: VirtualAsset, body: NewOptimisation) -> bool:
    if body.end is None:
        return False
    start = max(body.start or asset.terms.window.start, asset.terms.window.start)
    return (min(body.end, asset.terms.window.end) - start) // PERIOD > MAX_OPTIMISED_PERIODS


def _count_periods(asset: VirtualAsset, body: NewOptimisation | NewPortfolioOptimisation, now: datetime) -> int:
    """At most so many quarter-hours of the asset are planned."""
    life = asset.terms.window
    return int((min(body.end or life.end, life.end) - max(body.start or now, now, life.start)) // PERIOD)


async def _products_of(request: Request, db: Database, body: NewOptimisation) -> ReserveProducts | None:
    markets = tuple(sorted({Market(market) for market in body.markets or ()} - {Market.WHOLESALE}))
    if not markets:
        return None
    return ReserveProducts(
        markets, request.resources[TenderGates], await platform_now(db), request.resources[ReserveMinutes]
    )


async def _queue_job(request: Request, asset: VirtualAsset, body: NewOptimisation) -> Response[OptimisationView]:
    """Have a job make it, and say where it will be."""
    db = await request.begin()
    await admit_job(request, db)
    id, now = uuid7(), await real_now(db)
    await store.insert_optimisation(db, asset.organisation_id, id, asset.id, request.caller.id, now, body)
    payload = {"organisationID": str(asset.organisation_id), "virtualAssetID": str(asset.id)}
    size = int(jobs.SOLVING_S) if body.exact else 1 + _count_periods(asset, body, now) // PERIODS_A_SECOND
    await enqueue(
        db,
        jobs.KIND,
        key=str(id),
        due=now,
        payload=payload,
        organisation_id=request.caller.organisation_id,
        size=max(1, size),
    )
    return Response(
        OptimisationView(id=id, status="QUEUED"),
        status=202,
        headers={"Location": f"{request.path}/{id}", "Retry-After": "1"},
    )


@operation(
    "GET",
    ASSET + "/optimisations/{optimisationID}",
    summary="Read an optimisation that was made by a job",
    access=Permission.CREATE_OPTIMISATIONS,
)
async def read_optimisation(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, optimisation_id: UUID
) -> OptimisationView:
    """Kept for a day."""
    asset = await require_asset(request.db, request.caller, organisation_id, virtual_asset_id)
    stored = await store.read_optimisation(request.db, asset.organisation_id, asset.id, optimisation_id)
    if stored is None:
        raise NotFound(f"There is no optimisation {optimisation_id} of this asset, or no more.")
    if stored.answer is None:
        return OptimisationView(id=stored.id, status="QUEUED" if stored.status == "QUEUED" else "RUNNING")
    view = msgspec.convert(stored.answer, OptimisationView, strict=False)
    view.id = stored.id
    return view


@operation(
    "POST",
    ASSET + "/repairs",
    summary="Repair a schedule",
    access=Permission.CREATE_OPTIMISATIONS,
    audited=False,
    transaction="manual",
    problems=PROBLEMS,
)
async def repair_schedule(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, body: Annotated[NewRepair, BULK]
) -> Response[RepairView]:
    """The nearest schedule, or the best one in its periods, that the PUT accepts and that ends balanced.

    Only the periods sent are moved. Nothing is changed; apply it as an optimisation is applied.
    """

    async def repair(turn: SolverTurn) -> tuple[VirtualAsset, RepairView]:
        async with repeatable_read(request.pool) as db:
            asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
            if body.prices is not None:
                check_asked(body.prices)
            now = await platform_now(db)
            assignment = await load_repair(db, asset, _points_of(asset, body), body, now)
        return asset, await turn.solve(assignment.solve)

    is_long = len(body.schedule) > MAX_SHORT_PERIODS
    asset, view = await request.resources[SolverQueue].run(request, repair, is_long=is_long)
    if request.retry is not None:
        await request.begin()
    return Response(view, etag=etag_of(asset))


def _points_of(asset: VirtualAsset, body: NewRepair) -> SchedulePoints:
    power_kw = np.fromiter((point.power for point in body.schedule), np.float64, len(body.schedule))
    return read_points([point.time for point in body.schedule], power_kw, asset.periods, "asset")


@operation(
    "POST",
    ORGANISATION + "/portfolios/{portfolioID}/optimisations",
    summary="Find the best schedules of a portfolio",
    access=Permission.CREATE_OPTIMISATIONS,
    audited=False,
    transaction="manual",
    problems=PROBLEMS,
)
async def optimise_portfolio(
    request: Request, organisation_id: UUID, portfolio_id: UUID, body: Annotated[NewPortfolioOptimisation, BULK]
) -> PortfolioOptimisationView:
    """All assets of the portfolio together, within what they may import and export in sum.

    31 days at most, and fifty assets for a day or as many asset-days. Nothing is changed.
    """
    async with repeatable_read(request.pool) as db:
        assets = await _read_portfolio_assets(request, db, organisation_id, portfolio_id)
        check_optimisation(body)
        now = await platform_now(db)
    periods = sum(max(0, _count_periods(asset, body, now)) for asset in assets)

    async def optimise(turn: SolverTurn) -> PortfolioOptimisationView:
        async with repeatable_read(request.pool) as db:
            assets = await _read_portfolio_assets(request, db, organisation_id, portfolio_id)
            assignment = await load_shared_assignment(db, assets, body)
        return await turn.solve(assignment.solve)

    view = await request.resources[SolverQueue].run(request, optimise, is_long=periods > MAX_SHORT_PERIODS)
    if request.retry is not None:
        await request.begin()
    return view


async def _read_portfolio_assets(
    request: Request, db: Database, organisation_id: UUID, portfolio_id: UUID
) -> list[VirtualAsset]:
    owner = await authorize_organisation(db, request.caller, organisation_id)
    portfolio = await read_portfolio(db, owner, portfolio_id)
    if portfolio is None:
        raise NotFound(f"The organisation has no portfolio {portfolio_id}.")
    return [await require_asset(db, request.caller, organisation_id, id) for id in portfolio.virtual_asset_ids]
