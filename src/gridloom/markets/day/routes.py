"""HTTP for the markets of a delivery day, of a virtual asset and of a portfolio."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound
from gridloom.market_calendar import market_day_periods
from gridloom.markets.day.model import MarketName, MarketStage, StageStatus
from gridloom.markets.day.stages import make_stages, spread_position
from gridloom.markets.day.store import read_reserve_earnings
from gridloom.markets.orders.model import OrderProblem, OrderStatus
from gridloom.markets.orders.wire import OrderProblemView, problem_view
from gridloom.markets.position import load_market_state
from gridloom.markets.stage_calendar import NoDeliveryDay, OrderGates
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import QueryParameters, Request, Response, ResponseBody, operation
from gridloom.platform.identity.authorization import authorize_organisation
from gridloom.virtual_assets.asset_lookup import ASSET, require_asset
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.portfolio_store import read_portfolio
from gridloom.virtual_assets.portfolios import PORTFOLIOS
from gridloom.virtual_assets.schedule.views import ScheduledPower
from gridloom.virtual_assets.store import read_asset

TAG = "Markets"


class MarketsQuery(QueryParameters):
    delivery_day: date


class TradedVolumes(ResponseBody):
    bought: float
    sold: float


class ReservedCapacity(ResponseBody):
    product: str
    capacity: float


class MarketStageView(ResponseBody):
    """One market of the day. `position` is kW after it; `earned` is sales less purchases, without fees, for FCR and
    AFRR the capacity awards, for AFRR_ENERGY what was activated."""

    stage: MarketName
    status: StageStatus
    position: list[ScheduledPower]
    traded: TradedVolumes
    earned: float
    reserved: list[ReservedCapacity]
    gate: datetime | UnsetType = UNSET
    order_id: UUID | UnsetType = UNSET
    problem: OrderProblemView | UnsetType = UNSET


class StageOrderView(ResponseBody):
    """The order of one asset at a stage."""

    virtual_asset_id: UUID
    order_id: UUID
    status: OrderStatus
    problem: OrderProblemView | UnsetType = UNSET


class PortfolioStageView(ResponseBody):
    """The same of all assets of a portfolio together, with the orders of each."""

    stage: MarketName
    status: StageStatus
    position: list[ScheduledPower]
    traded: TradedVolumes
    earned: float
    reserved: list[ReservedCapacity]
    orders: list[StageOrderView]
    gate: datetime | UnsetType = UNSET


@operation(
    "GET",
    ASSET + "/markets",
    summary="Read the markets of a day",
    access=Permission.READ_VIRTUAL_ASSETS,
    problems=(NoDeliveryDay,),
)
async def read_asset_markets(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: MarketsQuery
) -> Response[list[MarketStageView]]:
    """Every market of a delivery day: until when it takes orders, the position after it, and what it earned.

    The ETag is that of the day's trades, orders, blocks and availability: an order names it as `ifMatch`.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        now = await platform_now(db)
        stages, etag = await _load_stages(db, asset, query.delivery_day, request.resources[OrderGates], now)
    first = asset.clip(*market_day_periods(query.delivery_day))[0]
    return Response([_stage_view(stage, first) for stage in stages], etag=etag)


async def _load_stages(
    db: Database, asset: VirtualAsset, day: date, gates: OrderGates, now: datetime
) -> tuple[list[MarketStage], str]:
    state = await load_market_state(db, asset, day)
    earned_eur = await read_reserve_earnings(db, asset.key, day, period_start(state.first), period_start(state.end))
    return make_stages(state, earned_eur, gates, now), state.etag


def _stage_view(stage: MarketStage, first: int) -> MarketStageView:
    view = MarketStageView(
        stage=stage.market,
        status=stage.status,
        position=_list_points(stage, first),
        traded=TradedVolumes(bought=stage.bought_mwh, sold=stage.sold_mwh),
        earned=stage.earned_eur,
        reserved=[ReservedCapacity(product=name, capacity=kw) for name, kw in stage.reserved_kw.items()],
        gate=UNSET if stage.gate is None else stage.gate,
    )
    if stage.orders:
        view.order_id = stage.orders[-1].order_id
        view.problem = _decode_problem(stage.orders[-1].problem)
    return view


def _list_points(stage: MarketStage, first: int) -> list[ScheduledPower]:
    return [
        ScheduledPower(time=period_start(first + index), power=power)
        for index, power in enumerate(stage.position_kw.tolist())
    ]


def _decode_problem(text: str | None) -> OrderProblemView | UnsetType:
    return problem_view(None if text is None else msgspec.json.decode(text, type=OrderProblem))


@operation(
    "GET",
    PORTFOLIOS + "/{portfolioID}/markets",
    summary="Read the markets of a portfolio's day",
    access=Permission.READ_VIRTUAL_ASSETS,
    problems=(NoDeliveryDay,),
)
async def read_portfolio_markets(
    request: Request, organisation_id: UUID, portfolio_id: UUID, query: MarketsQuery
) -> Response[list[PortfolioStageView]]:
    """The markets of its virtual assets that live on the day, added up, with the orders of each.

    The ETag changes with that of any of them.
    """
    day, gates = query.delivery_day, request.resources[OrderGates]
    first, end = market_day_periods(day)
    etags: list[str] = []
    total: list[MarketStage] = []
    async with repeatable_read(request.pool) as db:
        owner = await authorize_organisation(db, request.caller, organisation_id)
        portfolio = await read_portfolio(db, owner, portfolio_id)
        if portfolio is None:
            raise NotFound(f"The organisation has no portfolio {portfolio_id}.")
        now = await platform_now(db)
        for asset_id in portfolio.virtual_asset_ids:
            asset = await read_asset(db, owner, asset_id)
            if asset is None or asset.first >= end or asset.end <= first:
                continue
            stages, etag = await _load_stages(db, asset, day, gates, now)
            etags.append(etag)
            for stage in stages:
                stage.position_kw = spread_position(stage.position_kw, max(first, asset.first), (first, end))
            if total:
                for known, stage in zip(total, stages, strict=True):
                    known.add(stage)
            else:
                total = stages
    if not total:
        raise NoDeliveryDay(f"No virtual asset of the portfolio lives on {day}.")
    return Response([_portfolio_view(stage, first) for stage in total], etag=entity_tag(portfolio.version, day, *etags))


def _portfolio_view(stage: MarketStage, first: int) -> PortfolioStageView:
    return PortfolioStageView(
        stage=stage.market,
        status=stage.status,
        position=_list_points(stage, first),
        traded=TradedVolumes(bought=stage.bought_mwh, sold=stage.sold_mwh),
        earned=stage.earned_eur,
        reserved=[ReservedCapacity(product=name, capacity=kw) for name, kw in sorted(stage.reserved_kw.items())],
        orders=[
            StageOrderView(
                virtual_asset_id=one.virtual_asset_id,
                order_id=one.order_id,
                status=OrderStatus(one.status),
                problem=_decode_problem(one.problem),
            )
            for one in stage.orders
        ],
        gate=UNSET if stage.gate is None else stage.gate,
    )
