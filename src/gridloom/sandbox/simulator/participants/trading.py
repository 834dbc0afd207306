"""Where traders sell what they planned: most of it the day before, the rest in later auctions and on the day itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Final

import numpy as np

from gridloom.kernel.market_time import MARKET_ZONE
from gridloom.sandbox.simulator.api_session import RequestRejected, record_rejection, written
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.participants.strategies import STRATEGIES, customers_periods, customers_prices
from gridloom.sandbox.simulator.scenario import TRADERS
from gridloom.sandbox.simulator.step_context import StepContext

SHIFT_HOURS: Final = 8
"""How much of a day is traded at once on that day."""

Volumes = dict[str, list[float]]
"""MWh of each quarter-hour of a day by virtual battery, sold positive"""
Row = dict[str, Any]
Trades = tuple[str, str, list[Row]]
"""Of one trader, by its slug and the kind of trade"""


async def sell_day_ahead(context: StepContext, day: date) -> None:
    """At the auction's prices; what a trader holds back, and what is no whole lot, stays open for later."""
    if context.memory.awaited_day == day.isoformat():
        return
    plans = context.memory.plans.pop(day.isoformat(), {})
    planned = {asset_id: [round(power / 4000, 8) for power in powers] for asset_id, powers in plans.items()}
    prices, left, trades = context.market_data.day_ahead(day), dict[str, list[float]](), list[Trades]()
    market = ("DA", "DAY_AHEAD", prices.tolist())
    for trader in TRADERS:
        held = _pick_held(context, trader.slug, planned)
        tolled = {one.id for one in context.memory.holdings if one.is_tolled}
        serving = {id: volumes for id, volumes in held.items() if id in tolled}
        supplied, unsupplied = _supply_customers(trader.slug, serving, day, prices)
        sold, unsold = _sell_share(trader.slug, STRATEGIES[trader.slug].day_ahead_share, held | unsupplied, day, market)
        trades.append((trader.slug, "da", supplied + sold))
        left |= unsold
    await _record_trades(context, trades)
    context.memory.unsold[day.isoformat()] = left


def _supply_customers(slug: str, planned: Volumes, day: date, prices: np.ndarray) -> tuple[list[Row], Volumes]:
    """Sell to a trader's own customers what is discharged for them, not at the exchange: the trades, and what is left
    of the plans."""
    supplied, paid = customers_periods(STRATEGIES[slug], day).tolist(), customers_prices(prices).tolist()
    rows, left = list[Row](), dict[str, list[float]]()
    for asset_id, volumes in planned.items():
        sold = [volume if is_supplied else 0.0 for volume, is_supplied in zip(volumes, supplied, strict=True)]
        rows += _list_trades("OTC", "OTC", day, asset_id, zip(periods_of(day), sold, paid, strict=True))
        left[asset_id] = [round(volume - part, 8) for volume, part in zip(volumes, sold, strict=True)]
    return rows, left


async def order_first_auction(context: StepContext, day: date) -> None:
    """Those who sell at the first intraday auction order to sell half of what they have left, at any price.

    What is refused stays open for later. In the world's past they record their trades instead.
    """
    if context.is_past:
        return
    left = context.memory.unsold.get(day.isoformat(), {})
    for trader in TRADERS:
        if STRATEGIES[trader.slug].intraday_auction is not IntradayAuction.FIRST:
            continue
        held = _pick_held(context, trader.slug, left)
        market = ("IDA1", "INTRADAY_AUCTION", [0.0] * len(periods_of(day)))
        _, unsold = _sell_share(trader.slug, 0.5, held, day, market)
        for asset_id, volumes in held.items():
            sold = np.array(volumes) - np.array(unsold[asset_id])
            if sold.any() and await _place_order(context, trader.slug, asset_id, day, sold):
                left[asset_id] = unsold[asset_id]


async def _place_order(context: StepContext, slug: str, asset_id: str, day: date, sold_mwh: np.ndarray) -> bool:
    """Whether the order that sells this beyond the position before it stands."""
    session = context.sessions[slug]
    organisation = f"/organisations/{session.organisation_id}"
    try:
        stages, etag = await session.get_with_etag(
            f"{organisation}/virtual-assets/{asset_id}/markets?delivery-day={day}"
        )
        before_kw = {point["time"]: point["power"] for point in stages[-1]["position"]}
        schedule = [
            {"time": written(time), "power": round(before_kw[written(time)] + 4000 * volume, 6)}
            for time, volume in zip(periods_of(day), sold_mwh.tolist(), strict=True)
        ]
        standing = next(stage.get("orderID") for stage in stages if stage["stage"] == "IDA1")
        if standing is not None:  # by this step before it was cut off, or by a person, whose order stays
            known = await session.get(f"{organisation}/orders/{standing}")
            return bool(known["schedule"] == schedule)
        order: Row = {"virtualAssetID": asset_id, "ifMatch": etag, "stage": "IDA1", "deliveryDay": day.isoformat()}
        order |= {"schedule": schedule, "atAnyPrice": True}
        await session.post(f"{organisation}/orders", [order], context.key(f"order/IDA1/{asset_id}"))
    except RequestRejected as problem:
        record_rejection(f"order of {slug} at IDA1", problem)
        return False
    return True


async def sell_at_auction(context: StepContext, day: date, auction: IntradayAuction) -> None:
    """Those who sell at this intraday auction offer half of what they have left; at the first one by an order, which
    they have placed before its gate."""
    if auction is IntradayAuction.FIRST and not context.is_past:
        return
    left, prices = context.memory.unsold.get(day.isoformat(), {}), context.market_data.auction(day, auction).tolist()
    market, trades = (f"IDA{auction.value}", "INTRADAY_AUCTION", prices), list[Trades]()
    for trader in TRADERS:
        if STRATEGIES[trader.slug].intraday_auction is auction:
            sold, unsold = _sell_share(trader.slug, 0.5, _pick_held(context, trader.slug, left), day, market)
            trades.append((trader.slug, f"ida{auction.value}", sold))
            left |= unsold
    await _record_trades(context, trades)


def _sell_share(
    slug: str, share: float, held: Volumes, day: date, market: tuple[str, str, list[float]]
) -> tuple[list[Row], Volumes]:
    """Trades of one trader in whole lots, and what is left of each of its virtual batteries after them."""
    prefix, name, prices = market
    step_mwh, rows, still = STRATEGIES[slug].lot_mw / 4, list[Row](), dict[str, list[float]]()
    for asset_id, volumes in held.items():
        sold = [round(round(share * volume / step_mwh) * step_mwh, 8) for volume in volumes]
        rows += _list_trades(prefix, name, day, asset_id, zip(periods_of(day), sold, prices, strict=True))
        still[asset_id] = [round(volume - part, 8) for volume, part in zip(volumes, sold, strict=True)]
    return rows, still


async def trade_intraday(context: StepContext) -> None:
    """The open position of the next hours, in whole lots, at what the quarter-hours go for; the rest is imbalance."""
    day, (hour, _) = context.today, context.clock
    left = context.memory.unsold.get(day.isoformat(), {})
    if not left:
        return
    coming = [
        (period, n)
        for n, period in enumerate(periods_of(day))
        if hour <= period.astimezone(MARKET_ZONE).hour < hour + SHIFT_HOURS
    ]
    prices, trades = context.market_data.intraday(day).tolist(), list[Trades]()
    for trader in TRADERS:
        rows, step_mwh = list[Row](), STRATEGIES[trader.slug].lot_mw / 4
        for asset_id, volumes in _pick_held(context, trader.slug, left).items():
            lots = ((period, round(volumes[n] / step_mwh) * step_mwh, prices[n]) for period, n in coming)
            open_now = ((period, round(volume, 8), price) for period, volume, price in lots)
            rows += _list_trades("ID", "INTRADAY_CONTINUOUS", day, asset_id, open_now)
        trades.append((trader.slug, "intraday", rows))
    await _record_trades(context, trades)


def _pick_held(context: StepContext, slug: str, volumes: Volumes) -> Volumes:
    """Those of one trader."""
    held = {one.id for one in context.memory.holdings if one.holder == slug}
    return {asset_id: of_asset for asset_id, of_asset in volumes.items() if asset_id in held}


def _list_trades(
    prefix: str, market: str, day: date, asset_id: str, volumes: Iterable[tuple[datetime, float, float]]
) -> list[Row]:
    return [
        {
            "tradeID": f"{prefix}-{day:%Y%m%d}-{asset_id[-6:]}",
            "assetID": asset_id,
            "time": written(period),
            "side": "SELL" if volume > 0 else "BUY",
            "volume": abs(volume),
            "price": price,
            "market": market,
        }
        for period, volume, price in volumes
        if volume
    ]


async def _record_trades(context: StepContext, trades: Iterable[Trades]) -> None:
    """All traders at once: none trades what another holds."""
    await asyncio.gather(*(_record_rows(context, slug, kind, rows) for slug, kind, rows in trades if rows))


async def _record_rows(context: StepContext, slug: str, kind: str, rows: list[Row]) -> None:
    try:
        await context.sessions[slug].post("/settlements/wholesale-trades", rows, context.key(f"{kind}/{slug}"))
    except RequestRejected as problem:
        record_rejection(f"{kind} of {slug}", problem)
