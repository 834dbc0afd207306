"""Traders: they value and bid, and plan the next day."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from gridloom.kernel.market_time import PERIOD, market_day_window, period_count
from gridloom.sandbox.simulator.api_session import ApiSession, RequestRejected, read_instant, record_rejection, written
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.operator import euros, is_whole_day
from gridloom.sandbox.simulator.participants.planning import Store, plan_day
from gridloom.sandbox.simulator.participants.reserve_offers import hold_energy
from gridloom.sandbox.simulator.participants.strategies import NORMALS, STRATEGIES, customers_periods, see_prices
from gridloom.sandbox.simulator.participants.valuing import decide_offer, foreseen_value, number_text
from gridloom.sandbox.simulator.random_streams import stream
from gridloom.sandbox.simulator.scenario import (
    DAILY_CYCLES,
    ORGANISATIONS,
    STORAGE_HOURS,
    TRADERS,
    VIRTUAL_EFFICIENCY,
    SimulatedOrganisation,
)
from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding
from gridloom.sandbox.simulator.step_context import StepContext

FORECAST_SHARE = 0.85
"""The fraction of foresight's earnings that a trader's plans bring."""
NEWCOMERS = frozenset(one.slug for one in ORGANISATIONS if one.is_newcomers)


# --- bids ------------------------------------------------------------------------------------------------------------


async def bid(context: StepContext, *, is_last: bool) -> None:
    """Offer something for each auction that was opened today, or raise the offer."""
    open_now = [one for one in context.memory.auctions if one.delivery_day > context.today + timedelta(days=1)]
    bidders = [one for one in TRADERS if context.is_past or not one.is_newcomers]
    await asyncio.gather(*(_place_bid(context, trader, auction, is_last) for trader in bidders for auction in open_now))


async def _place_bid(context: StepContext, trader: SimulatedOrganisation, auction: OpenAuction, is_last: bool) -> None:
    # Absent, or content with its first offer: then the platform need not be asked either.
    if decide_offer(context.market_data, trader.slug, auction.zone, auction.delivery_day, 1.0, is_last=is_last) is None:
        return
    session = context.sessions[trader.slug]
    try:
        worth_eur = await _value_auction(context, trader, auction)
        price = decide_offer(
            context.market_data, trader.slug, auction.zone, auction.delivery_day, worth_eur, is_last=is_last
        )
        if price is None or price < 1:
            return
        await session.post(
            f"/auctions/{auction.id}/bids", {"price": euros(price)}, context.key(f"bid/{trader.slug}/{auction.id}")
        )
    except RequestRejected as problem:
        record_rejection(f"bid of {trader.slug} in {auction.zone}", problem)


async def _value_auction(context: StepContext, trader: SimulatedOrganisation, auction: OpenAuction) -> float:
    """EUR. One trader asks the platform what past prices make of an auction; the others trust their own reckoning, as
    all do when time is hurrying. What is special about the day all take from forecasts of the weather."""
    usual_eur, day = None, auction.delivery_day
    if trader.asks_for_values and not context.is_hurrying:
        key = context.key(f"value/{trader.slug}/{auction.id}")
        found = await context.sessions[trader.slug].post(
            f"/auctions/{auction.id}/valuations", {"basis": "FORESIGHT"}, key
        )
        usual_eur = FORECAST_SHARE * float(found["p50"]) / auction.power_mw
    known_until, strategy = day - timedelta(days=2), STRATEGIES[trader.slug]
    return auction.power_mw * await asyncio.to_thread(
        foreseen_value, context.market_data, strategy, day, known_until, usual_eur
    )


async def take_what_was_won(context: StepContext, day: date) -> None:
    """Look up the auctions for a day that have closed."""
    closed = [one for one in context.memory.auctions if one.delivery_day == day and one.end <= context.step]
    found = await asyncio.gather(*(_take_won(context, auction) for auction in closed))
    known = {one.id for one in context.memory.holdings}
    context.memory.holdings += [one for one in found if one is not None and one.id not in known]
    context.memory.auctions = [one for one in context.memory.auctions if one not in closed]


async def _take_won(context: StepContext, auction: OpenAuction) -> SimulatedHolding | None:
    """As the operator reads it: each winner would learn the same of its own."""
    try:
        results = await context.operator.get(f"/auctions/{auction.id}/results")
    except RequestRejected as problem:
        record_rejection(f"auction in {auction.zone}", problem)
        return None
    winners = [one for one in TRADERS if context.memory.organisations[one.slug] == results.get("winnerID")]
    if not winners or not auction.power_mw:
        return None
    window = market_day_window(auction.delivery_day)
    return SimulatedHolding(
        results["virtualAssetID"],
        winners[0].slug,
        auction.zone,
        window.start,
        window.end,
        STORAGE_HOURS * 1000 * auction.power_mw,
        VIRTUAL_EFFICIENCY,
        VIRTUAL_EFFICIENCY,
        DAILY_CYCLES,
    )


# --- schedules -------------------------------------------------------------------------------------------------------


async def plan(context: StepContext, day: date) -> None:
    """Schedule every virtual battery for a day at expected prices; what the newcomer has planned stays."""
    due = [one for one in context.memory.holdings if is_whole_day(one, day)]
    plans = await asyncio.gather(*(_plan_day(context, holding, day) for holding in due))
    made = {holding.id: power for holding, power in zip(due, plans, strict=True) if power is not None}
    context.memory.plans[day.isoformat()] = made


async def _plan_day(context: StepContext, holding: SimulatedHolding, day: date) -> list[float] | None:
    session, window = context.sessions[holding.holder], market_day_window(day)
    asset = f"/organisations/{session.organisation_id}/virtual-assets/{holding.id}"
    span = f"start={written(window.start)}&end={written(window.end)}"
    try:
        before = await session.get(f"{asset}/schedule?{span}")
        is_planned = any(point["power"] for point in before["schedule"])
        if is_planned and holding.holder in NEWCOMERS and not context.is_past:
            return None
        start = await read_charge(session, holding, window.start)
        power = await asyncio.to_thread(_choose_powers, context, holding, day, before["powerCapacity"], start)
        schedule = [{"time": written(t), "power": p} for t, p in zip(periods_of(day), power, strict=True)]
        answer = f"start={written(window.start)}&end={written(window.start + PERIOD)}"
        await session.put(f"{asset}/schedule?{answer}", {"schedule": schedule})
    except RequestRejected as problem:
        record_rejection(f"schedule in {holding.zone}", problem)
        return None
    return power


async def read_charge(session: ApiSession, holding: SimulatedHolding, instant: datetime) -> float:
    """The projected state of charge at an instant, as a ratio; a virtual battery begins half full."""
    if holding.start >= instant:
        return 0.5
    asset = f"/organisations/{session.organisation_id}/virtual-assets/{holding.id}"
    found = await session.get(f"{asset}/state-of-charge?start={written(instant)}&end={written(instant + PERIOD)}")
    return float(found[0]["stateOfChargePercentage"]) / 100 if found else 0.5


def _choose_powers(
    context: StepContext, holding: SimulatedHolding, day: date, capacity: list[Any], start: float
) -> list[float]:
    charge_kw, discharge_kw, midnight = np.zeros(period_count(day)), np.zeros(period_count(day)), market_day_window(day)
    for one in capacity:
        period = (read_instant(one["time"]) - midnight.start) // PERIOD
        charge_kw[period], discharge_kw[period] = one["chargePowerCapacity"], one["dischargePowerCapacity"]
    store = Store(charge_kw, discharge_kw, holding.energy_kwh, holding.charge_efficiency, holding.discharge_efficiency)
    store = hold_energy(store, day, context.memory.reserves.get(day.isoformat(), {}).get(holding.id, ()))
    most_cycles = holding.daily_cycle_limit or DAILY_CYCLES
    return plan_holding(
        context.market_data,
        holding.holder,
        holding.zone,
        day,
        store,
        start,
        most_cycles,
        serves_customers=holding.is_tolled,
    )


def plan_holding(
    market_data: MarketData,
    holder: str,
    zone: str,
    day: date,
    store: Store,
    start: float,
    most_cycles: float,
    *,
    serves_customers: bool,
) -> list[float]:
    """The powers, in kW, by which a trader runs a virtual battery over a day whose prices are not known yet."""
    strategy = STRATEGIES[holder]
    expected = market_data.expected(day, day - timedelta(days=1), strategy.weights)
    seed = market_data.seed_of(day - timedelta(days=1))
    chance = stream(seed, "price view", number_text(holder), number_text(zone), day.toordinal())
    found = plan_day(
        store,
        see_prices(strategy, expected, chance.standard_normal(NORMALS)),
        start=start,
        end=0.5,
        most_cycles=min(strategy.most_cycles, most_cycles),
        least_margin_eur_mwh=strategy.least_margin_eur_mwh,
        delivers=customers_periods(strategy, day) & serves_customers,
    )
    powers: list[float] = found.power_kw.tolist()
    return powers
