"""The position of a virtual asset on a delivery day, by its recorded trades, and the version of its markets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

import numpy as np
from msgspec import structs

from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.problem import Problem
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.markets import store
from gridloom.markets.stage_calendar import earlier_stages, lived_periods
from gridloom.markets.store import OrderState, RecordedTrade
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.backing.availability import load_available
from gridloom.virtual_assets.model import Block, VirtualAsset

LOT_KW: Final = 100.0
"""The lot of a quarter-hour: 0.1 MW."""
_KW_OF_MWH: Final = Decimal(KW_PER_MW / QUARTER_HOUR_H)


class ResultOutstanding(Problem, status=409, title="An earlier order waits for its result"):
    """The position before a stage is known once all orders of earlier stages of that asset and day have their results.

    `orderID` and `stage` name the earliest order that waits.
    """


@dataclass(frozen=True, slots=True, eq=False)
class MarketState:
    """Trades and orders of an asset for a delivery day, at one instant.

    `position_kw` is the position in the periods [first, end), the day within the asset's life: 4 × (sold − bought) of
    all recorded trades.
    """

    asset: VirtualAsset
    day: date
    first: int
    end: int
    trades: Sequence[RecordedTrade]
    orders: Sequence[OrderState]
    blocks: Sequence[Block]
    position_kw: Floats
    etag: str

    def waiting_at(self, stages: Collection[Stage]) -> list[OrderState]:
        """The orders without a result at these stages, the earliest first."""
        waiting = [one for one in self.orders if one.is_waiting and one.stage in stages]
        return sorted(waiting, key=lambda one: one.stage.place)

    def position_after_kw(self, stages: Collection[Stage]) -> Floats:
        """The position by the trades of these stages and those without one."""
        return sum_position_kw([trade for trade in self.trades if _is_among(trade, stages)], self.first, self.end)

    def without_holds_at(self, stage: Stage) -> MarketState:
        """The same as a new order at the stage would find it: without what the one that it replaces holds back."""
        replaced = {order.id for order in self.waiting_at((stage,))}
        holds = tuple(hold for hold in self.asset.holds if hold.id not in replaced)
        return replace(self, asset=structs.replace(self.asset, holds=holds))

    def check_results(self, stage: Stage) -> None:
        """Refuse what would rest on a position that an earlier stage's result will still change."""
        waiting = self.waiting_at(earlier_stages(stage))
        if waiting:
            raise ResultOutstanding(
                f"The order {waiting[0].id} at {waiting[0].stage} for {self.day} waits for its result.",
                orderID=str(waiting[0].id),
                stage=waiting[0].stage.value,
            )


async def load_market_state(db: Database, asset: VirtualAsset, day: date) -> MarketState:
    first, end = lived_periods(asset, day)
    trades = await store.read_trades(db, asset.key, period_start(first), period_start(end))
    orders = await store.read_orders_of_day(db, asset.key, day)
    blocks = [block for block in await block_store.read_blocks(db, asset.key) if block.overlaps(first, end)]
    day_before, _ = market_day_periods(day - timedelta(days=1))
    available = await load_available(db, asset, max(asset.first, day_before), end)
    fractions = (available.charge, available.discharge, available.energy)
    etag = entity_tag(asset.key, day, trades, orders, blocks, *(np.round(one, 9).tobytes() for one in fractions))
    position_kw = sum_position_kw(trades, first, end)
    return MarketState(asset, day, first, end, trades, orders, blocks, position_kw, etag)


def _is_among(trade: RecordedTrade, stages: Collection[Stage]) -> bool:
    stage = stage_of(trade)
    return trade.market != "INTRADAY_CONTINUOUS" and (stage is None or stage in stages)


def stage_of(trade: RecordedTrade) -> Stage | None:
    """The auction of a trade; None for other trades and for one of an intraday auction that is not named."""
    if trade.market == "DAY_AHEAD":
        return Stage.DAY_AHEAD
    return Stage(trade.stage) if trade.stage is not None else None


def sum_position_kw(trades: Sequence[RecordedTrade], first: int, end: int) -> Floats:
    """4 × (sold − bought): summed exactly, so that many trades leave no rounding error."""
    sums: dict[int, Decimal] = {}
    for trade in trades:
        period = period_number(trade.period)
        sums[period] = sums.get(period, Decimal(0)) + trade.signed_mwh
    position_kw = np.zeros(end - first)
    for period, volume_mwh in sums.items():
        position_kw[period - first] = float(volume_mwh * _KW_OF_MWH)
    return position_kw
