"""The stages of a day from what was traded, awarded and ordered; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

import numpy as np

from gridloom.kernel.balancing import BLOCK_START_HOURS, ReserveProduct, block_product
from gridloom.kernel.market_stages import STAGES
from gridloom.kernel.market_time import BLOCK_HOURS, block_window, market_day_window, period_number
from gridloom.market_calendar import Floats
from gridloom.markets.day.model import MARKETS, MarketName, MarketStage, StageOrder, StageStatus
from gridloom.markets.position import MarketState, stage_of, sum_position_kw
from gridloom.markets.stage_calendar import OrderGates
from gridloom.markets.store import RecordedTrade
from gridloom.virtual_assets.model import Block, Market


def make_stages(
    state: MarketState, earned_eur: Mapping[MarketName, float], gates: OrderGates, now: datetime
) -> list[MarketStage]:
    """Every market of the day. The position after a stage that is past is by its trades, those of earlier stages and
    those without one; after others it is that of all trades."""
    by_market: dict[MarketName, list[RecordedTrade]] = {market: [] for market in MARKETS}
    for trade in state.trades:
        by_market[_market_of(trade)].append(trade)
    statuses = find_statuses(state.day, gates, now)
    stages = []
    counted = list(by_market[MarketName.OTHER])
    for market in MARKETS:
        trades = by_market[market]
        if market is not MarketName.OTHER:
            counted += trades
        is_past = statuses[market] is StageStatus.PAST and market.stage is not None
        stage = MarketStage(
            market,
            None if market.stage is None else gates.gate(market.stage, state.day),
            statuses[market],
            sum_position_kw(counted, state.first, state.end) if is_past else state.position_kw,
            *_sum_trades(trades),
        )
        stage.earned_eur += earned_eur.get(market, 0.0)
        _add_orders(stage, state)
        stages.append(stage)
    return stages


def _market_of(trade: RecordedTrade) -> MarketName:
    if trade.market == "INTRADAY_CONTINUOUS":
        return MarketName.CONTINUOUS
    stage = stage_of(trade)
    return MarketName.OTHER if stage is None else MarketName(stage.value)


def _sum_trades(trades: Sequence[RecordedTrade]) -> tuple[float, float, float]:
    """Bought and sold, and what was earned: sales less purchases."""
    bought = sum((one.volume_mwh for one in trades if one.side == "BUY"), Decimal(0))
    sold = sum((one.volume_mwh for one in trades if one.side == "SELL"), Decimal(0))
    earned = sum((one.signed_mwh * one.price_eur_mwh for one in trades), Decimal(0))
    return float(bought), float(sold), float(earned)


def find_statuses(day: date, gates: OrderGates, now: datetime) -> dict[MarketName, StageStatus]:
    """By the gates; markets without one are next once all gates are past, and past when the day is over."""
    next_stage = gates.next_stage(day, now)
    statuses = {}
    for market in MARKETS:
        if market.stage is None:
            ended = now >= market_day_window(day).end
            follows = StageStatus.NEXT if next_stage is None else StageStatus.LATER
            statuses[market] = StageStatus.PAST if ended else follows
        elif now >= gates.gate(market.stage, day):
            statuses[market] = StageStatus.PAST
        else:
            statuses[market] = StageStatus.NEXT if market.stage is next_stage else StageStatus.LATER
    return statuses


def _add_orders(stage: MarketStage, state: MarketState) -> None:
    """The latest order at the stage that was not cancelled, and the reserves in blocks and in orders that wait."""
    for order in state.orders:
        if stage.market.stage is order.stage and order.status != "CANCELLED":
            stage.orders = [StageOrder(state.asset.id, order.id, order.status, order.problem)]
    if stage.market.stage not in STAGES[:2]:
        return
    is_fcr = stage.market is MarketName.FCR
    products = [product for product in ReserveProduct if (product is ReserveProduct.FCR) == is_fcr]
    for product in products:
        blocks = [one for one in (*state.blocks, *state.asset.holds) if one.market is Market(product.value)]
        for hour in BLOCK_START_HOURS:
            window = block_window(state.day, hour, hour + BLOCK_HOURS)
            capacity_kw = _sum_capacity_kw(blocks, period_number(window.start), period_number(window.end))
            if capacity_kw:
                stage.reserved_kw[block_product(product.direction, hour)] = capacity_kw


def _sum_capacity_kw(blocks: Sequence[Block], first: int, end: int) -> float:
    return sum(max(one.charge_kw, one.discharge_kw) for one in blocks if one.first <= first and one.end >= end)


def spread_position(position_kw: Floats, first: int, day: tuple[int, int]) -> Floats:
    """A position of some periods of the day over all of them."""
    spread_kw = np.zeros(day[1] - day[0])
    spread_kw[first - day[0] : first - day[0] + len(position_kw)] = position_kw
    return spread_kw
