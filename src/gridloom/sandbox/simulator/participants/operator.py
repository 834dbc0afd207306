"""The operator's daily work: auctions, tolls, published prices and settlements."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import compress
from typing import Any
from urllib.parse import urlencode

import numpy as np

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import MARKET_ZONE, PERIOD, market_day_of, market_day_window, period_count
from gridloom.kernel.window import Window
from gridloom.sandbox.simulator import publishing
from gridloom.sandbox.simulator.api_session import ApiSession, RequestRejected, read_instant, record_rejection, written
from gridloom.sandbox.simulator.market.balancing import SimulatedBlock, blocks_of
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.exchange import clear_order, stage_prices
from gridloom.sandbox.simulator.market.intraday import IntradayAuction, periods_of_third
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.strategies import USUAL
from gridloom.sandbox.simulator.participants.valuing import annual_toll, foreseen_value
from gridloom.sandbox.simulator.scenario import (
    AUCTIONED_SHARE,
    DAILY_CYCLES,
    TOLL_DAYS,
    TOLLED_SHARE,
    TRADERS,
    VIRTUAL_EFFICIENCY,
    ZONES,
    batteries_in,
)
from gridloom.sandbox.simulator.state import Award, OpenAuction, SimulatedHolding
from gridloom.sandbox.simulator.step_context import StepContext

MAX_RESULTS = 50
"""In one request."""
HURDLE_SHARE = 0.6
"""Of what the operator expects a day to be worth."""


def wall_clock(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime.combine(day, time(hour, minute), tzinfo=MARKET_ZONE)


# --- virtual batteries on offer --------------------------------------------------------------------------------------


def _list_backing(scene: StepContext, zone: str) -> list[dict[str, Any]]:
    """All batteries of the zone, by their power; the last takes what rounding leaves."""
    batteries = batteries_in(zone)
    total_kw = sum(battery.power_kw for battery in batteries)
    shares = [round(battery.power_kw / total_kw, 6) for battery in batteries]
    shares[-1] = round(1 - sum(shares[:-1]), 6)
    ids = [scene.memory.batteries[battery.slug] for battery in batteries]
    return [{"physicalAssetID": id, "share": share} for id, share in zip(ids, shares, strict=True)]


def _size_lot(zone: str, share: float) -> tuple[float, float]:
    """Power and energy of a share of the zone's batteries, in whole kW and kWh."""
    batteries = batteries_in(zone)
    return float(int(share * sum(b.power_kw for b in batteries))), float(
        int(share * sum(b.energy_kwh for b in batteries))
    )


def _describe_battery(life: Window, zone: str, power_kw: float, energy_kwh: float) -> dict[str, Any]:
    """The virtual battery that is auctioned or tolled."""
    return {
        "start": written(life.start),
        "end": written(life.end),
        "deliveryZone": zone,
        "ratedChargePower": power_kw,
        "ratedDischargePower": power_kw,
        "energyCapacity": energy_kwh,
        "chargeEfficiency": VIRTUAL_EFFICIENCY,
        "dischargeEfficiency": VIRTUAL_EFFICIENCY,
        "dailyCycleLimit": DAILY_CYCLES,
    }


async def offer_auctions(scene: StepContext, today: date) -> None:
    """For the day after tomorrow, one a zone; they open in a quarter of an hour and close tomorrow morning."""
    await asyncio.gather(*(_offer_auction(scene, today, zone) for zone in ZONES))
    scene.memory.auctions.sort(key=lambda one: (one.delivery_day, one.zone))  # not by who was answered first


async def _offer_auction(scene: StepContext, today: date, zone: str) -> None:
    day = today + timedelta(days=2)
    window = market_day_window(day)
    power_kw, energy_kwh = _size_lot(zone, AUCTIONED_SHARE)
    worth = power_kw / 1000 * await asyncio.to_thread(foreseen_value, scene.board, USUAL, day, today)
    closing = wall_clock(today + timedelta(days=1), ZONES[zone].closing_hour)
    body = {
        "start": written(scene.step + PERIOD),
        "end": written(closing),
        "item": _describe_battery(window, zone, power_kw, energy_kwh),
        "hurdlePrice": euros(max(HURDLE_SHARE * worth, 1.0)),
        "backing": _list_backing(scene, zone),
        "participants": [scene.memory.organisations[trader.slug] for trader in TRADERS],
    }
    try:
        made = await scene.operator.post("/auctions", body, scene.key(f"auction/{zone}"))
    except RequestRejected as problem:
        record_rejection(f"auction in {zone}", problem)
        return
    scene.memory.auctions.append(OpenAuction(made["id"], zone, day, closing, power_kw / 1000))


async def renew_tolls(scene: StepContext, first: date) -> None:
    """Virtual batteries for a fortnight, at a toll that their holder pays to the owners."""
    await asyncio.gather(*(_agree_toll(scene, first, zone) for zone in ZONES))
    scene.memory.holdings.sort(key=lambda one: (one.start, one.end, one.zone))


async def _agree_toll(scene: StepContext, first: date, zone: str) -> None:
    start = market_day_window(first).start
    end = market_day_window(first + timedelta(days=TOLL_DAYS)).start
    holder, (power_kw, energy_kwh) = ZONES[zone].toll_holder, _size_lot(zone, TOLLED_SHARE)
    body = {
        "name": f"{zone} {first:%d %b}",
        "portfolioID": scene.memory.portfolios[holder],
        **_describe_battery(Window(start, end), zone, power_kw, energy_kwh),
        "backing": _list_backing(scene, zone),
    }
    organisation_id = scene.memory.organisations[holder]
    try:
        made = await scene.operator.post(
            f"/organisations/{organisation_id}/virtual-assets", body, scene.key(f"toll/{zone}")
        )
    except RequestRejected as problem:
        record_rejection(f"toll in {zone}", problem)
        return
    scene.memory.holdings.append(
        SimulatedHolding(
            made["id"], holder, zone, start, end, energy_kwh, VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY, DAILY_CYCLES
        )
    )
    contract = {
        "contractID": f"TOLL-{zone}-{first}",
        "assetID": made["id"],
        "start": written(start),
        "end": written(end),
        "annualPrice": await asyncio.to_thread(annual_toll, scene.board, zone, first),
    }
    await scene.operator.post("/settlements/tolling-contracts", [contract], scene.key(f"contract/{zone}"))


# --- what the market publishes ---------------------------------------------------------------------------------------


async def learn_day_ahead(scene: StepContext, day: date) -> None:
    """Take over what a feed has published; where one is about to, the day waits for it."""
    await learn_published_days(scene.operator, scene.board, day, day)
    is_live = not (scene.is_past or scene.is_hurrying or scene.is_late)
    if is_live and not scene.board.knows_day_ahead(day) and await _is_feed_awaited(scene):
        scene.memory.awaited_day = day.isoformat()


async def learn_published_days(operator: ApiSession, board: MarketData, first: date, last: date) -> None:
    """Days of which a feed has every price."""
    window = {
        "series": "DAY_AHEAD_DE_LU",
        "start": written(market_day_window(first).start),
        "end": written(market_day_window(last).end),
        "limit": "1000",
    }
    rows = await operator.get(f"/reference-prices?{urlencode(window)}")
    by_day: dict[date, list[float]] = {}
    for row in rows:
        if row["source"] not in ("MANUAL", "SIMULATOR"):
            start = read_instant(row["start"])
            periods = (read_instant(row["end"]) - start) // PERIOD
            by_day.setdefault(market_day_of(start), []).extend([float(row["price"])] * periods)
    for day, prices in by_day.items():
        if len(prices) == period_count(day):
            board.learn_day_ahead(day, np.array(prices))


async def _is_feed_awaited(scene: StepContext) -> bool:
    feeds = await scene.operator.get("/feeds")
    return any(
        one["series"] == "DAY_AHEAD_DE_LU" and one["status"] == "WAITING"
        for feed in feeds
        if feed["enabled"]
        for one in feed["series"]
    )


async def publish_day_ahead(scene: StepContext, day: date) -> None:
    """The world's own prices, where no feed has real ones or is about to."""
    if scene.board.knows_day_ahead(day) or scene.memory.awaited_day == day.isoformat():
        return
    rows = publishing.price_rows("DAY_AHEAD_DE_LU", periods_of(day), scene.board.day_ahead(day))
    await publishing.publish(scene.operator, rows)


async def publish_auction(scene: StepContext, day: date, auction: IntradayAuction) -> None:
    """The prices of an intraday auction."""
    traded = periods_of_third(day) if auction is IntradayAuction.THIRD else slice(None)
    prices = scene.board.auction(day, auction)[traded]
    rows = publishing.price_rows(f"IDA{auction.value}_DE_LU", periods_of(day)[traded], prices)
    await publishing.publish(scene.operator, rows)


async def publish_intraday(scene: StepContext, until: datetime, hours: int) -> None:
    """The quarter-hours of the last hours, now that they are over: continuous trading, and what aFRR was paid.

    Hours on the wall clock: what is published every four of them leaves out none of a day of 25.
    """
    day = (until - PERIOD).astimezone(MARKET_ZONE).date()
    since = (until.astimezone(MARKET_ZONE) - timedelta(hours=hours)).astimezone(UTC)
    rows = []
    for one in (day - timedelta(days=1), day):
        periods = periods_of(one)
        over = [n for n, period in enumerate(periods) if since <= period < until]
        if over:
            rows += publishing.continuous_rows(scene.board, one, slice(over[0], over[-1] + 1))
    await publishing.publish(scene.operator, rows)


async def publish_imbalance_prices(scene: StepContext, day: date) -> None:
    rows = publishing.price_rows("REBAP_DE", periods_of(day), scene.board.imbalance(day))
    await publishing.publish(scene.operator, rows)


async def publish_fcr(scene: StepContext, day: date) -> None:
    await publishing.publish(scene.operator, publishing.fcr_rows(scene.board.seed_of(day), day))


async def publish_afrr(scene: StepContext, day: date) -> None:
    await publishing.publish(scene.operator, publishing.afrr_rows(scene.board.seed_of(day), day))


# --- orders ----------------------------------------------------------------------------------------------------------


async def clear_orders(scene: StepContext, day: date, stage: Stage) -> None:
    """The orders that wait at a stage whose gate has passed, at its prices; none was placed in the world's past."""
    is_awaited = stage is Stage.DAY_AHEAD and scene.memory.awaited_day == day.isoformat()
    if scene.is_past or is_awaited:
        return
    waiting = await scene.operator.get(f"/orders?stage={stage}&delivery-day={day}")
    prices = await asyncio.to_thread(stage_prices, scene.board, stage, day) if waiting else {}
    results = [clear_order(order, prices) for order in waiting]
    for first in range(0, len(results), MAX_RESULTS):
        key = scene.key(f"orders/{stage}/{day}/{first}")
        await scene.operator.post("/orders/results", results[first : first + MAX_RESULTS], key)


# --- settlement ------------------------------------------------------------------------------------------------------


async def settle_day(scene: StepContext, day: date) -> None:
    """Yesterday's balancing power: capacity that was awarded and energy that was called."""
    awards = scene.memory.awards.get(day.isoformat(), [])
    is_fcr = [read_product(day, award.product)[0] is Direction.NEGPOS for award in awards]
    fcr = [_capacity_row(scene, day, award, "settlementPrice") for award in compress(awards, is_fcr)]
    afrr = [award for award, other in zip(awards, is_fcr, strict=True) if not other]
    capacity = [_capacity_row(scene, day, award, "price") for award in afrr]
    energy = [row for award in afrr for row in _energy_rows(scene, day, award)]
    facts = {"fcr": fcr, "afrr-capacity": capacity, "afrr-energy": energy}
    await asyncio.gather(
        *(
            scene.operator.post(f"/settlements/{kind}", rows, scene.key(f"settle/{kind}"))
            for kind, rows in facts.items()
            if rows
        )
    )


def _capacity_row(scene: StepContext, day: date, award: Award, price_field: str) -> dict[str, Any]:
    return {
        "assetID": scene.memory.batteries[award.battery],
        "deliveryDay": day.isoformat(),
        "product": award.product,
        "capacity": award.capacity_mw,
        price_field: award.price_eur_mw_h,
    }


def _energy_rows(scene: StepContext, day: date, award: Award) -> list[dict[str, Any]]:
    direction, block = read_product(day, award.product)
    called, prices = scene.board.activation(day, direction), scene.board.activation_prices(day, direction)
    periods = periods_of(day)
    return [
        {
            "assetID": scene.memory.batteries[award.battery],
            "time": written(periods[n]),
            "direction": direction.value,
            "volume": round(float(called[n]) * award.capacity_mw / 4, 8),
            "price": float(prices[n]),
        }
        for n in range(block.periods.start, block.periods.stop)
        if called[n] > 0
    ]


def read_product(day: date, product: str) -> tuple[Direction, SimulatedBlock]:
    """`POS_16_20` → the direction and the block."""
    direction = Direction(product.partition("_")[0])
    return direction, next(block for block in blocks_of(day) if block.product(direction) == product)


def euros(amount: float) -> str:
    return str(Decimal(amount).quantize(Decimal("0.01")))


def is_whole_day(holding: SimulatedHolding, day: date) -> bool:
    window = market_day_window(day)
    return holding.start <= window.start and window.end <= holding.end and period_count(day) > 0
