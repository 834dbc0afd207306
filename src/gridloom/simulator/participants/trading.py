"""Where traders sell what they planned: most of it at the auction, the rest on the day itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Final

from gridloom.kernel.market_time import MARKET_ZONE
from gridloom.simulator.api_session import RequestRejected, record_rejection, written
from gridloom.simulator.market.calendar import periods_of
from gridloom.simulator.participants.strategies import STRATEGIES
from gridloom.simulator.scenario import TRADERS
from gridloom.simulator.step_context import StepContext

SHIFT_HOURS: Final = 8
"""How much of a day is traded at once on that day."""

Volumes = dict[str, list[float]]
"""MWh of each quarter-hour of a day by virtual battery, sold positive"""


async def sell_day_ahead(scene: StepContext, day: date) -> None:
    """At the auction's prices; what a trader holds back stays open until the day itself."""
    plans = scene.memory.plans.pop(day.isoformat(), {})
    prices, periods = scene.board.day_ahead(day).tolist(), periods_of(day)
    kept: Volumes = {}
    for trader in TRADERS:
        share = STRATEGIES[trader.slug].day_ahead_share
        rows = []
        for asset_id, powers in _pick_held(scene, trader.slug, plans).items():
            planned = [round(power / 4000, 8) for power in powers]
            sold = planned if share == 1 else [round(share * volume, 3) for volume in planned]
            rows += _list_trades("DA", "DAY_AHEAD", day, asset_id, zip(periods, sold, prices, strict=True))
            if share < 1:
                kept[asset_id] = [round(all_of_it - part, 8) for all_of_it, part in zip(planned, sold, strict=True)]
        await _record_trades(scene, trader.slug, "trades", rows)
    scene.memory.unsold[day.isoformat()] = kept


async def trade_intraday(scene: StepContext) -> None:
    """What is open in the next hours, at what the quarter-hours go for."""
    day, (hour, _) = scene.today, scene.clock
    kept = scene.memory.unsold.get(day.isoformat(), {})
    if not kept:
        return
    coming = [
        (period, n) for n, period in enumerate(periods_of(day)) if hour <= _wall_hour(period) < hour + SHIFT_HOURS
    ]
    prices = scene.board.intraday(day).tolist()
    for trader in TRADERS:
        rows = []
        for asset_id, volumes in _pick_held(scene, trader.slug, kept).items():
            open_now = ((period, volumes[n], prices[n]) for period, n in coming)
            rows += _list_trades("ID", "INTRADAY_CONTINUOUS", day, asset_id, open_now)
        await _record_trades(scene, trader.slug, "intraday", rows)


def _wall_hour(period: datetime) -> int:
    return period.astimezone(MARKET_ZONE).hour


def _pick_held(scene: StepContext, slug: str, volumes: Volumes) -> Volumes:
    """Those of one trader."""
    held = {one.id for one in scene.memory.holdings if one.holder == slug}
    return {asset_id: of_asset for asset_id, of_asset in volumes.items() if asset_id in held}


def _list_trades(
    prefix: str, market: str, day: date, asset_id: str, volumes: Iterable[tuple[datetime, float, float]]
) -> list[dict[str, Any]]:
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


async def _record_trades(scene: StepContext, slug: str, kind: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    try:
        await scene.voices[slug].post("/settlements/wholesale-trades", rows, scene.key(f"{kind}/{slug}"))
    except RequestRejected as problem:
        record_rejection(f"{kind} of {slug}", problem)
