"""Orders by which traders sell reserves of the virtual batteries they hold for a fortnight."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any, Final

from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import market_day_window
from gridloom.sandbox.simulator.api_session import RequestRejected, record_rejection
from gridloom.sandbox.simulator.participants.operator import is_whole_day
from gridloom.sandbox.simulator.participants.reserve_offers import choose_offers
from gridloom.sandbox.simulator.participants.strategies import STRATEGIES
from gridloom.sandbox.simulator.participants.traders import read_charge
from gridloom.sandbox.simulator.scenario import batteries_in
from gridloom.sandbox.simulator.state import SimulatedHolding
from gridloom.sandbox.simulator.step_context import StepContext

AFRR_ENERGY_PRICE_EUR_MWH: Final = 150.0


async def order_reserves(context: StepContext, day: date, stage: Stage) -> None:
    """Orders of each trader's fortnightly virtual batteries for a day; a battery's FCR before its aFRR."""
    tolled = [one for one in context.memory.holdings if one.is_tolled and is_whole_day(one, day)]
    await asyncio.gather(*(_place_order(context, one, day, stage) for one in tolled))


async def _place_order(context: StepContext, holding: SimulatedHolding, day: date, stage: Stage) -> None:
    session = context.sessions[holding.holder]
    organisation = f"/organisations/{session.organisation_id}"
    power_mw, strategy = holding.power_mw * _available_share(context, holding, day), STRATEGIES[holding.holder]
    if not choose_offers(context.market_data, strategy, day, power_mw, stage):
        return
    stored = await read_charge(session, holding, market_day_window(day).start)
    offers = choose_offers(context.market_data, strategy, day, power_mw, stage, stored)
    if not offers:
        return
    reserves: list[dict[str, Any]] = [
        {"product": one.product, "capacity": 1000 * one.capacity_mw, "capacityPrice": one.price_eur_mw}
        | ({"energyPrice": AFRR_ENERGY_PRICE_EUR_MWH} if stage is Stage.AFRR else {})
        for one in offers
    ]
    try:
        stages, etag = await session.get_with_etag(
            f"{organisation}/virtual-assets/{holding.id}/markets?delivery-day={day}"
        )
        if any(one["stage"] == stage and "orderID" in one for one in stages):
            return  # by this step before it was cut off, or by a person
        order = {"virtualAssetID": holding.id, "ifMatch": etag, "stage": stage, "deliveryDay": day.isoformat()}
        await session.post(
            f"{organisation}/orders", [order | {"reserves": reserves}], context.key(f"order/{stage}/{holding.id}")
        )
    except RequestRejected as problem:
        record_rejection(f"order of {holding.holder} at {stage}", problem)


def _available_share(context: StepContext, holding: SimulatedHolding, day: date) -> float:
    """Of the zone's batteries, which back the virtual one by their power."""
    batteries, window = batteries_in(holding.zone), market_day_window(day)
    available_kw = sum(one.power_kw * context.memory.available_share(one.slug, window) for one in batteries)
    return available_kw / sum(one.power_kw for one in batteries)
