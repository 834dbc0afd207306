"""Value of an auction over HTTP, visible to the bidder only."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Meta, field

from gridloom.auctions.model import Item
from gridloom.auctions.routes import authorize_auction
from gridloom.kernel.copying import copy_fields
from gridloom.kernel.market_time import market_day_of, market_day_window, period_number
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import MIN_HISTORY_DAYS
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.forecasts.formulas import HISTORY_DAYS
from gridloom.optimiser.prices import DAY_AHEAD, PricesMissing, load_day_table, prices_missing
from gridloom.optimiser.solver_queue import SolverQueue, SolverTurn
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.valuations.day_value_cache import DayValueCache
from gridloom.optimiser.valuations.formulas import (
    DAYS_VALUED,
    MIN_DAYS,
    AuctionedBattery,
    Basis,
    PastWindow,
    Valuation,
    value_window,
)
from gridloom.platform.http import Request, RequestBody, ResponseBody, operation

TAG = "Decisions"
VALUATION_TIMEOUT_S = 20.0


class NewValuation(RequestBody):
    """FORESIGHT: what the battery would earn if all prices were known; POLICY: planned on forecasts, day after day."""

    basis: Basis


Share = Annotated[float, Meta(ge=0, le=1)]


class PastWindowView(ResponseBody):
    """A window of the past, as it was valued with what was known before it, and what it came to be worth."""

    start: datetime
    p10: float
    p50: float
    p90: float
    value: float


class CalibrationView(ResponseBody):
    """How the method did on past windows, each valued with what was known before it."""

    windows: int
    coverage: Share | None
    below: Share | None
    above: Share | None
    past_windows: list[PastWindowView]


class ValuationView(ResponseBody):
    p10: float
    p50: float
    p90: float
    mean: float
    per_mw_per_year: float = field(name="perMWPerYear")
    calibration: CalibrationView
    as_of: datetime


@operation(
    "POST",
    "/auctions/{auctionID}/valuations",
    summary="Value an auction before bidding",
    access=Permission.CREATE_OPTIMISATIONS,
    audited=False,
    transaction="manual",
    problems=(PricesMissing,),
)
async def value_auction(request: Request, auction_id: UUID, body: NewValuation) -> ValuationView:
    """The auctioned battery's expected earnings on the day-ahead market over its delivery window, and how sure that is.

    For organisations that are invited. Nothing is kept of it, in no log that others can read.
    """
    seen = await authorize_auction(request.pool, request.caller, auction_id)
    if not seen.is_invited:
        raise Forbidden(f"Your organisation is not invited to the auction {auction_id}.")
    offer = offer_of(seen.auction.item)
    today = market_day_of(seen.now)
    until = min(today + timedelta(days=2), offer.first)
    days = min(HISTORY_DAYS, DAYS_VALUED[body.basis] + MIN_HISTORY_DAYS)
    day_values = request.resources[DayValueCache]

    async def value(turn: SolverTurn) -> Valuation:
        table = await load_day_table(request.pool, DAY_AHEAD, until, days)
        if len(table) < MIN_DAYS:
            raise prices_missing(DAY_AHEAD, period_number(market_day_window(_missing_day(table, until)).start))

        def value_offer(deadline: Deadline) -> Valuation:
            return value_window(day_values.values(table, offer, body.basis, deadline), offer)

        return await turn.solve(value_offer, VALUATION_TIMEOUT_S)

    valuation = await request.resources[SolverQueue].run(request, value, is_long=True)
    if request.retry is not None:
        await request.begin()
    return _view_valuation(valuation)


def _missing_day(table: DayTable, until: date) -> date:
    """The day without prices next to the days that are known: after them where they end early, else before them."""
    if not len(table):
        return until - timedelta(days=1)
    return table.end if table.end < until else table.first - timedelta(days=1)


def offer_of(item: Item) -> AuctionedBattery:
    battery = BatterySpec(
        item.rated_charge_power_kw,
        item.rated_discharge_power_kw,
        item.energy_capacity_kwh,
        item.charge_efficiency,
        item.discharge_efficiency,
        item.daily_cycle_limit,
    )
    first, last = market_day_of(item.delivery.start), market_day_of(item.delivery.end - timedelta(milliseconds=1))
    start_quarter = period_number(item.delivery.start) - period_number(market_day_window(first).start)
    end_quarter = period_number(item.delivery.end) - period_number(market_day_window(last).start)
    return AuctionedBattery(
        battery,
        first,
        last,
        start_quarter,
        end_quarter,
        item.initial_soc,
        item.last_soc_target,
        item.final_soc_tolerance,
    )


def _view_valuation(valuation: Valuation) -> ValuationView:
    return ValuationView(
        p10=round(valuation.p10_eur, 2),
        p50=round(valuation.p50_eur, 2),
        p90=round(valuation.p90_eur, 2),
        mean=round(valuation.mean_eur, 2),
        per_mw_per_year=round(valuation.per_mw_year_eur, 2),
        calibration=copy_fields(
            CalibrationView, valuation.calibration, past_windows=[_view_past(one) for one in valuation.calibration.past]
        ),
        as_of=market_day_window(valuation.as_of).start,
    )


def _view_past(past: PastWindow) -> PastWindowView:
    return PastWindowView(
        start=market_day_window(past.first).start,
        p10=round(past.p10_eur, 2),
        p50=round(past.p50_eur, 2),
        p90=round(past.p90_eur, 2),
        value=round(past.value_eur, 2),
    )
