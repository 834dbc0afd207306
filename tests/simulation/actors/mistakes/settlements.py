"""Mistakes in settled rows."""

from __future__ import annotations

from typing import Any

from tests.simulation.actors.mistakes.making import UNKNOWN, on_virtual
from tests.simulation.calls import Request
from tests.simulation.market import berlin_day, start_of_quarter, to_text
from tests.simulation.model import VirtualAsset, World
from tests.simulation.steps import Pick


def _trade(virtual: VirtualAsset, volume: float, asset: str) -> dict[str, Any]:
    return {
        "tradeID": "twice",
        "assetID": asset,
        "time": to_text(start_of_quarter(virtual.first)),
        "side": "SELL",
        "volume": volume,
        "price": 10,
        "market": "OTC",
    }


@on_virtual(422, "contradicting-rows")
def contradict(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    rows = [_trade(virtual, 0.1, virtual.id), _trade(virtual, 0.2, virtual.id)]
    return Request("recordWholesaleTrades", world.operator.trader, "POST", "/settlements/wholesale-trades", rows)


@on_virtual(422, "unknown-settled-asset")
def settle_unknown(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    rows = [_trade(virtual, 0.1, UNKNOWN)]
    return Request("recordWholesaleTrades", world.operator.trader, "POST", "/settlements/wholesale-trades", rows)


@on_virtual(422, "delivery-beyond-block")
def deliver_too_long(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    row = {
        "assetID": virtual.id,
        "deliveryDay": berlin_day(start_of_quarter(virtual.first)).isoformat(),
        "product": "NEGPOS_12_16",
        "capacity": 0.1,
        "settlementPrice": 1,
        "deliveryHours": 4.5,
    }
    return Request("recordFcr", world.operator.trader, "POST", "/settlements/fcr", [row])
