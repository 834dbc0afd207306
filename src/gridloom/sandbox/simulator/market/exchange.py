"""The simulated exchange: which orders it executes, at the prices of its stages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from gridloom.kernel.balancing import AFRR_DIRECTIONS, Direction
from gridloom.kernel.market_stages import Stage
from gridloom.sandbox.simulator.api_session import written
from gridloom.sandbox.simulator.market.balancing import afrr_capacity_prices, blocks_of, fcr_prices_eur_mw
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.market.market_data import MarketData

Row = dict[str, Any]
Prices = Mapping[str, Decimal]
"""By the start of a quarter-hour, or by product; EUR/MWh, EUR/MW for the block (FCR) or per hour (aFRR)."""

AUCTION_OF: Final = {
    Stage.IDA1: IntradayAuction.FIRST,
    Stage.IDA2: IntradayAuction.SECOND,
    Stage.IDA3: IntradayAuction.THIRD,
}
_CENT: Final = Decimal("0.01")


def stage_prices(market_data: MarketData, stage: Stage, day: date) -> Prices:
    """To the cent, as the exchange clears."""
    if stage is Stage.FCR:
        products = [block.product(Direction.NEGPOS) for block in blocks_of(day)]
        return dict(
            zip(products, map(_in_cents, fcr_prices_eur_mw(market_data.seed_of(day), day).tolist()), strict=True)
        )
    if stage is Stage.AFRR:
        return {
            block.product(direction): _in_cents(price)
            for direction in AFRR_DIRECTIONS
            for block, price in zip(
                blocks_of(day), afrr_capacity_prices(market_data.seed_of(day), day, direction)[1].tolist(), strict=True
            )
        }
    prices = market_data.day_ahead(day) if stage is Stage.DAY_AHEAD else market_data.auction(day, AUCTION_OF[stage])
    return {written(time): _in_cents(price) for time, price in zip(periods_of(day), prices.tolist(), strict=True)}


def _in_cents(price: float) -> Decimal:
    return Decimal(price).quantize(_CENT)


def clear_order(order: Row, prices: Prices) -> Row:
    """The result of an order as the operator reads it: a schedule as a whole or not at all, each reserve by itself."""
    if "reserves" in order:
        return _clear_reserves(order, prices)
    surplus = Decimal(0)
    for volume in order["volumes"]:
        amount = Decimal(str(volume["volume"]))
        signed = amount if volume["side"] == "SELL" else -amount
        surplus += signed * prices[volume["time"]] - Decimal(str(order["fee"])) * amount
    if not order["atAnyPrice"] and surplus < Decimal(str(order["minimumSurplus"])):
        return {"orderID": order["id"], "executed": False}
    trades = [{**volume, "price": float(prices[volume["time"]])} for volume in order["volumes"]]
    return {"orderID": order["id"], "executed": True, "trades": trades}


def _clear_reserves(order: Row, prices: Prices) -> Row:
    """A bid at the clearing price or below is accepted. FCR is paid the clearing price, aFRR its bid."""
    reserves = []
    for bid in order["reserves"]:
        price, asked = prices[bid["product"]], Decimal(str(bid["capacityPrice"]))
        if asked <= price:
            paid = price if order["stage"] == Stage.FCR else asked
            reserves.append({"product": bid["product"], "acceptedCapacity": bid["capacity"], "price": float(paid)})
    if not reserves:
        return {"orderID": order["id"], "executed": False}
    return {"orderID": order["id"], "executed": True, "reserves": reserves}
