"""Plans of a stage over HTTP, of a virtual asset and of each asset of a portfolio. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.copying import copy_fields
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, NotFound, Problem
from gridloom.markets.plans.planning import FEE_EUR_MWH, PlanTask, PlanTerms, load_plan, plan_end
from gridloom.markets.plans.prices import StagePrices, load_stage_prices
from gridloom.markets.plans.reserves import load_reserves
from gridloom.markets.plans.wire import (
    AssetMarketPlanView,
    MarketPlanView,
    NewMarketPlan,
    PortfolioMarketPlanView,
)
from gridloom.markets.position import ResultOutstanding, load_market_state
from gridloom.markets.stage_calendar import GatePassed, NoDeliveryDay, OrderGates
from gridloom.optimiser.cycle_budget import load_cycle_spending
from gridloom.optimiser.prices import PricesMissing
from gridloom.optimiser.schedules.proposal import NoFeasibleSchedule
from gridloom.optimiser.solver_queue import SolverQueue, SolverTurn
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.trading.replanning import HURDLE_EUR_MWH
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import Request, operation
from gridloom.platform.identity.authorization import authorize_organisation
from gridloom.virtual_assets.asset_lookup import ASSET, require_asset
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.portfolio_store import read_portfolio
from gridloom.virtual_assets.portfolios import PORTFOLIOS
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.rules import GateClosed

TAG = "Markets"
MAX_PLANNED_ASSETS = 50
PROBLEMS = (GatePassed, ResultOutstanding, PricesMissing, NoFeasibleSchedule, NoDeliveryDay, GateClosed)


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The request's terms with the stage that it is for, and the prices of all assets."""

    terms: PlanTerms
    gates: OrderGates
    minutes: ReserveMinutes
    now: datetime
    prices: StagePrices


@operation(
    "POST",
    ASSET + "/market-plans",
    summary="Plan a stage of a delivery day for a virtual asset",
    access=Permission.CREATE_OPTIMISATIONS,
    audited=False,
    transaction="manual",
    problems=PROBLEMS,
)
async def plan_market(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, body: NewMarketPlan
) -> MarketPlanView:
    """Trades, or capacity to offer, of the stage that is asked for, of the next one unasked.

    What is proposed can be run by the battery with its reserves, promises and cycles as they stand, in lots of 0.1 MW.
    To act on it, order `schedule` or `reserves` with `ifMatch`, `minimumSurplus` and `atAnyPrice`.
    """
    await require_asset(request.pool, request.caller, organisation_id, virtual_asset_id)
    context = await _load_context(request, request.pool, body)

    async def plan(turn: SolverTurn) -> MarketPlanView:
        async with repeatable_read(request.pool) as db:
            asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
            task = await _load_task(db, asset, body, context)
        return await turn.solve(task.solve)

    view = await request.resources[SolverQueue].run(request, plan)
    if request.retry is not None:
        await request.begin()
    return view


@operation(
    "POST",
    PORTFOLIOS + "/{portfolioID}/market-plans",
    summary="Plan a stage of a delivery day for a portfolio",
    access=Permission.CREATE_OPTIMISATIONS,
    audited=False,
    transaction="manual",
    problems=PROBLEMS,
)
async def plan_portfolio_market(
    request: Request, organisation_id: UUID, portfolio_id: UUID, body: NewMarketPlan
) -> PortfolioMarketPlanView:
    """Each asset of the portfolio that lives on the day by itself, at most fifty."""
    await _read_portfolio_assets(request, request.pool, organisation_id, portfolio_id)
    context = await _load_context(request, request.pool, body)

    async def plan(turn: SolverTurn) -> PortfolioMarketPlanView:
        async with repeatable_read(request.pool) as db:
            tasks = []
            for asset in await _read_portfolio_assets(request, db, organisation_id, portfolio_id):
                try:
                    tasks.append((asset, await _load_task(db, asset, body, context)))
                except NoDeliveryDay:
                    continue
                except Problem as refusal:
                    refusal.members["virtualAssetID"] = str(asset.id)
                    raise
        return await turn.solve(lambda deadline: _plan_assets(tasks, deadline))

    view = await request.resources[SolverQueue].run(request, plan, is_long=True)
    if request.retry is not None:
        await request.begin()
    return view


def _plan_assets(tasks: Sequence[tuple[VirtualAsset, PlanTask]], deadline: Deadline) -> PortfolioMarketPlanView:
    found = []
    for asset, task in tasks:
        try:
            plan = task.solve(deadline)
        except Problem as refusal:
            refusal.members["virtualAssetID"] = str(asset.id)
            raise
        found.append(copy_fields(AssetMarketPlanView, plan, virtual_asset_id=asset.id))
    return PortfolioMarketPlanView(
        assets=found,
        worth=sum(one.worth for one in found),
        p10=sum(one.p10 for one in found),
        p90=sum(one.p90 for one in found),
    )


async def _read_portfolio_assets(
    request: Request, db: Database, organisation_id: UUID, portfolio_id: UUID
) -> list[VirtualAsset]:
    owner = await authorize_organisation(db, request.caller, organisation_id)
    portfolio = await read_portfolio(db, owner, portfolio_id)
    if portfolio is None:
        raise NotFound(f"The organisation has no portfolio {portfolio_id}.")
    if len(portfolio.virtual_asset_ids) > MAX_PLANNED_ASSETS:
        raise BadRequest(
            f"At most {MAX_PLANNED_ASSETS} assets are planned at once.",
            [FieldError("path:portfolioID", "has more assets")],
        )
    return [await require_asset(db, request.caller, organisation_id, id) for id in portfolio.virtual_asset_ids]


async def _load_context(request: Request, db: Database, body: NewMarketPlan) -> PlanContext:
    """The stage's prices, by what is known now. Refuses a gate that has passed and prices that are missing."""
    gates = request.resources[OrderGates]
    now = await platform_now(db)
    stage = body.stage or gates.next_stage(body.delivery_day, now) or Stage.IDA3
    gates.check_open(stage, body.delivery_day, now)
    terms = PlanTerms(
        stage,
        FEE_EUR_MWH if body.fee is None else body.fee,
        HURDLE_EUR_MWH if body.hurdle is None else body.hurdle,
    )
    prices = await load_stage_prices(request, db, stage, body.delivery_day, now)
    return PlanContext(terms, gates, request.resources[ReserveMinutes], now, prices)


async def _load_task(db: Database, asset: VirtualAsset, body: NewMarketPlan, context: PlanContext) -> PlanTask:
    state = await load_market_state(db, asset, body.delivery_day)
    stage, now = context.terms.stage, await platform_now(db)
    context.gates.check_open(stage, body.delivery_day, now)
    state.check_results(stage)
    if stage.is_reserve:
        state = state.without_holds_at(stage)
        asset = state.asset
    first = max(state.first, first_open_period(now, asset.terms.gate_closure_s))
    spending = await load_cycle_spending(db, asset, first, plan_end(state, stage))
    reserves = None
    if stage.is_reserve:
        reserves = await load_reserves(db, state, stage, first, context.prices, context.minutes)
    return await load_plan(db, state, context.terms, context.gates, now, context.prices, spending, reserves)
