"""Owners: they sell balancing power of what is free of their batteries."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

from gridloom.kernel.balancing import Direction, block_product
from gridloom.sandbox.simulator.api_session import RequestRejected, record_rejection
from gridloom.sandbox.simulator.market.balancing import (
    FCR_EUR_MW_H,
    afrr_capacity_prices,
    blocks_of,
    fcr_prices_eur_mw,
    read_product,
)
from gridloom.sandbox.simulator.scenario import BATTERIES, SimulatedBattery
from gridloom.sandbox.simulator.state import AwaitedBid, Award
from gridloom.sandbox.simulator.step_context import StepContext

AFRR_START_HOURS = {Direction.POS: (16, 20), Direction.NEG: (8, 12)}
"""The blocks in which aFRR capacity is offered, by the hour in which they start."""


# --- balancing power -------------------------------------------------------------------------------------------------


async def offer_reserves(context: StepContext, day: date) -> None:
    """All batteries at once; a battery's FCR before its aFRR, which has what is left of its power."""
    await asyncio.gather(*(_offer_reserves(context, battery, day) for battery in BATTERIES))


async def _offer_reserves(context: StepContext, battery: SimulatedBattery, day: date) -> None:
    if battery.fcr_mw:
        await _offer_fcr(context, battery, day)
    if battery.afrr_mw:
        await _offer_afrr(context, battery, day)


async def _offer_fcr(context: StepContext, battery: SimulatedBattery, day: date) -> None:
    draws = context.chance("fcr offer", BATTERIES.index(battery), day.toordinal()).uniform(0.55, 1.25, 6)
    entries = [
        _make_entry(
            day, block.product(Direction.NEGPOS), battery.fcr_mw, round(usual * block.length_h * float(draw), 2)
        )
        for block, usual, draw in zip(blocks_of(day), FCR_EUR_MW_H, draws, strict=True)
    ]
    await _offer_bids(context, battery, entries, "fcr")


async def _offer_afrr(context: StepContext, battery: SimulatedBattery, day: date) -> None:
    entries = []
    for direction, hours in AFRR_START_HOURS.items():
        draws = context.chance(f"afrr offer {direction}", BATTERIES.index(battery), day.toordinal()).uniform(
            4, 16, len(hours)
        )
        for hour, draw in zip(hours, draws.tolist(), strict=True):
            product = block_product(direction, hour)
            entries.append(_make_entry(day, product, battery.afrr_mw, round(draw, 2), energy_price=120.0))
    await _offer_bids(context, battery, entries, "afrr")


def _make_entry(
    day: date, product: str, capacity_mw: int, price: float, energy_price: float | None = None
) -> dict[str, Any]:
    bid: dict[str, Any] = {"capacityPrice": price, "offeredCapacity": capacity_mw * 1000}
    if energy_price is not None:
        bid["energyPrice"] = energy_price
    return {"deliveryDay": day.isoformat(), "product": product, "bids": [bid]}


async def _offer_bids(
    context: StepContext, battery: SimulatedBattery, entries: list[dict[str, Any]], kind: str
) -> None:
    target = f"/physical-assets/{context.memory.batteries[battery.slug]}/ancillary/bids"
    try:
        answered = await context.sessions[battery.owner].post(target, entries, context.key(f"{kind}/{battery.slug}"))
    except RequestRejected as problem:
        record_rejection(f"{kind} of {battery.name}", problem)
        return
    context.memory.waiting += [
        AwaitedBid(battery.slug, entry["product"], bid["id"], bid["offeredCapacity"], bid["capacityPrice"])
        for entry in answered
        for bid in entry["bids"]
        if bid["status"] == "OFFERED"
    ]


async def report_results(context: StepContext, day: date) -> None:
    """The tenders' results reach each battery's bids: accepted where the bid was not above what cleared."""
    ours, context.memory.waiting = context.memory.waiting, []
    batteries = [battery for battery in BATTERIES if any(one.battery == battery.slug for one in ours)]
    awards = await asyncio.gather(
        *(
            _report_awards(context, battery, [one for one in ours if one.battery == battery.slug], day)
            for battery in batteries
        )
    )
    context.memory.awards.setdefault(day.isoformat(), []).extend(award for some in awards for award in some)


async def _report_awards(
    context: StepContext, battery: SimulatedBattery, bids: list[AwaitedBid], day: date
) -> list[Award]:
    judged = [(one, *_clear_bid(context, one, day)) for one in bids]
    results = [
        {
            "deliveryDay": day.isoformat(),
            "product": one.product,
            "results": [
                {
                    "bidID": one.bid_id,
                    "accepted": is_accepted,
                    "acceptedCapacity": one.offered_kw if is_accepted else 0,
                    "settlementPrice": price,
                }
            ],
        }
        for one, is_accepted, price, _ in judged
    ]
    target = f"/physical-assets/{context.memory.batteries[battery.slug]}/ancillary/results"
    try:
        await context.operator.post(target, results, context.key(f"results/{battery.slug}"))
    except RequestRejected as problem:
        record_rejection(f"results of {battery.name}", problem)
        return []
    return [
        Award(battery.slug, one.product, round(one.offered_kw / 1000), per_hour)
        for one, is_accepted, _, per_hour in judged
        if is_accepted
    ]


def _clear_bid(context: StepContext, bid: AwaitedBid, day: date) -> tuple[bool, float, float]:
    """Whether it is accepted, at which price as results give it, and what that is per hour."""
    seed = context.market_data.seed_of(day)
    direction, block = read_product(day, bid.product)
    if direction is Direction.NEGPOS:
        cleared = float(fcr_prices_eur_mw(seed, day)[block.number])
        return bid.price <= cleared, cleared, round(cleared / block.length_h, 6)
    _, marginal = afrr_capacity_prices(seed, day, direction)
    return bid.price <= float(marginal[block.number]), bid.price, bid.price  # paid as bid
