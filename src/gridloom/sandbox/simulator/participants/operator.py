"""The operator's daily work: auctions, tolls, published prices and settlements."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
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
from gridloom.sandbox.simulator.market.balancing import read_product
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
    SimulatedBattery,
    batteries_in,
)
from gridloom.sandbox.simulator.state import HeldReserve, OpenAuction, SimulatedHolding
from gridloom.sandbox.simulator.step_context import StepContext

MAX_RESULTS = 50
"""In one request."""
ISSUING_DAY = 3
HURDLE_SHARE = 0.6
"""Of what the operator expects a day to be worth."""


def wall_clock(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime.combine(day, time(hour, minute), tzinfo=MARKET_ZONE)


# --- virtual batteries on offer --------------------------------------------------------------------------------------


def _list_backing(context: StepContext, batteries: list[SimulatedBattery]) -> list[dict[str, Any]]:
    """By their power; the last takes what rounding leaves."""
    total_kw = sum(battery.power_kw for battery in batteries)
    shares = [round(battery.power_kw / total_kw, 6) for battery in batteries]
    shares[-1] = round(1 - sum(shares[:-1]), 6)
    ids = [context.memory.batteries[battery.slug] for battery in batteries]
    return [{"physicalAssetID": id, "share": share} for id, share in zip(ids, shares, strict=True)]


def _size_lot(batteries: list[SimulatedBattery], share: float) -> tuple[float, float]:
    """Power and energy of a share of the batteries, in whole kW and kWh."""
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


async def offer_auctions(context: StepContext, today: date) -> None:
    """For the day after tomorrow, one a zone; they open in a quarter of an hour and close tomorrow morning."""
    await asyncio.gather(*(_offer_auction(context, today, zone) for zone in ZONES))
    context.memory.auctions.sort(key=lambda one: (one.delivery_day, one.zone))  # not by who was answered first


async def _offer_auction(context: StepContext, today: date, zone: str) -> None:
    day = today + timedelta(days=2)
    window = market_day_window(day)
    batteries = [one for one in batteries_in(zone) if context.memory.available_share(one.slug, window)]
    if not batteries:
        return
    power_kw, energy_kwh = _size_lot(batteries, AUCTIONED_SHARE)
    worth = power_kw / 1000 * await asyncio.to_thread(foreseen_value, context.market_data, USUAL, day, today)
    closing = wall_clock(today + timedelta(days=1), ZONES[zone].closing_hour)
    body = {
        "start": written(context.step + PERIOD),
        "end": written(closing),
        "item": _describe_battery(window, zone, power_kw, energy_kwh),
        "hurdlePrice": euros(max(HURDLE_SHARE * worth, 1.0)),
        "backing": _list_backing(context, batteries),
        "participants": [context.memory.organisations[trader.slug] for trader in TRADERS],
    }
    try:
        made = await context.operator.post("/auctions", body, context.key(f"auction/{zone}"))
    except RequestRejected as problem:
        record_rejection(f"auction in {zone}", problem)
        return
    context.memory.auctions.append(OpenAuction(made["id"], zone, day, closing, power_kw / 1000))


async def renew_tolls(context: StepContext, first: date) -> None:
    """Virtual batteries for a fortnight, at a toll that their holder pays to the owners."""
    await asyncio.gather(*(_agree_toll(context, first, zone) for zone in ZONES))
    context.memory.holdings.sort(key=lambda one: (one.start, one.end, one.zone))


async def _agree_toll(context: StepContext, first: date, zone: str) -> None:
    """Of the zone's batteries, as far as their owners have said, those that work throughout."""
    start = market_day_window(first).start
    end = market_day_window(first + timedelta(days=TOLL_DAYS)).start
    window = Window(start, end)
    batteries = [one for one in batteries_in(zone) if context.memory.available_share(one.slug, window) == 1]
    if not batteries:
        return
    holder, (power_kw, energy_kwh) = ZONES[zone].toll_holder, _size_lot(batteries, TOLLED_SHARE)
    body = {
        "name": f"{zone} {first:%d %b}",
        "portfolioID": context.memory.portfolios[holder],
        **_describe_battery(window, zone, power_kw, energy_kwh),
        "backing": _list_backing(context, batteries),
    }
    organisation_id = context.memory.organisations[holder]
    try:
        made = await context.operator.post(
            f"/organisations/{organisation_id}/virtual-assets", body, context.key(f"toll/{zone}")
        )
    except RequestRejected as problem:
        record_rejection(f"toll in {zone}", problem)
        return
    context.memory.holdings.append(
        SimulatedHolding(
            made["id"], holder, zone, start, end, energy_kwh, VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY, DAILY_CYCLES
        )
    )
    contract = {
        "contractID": f"TOLL-{zone}-{first}",
        "assetID": made["id"],
        "start": written(start),
        "end": written(end),
        "annualPrice": await asyncio.to_thread(annual_toll, context.market_data, zone, first),
    }
    await context.operator.post("/settlements/tolling-contracts", [contract], context.key(f"contract/{zone}"))


# --- what the market publishes ---------------------------------------------------------------------------------------


async def learn_day_ahead(context: StepContext, day: date) -> None:
    """Take over what a feed has published; where one is about to, the day waits for it."""
    await learn_published_days(context.operator, context.market_data, day, day)
    is_live = not (context.is_past or context.is_hurrying or context.is_late)
    if is_live and not context.market_data.knows_day_ahead(day) and await _is_feed_awaited(context):
        context.memory.awaited_day = day.isoformat()


async def learn_published_days(operator: ApiSession, market_data: MarketData, first: date, last: date) -> None:
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
            market_data.learn_day_ahead(day, np.array(prices))


async def _is_feed_awaited(context: StepContext) -> bool:
    feeds = await context.operator.get("/feeds")
    return any(
        one["series"] == "DAY_AHEAD_DE_LU" and one["status"] == "WAITING"
        for feed in feeds
        if feed["enabled"]
        for one in feed["series"]
    )


async def publish_day_ahead(context: StepContext, day: date) -> None:
    """The world's own prices, where no feed has real ones or is about to."""
    if context.market_data.knows_day_ahead(day) or context.memory.awaited_day == day.isoformat():
        return
    rows = publishing.price_rows("DAY_AHEAD_DE_LU", periods_of(day), context.market_data.day_ahead(day))
    await publishing.publish(context.operator, rows)


async def publish_auction(context: StepContext, day: date, auction: IntradayAuction) -> None:
    """The prices of an intraday auction."""
    traded = periods_of_third(day) if auction is IntradayAuction.THIRD else slice(None)
    prices = context.market_data.auction(day, auction)[traded]
    rows = publishing.price_rows(f"IDA{auction.value}_DE_LU", periods_of(day)[traded], prices)
    await publishing.publish(context.operator, rows)


async def publish_intraday(context: StepContext, until: datetime, hours: int) -> None:
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
            rows += publishing.continuous_rows(context.market_data, one, slice(over[0], over[-1] + 1))
    await publishing.publish(context.operator, rows)


async def publish_imbalance_prices(context: StepContext, day: date) -> None:
    rows = publishing.price_rows("REBAP_DE", periods_of(day), context.market_data.imbalance(day))
    await publishing.publish(context.operator, rows)


async def publish_fcr(context: StepContext, day: date) -> None:
    await publishing.publish(context.operator, publishing.fcr_rows(context.market_data.seed_of(day), day))


async def publish_afrr(context: StepContext, day: date) -> None:
    await publishing.publish(context.operator, publishing.afrr_rows(context.market_data.seed_of(day), day))


# --- orders ----------------------------------------------------------------------------------------------------------


async def clear_orders(context: StepContext, day: date, stage: Stage) -> None:
    """The orders that wait at a stage whose gate has passed, at its prices; in the world's past there are none but for
    reserves."""
    is_awaited = stage is Stage.DAY_AHEAD and context.memory.awaited_day == day.isoformat()
    if (context.is_past and not stage.is_reserve) or is_awaited:
        return
    waiting = await context.operator.get(f"/orders?stage={stage}&delivery-day={day}")
    prices = await asyncio.to_thread(stage_prices, context.market_data, stage, day) if waiting else {}
    results = [clear_order(order, prices) for order in waiting]
    for first in range(0, len(results), MAX_RESULTS):
        key = context.key(f"orders/{stage}/{day}/{first}")
        await context.operator.post("/orders/results", results[first : first + MAX_RESULTS], key)
    if stage.is_reserve:
        await _remember_reserves(context, day, stage)


async def _remember_reserves(context: StepContext, day: date, stage: Stage) -> None:
    """As the platform has booked them: a run of this step that was cut off has executed orders, too."""
    kind, price = ("fcr", "settlementPrice") if stage is Stage.FCR else ("afrr-capacity", "price")
    window, held = market_day_window(day), context.memory.reserves.setdefault(day.isoformat(), {})
    tolled = {one.id for one in context.memory.holdings if one.is_tolled}
    span = urlencode({"start": written(window.start), "end": written(window.end), "limit": "1000"})
    for row in sorted(await context.operator.get(f"/settlements/{kind}?{span}"), key=lambda one: str(one["product"])):
        if row["assetID"] in tolled and row["deliveryDay"] == day.isoformat():
            sold = held.setdefault(row["assetID"], [])
            if row["product"] not in {one.product for one in sold}:
                sold.append(HeldReserve(row["product"], float(row["capacity"]), float(row[price])))


# --- settlement ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sold:
    """A block of balancing power that a battery or a virtual one sold."""

    asset_id: str
    product: str
    capacity_mw: float
    price_eur_mw_h: float


async def issue_statements(context: StepContext, today: date) -> None:
    """On the third of a month the statements of the month before: by then its last day is settled. What a world's
    first month lacks is left out."""
    if today.day != ISSUING_DAY:
        return
    month = today.replace(day=1) - timedelta(days=1)
    body = {"month": f"{month:%Y-%m}", "allowMissing": True}
    try:
        await context.operator.post("/statements", body, context.key("statements"))
    except RequestRejected as problem:
        record_rejection(f"statements of {month:%Y-%m}", problem)


async def settle_day(context: StepContext, day: date) -> None:
    """Yesterday's balancing power: capacity that was awarded and energy that was called."""
    memory = context.memory
    sold = [
        _Sold(memory.batteries[one.battery], one.product, one.capacity_mw, one.price_eur_mw_h)
        for one in memory.awards.get(day.isoformat(), [])
    ]
    sold += [
        _Sold(asset_id, one.product, one.capacity_mw, one.price_eur_mw_h)
        for asset_id, held in memory.reserves.get(day.isoformat(), {}).items()
        for one in held
    ]
    is_fcr = [read_product(day, one.product)[0] is Direction.NEGPOS for one in sold]
    fcr = [_capacity_row(day, one, "settlementPrice") for one in compress(sold, is_fcr)]
    afrr = [one for one, other in zip(sold, is_fcr, strict=True) if not other]
    capacity = [_capacity_row(day, one, "price") for one in afrr]
    energy = [row for one in afrr for row in _energy_rows(context, day, one)]
    facts = {"fcr": fcr, "afrr-capacity": capacity, "afrr-energy": energy}
    await asyncio.gather(
        *(
            context.operator.post(f"/settlements/{kind}", rows, context.key(f"settle/{kind}"))
            for kind, rows in facts.items()
            if rows
        )
    )


def _capacity_row(day: date, sold: _Sold, price_field: str) -> dict[str, Any]:
    return {
        "assetID": sold.asset_id,
        "deliveryDay": day.isoformat(),
        "product": sold.product,
        "capacity": sold.capacity_mw,
        price_field: sold.price_eur_mw_h,
    }


def _energy_rows(context: StepContext, day: date, sold: _Sold) -> list[dict[str, Any]]:
    direction, block = read_product(day, sold.product)
    called, prices = (
        context.market_data.activation(day, direction),
        context.market_data.activation_prices(day, direction),
    )
    periods = periods_of(day)
    return [
        {
            "assetID": sold.asset_id,
            "time": written(periods[n]),
            "direction": direction.value,
            "volume": round(float(called[n]) * sold.capacity_mw / 4, 8),
            "price": float(prices[n]),
        }
        for n in range(block.periods.start, block.periods.stop)
        if called[n] > 0
    ]


def euros(amount: float) -> str:
    return str(Decimal(amount).quantize(Decimal("0.01")))


def is_whole_day(holding: SimulatedHolding, day: date) -> bool:
    window = market_day_window(day)
    return holding.start <= window.start and window.end <= holding.end and period_count(day) > 0
