"""Mistakes in balancing bids and their results."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.simulation.actors.mistakes.making import UNKNOWN, on_battery
from tests.simulation.calls import Request
from tests.simulation.market import berlin_day, quarters_of_day
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick


def _offer(world: World, battery: Battery, **more: Any) -> Request:
    day = berlin_day(world.now) + timedelta(days=3)
    step = {"capacityPrice": 5, "offeredCapacity": 1000, **more}
    body = [{"deliveryDay": day.isoformat(), "product": "NEGPOS_00_04", "bids": [step]}]
    return Request("placeAncillaryBids", battery.owner.trader, "POST", f"{battery.path}/ancillary/bids", body)


@on_battery(422, "lot-size-violated")
def offer_half_lot(world: World, pick: Pick, battery: Battery) -> Request | None:
    return _offer(world, battery, offeredCapacity=1500)


@on_battery(422, "prices-do-not-fit-product")
def offer_energy_price_for_fcr(world: World, pick: Pick, battery: Battery) -> Request | None:
    return _offer(world, battery, energyPrice=5)


@on_battery(400, "bad-request")
def offer_beyond_last_period(world: World, pick: Pick, battery: Battery) -> Request | None:
    day = berlin_day(world.now) + timedelta(days=3)
    product = f"{pick.one_of('POS', 'NEG')}_{len(quarters_of_day(day)) + 1:03}"
    step = {"capacityPrice": 0, "offeredCapacity": 1000, "energyPrice": 5}
    body = [{"deliveryDay": day.isoformat(), "product": product, "bids": [step]}]
    return Request("placeAncillaryBids", battery.owner.trader, "POST", f"{battery.path}/ancillary/bids", body)


@on_battery(409, "bid-id-taken")
def offer_under_taken_id(world: World, pick: Pick, battery: Battery) -> Request | None:
    day = berlin_day(world.now) + timedelta(days=3)
    taken = [bid for bid in battery.bids.values() if (bid.day, bid.product) != (day, "NEGPOS_00_04")]
    has_result = any((bid.day, bid.product) == (day, "NEGPOS_00_04") for bid in battery.bids.values())
    return None if not taken or has_result else _offer(world, battery, id=taken[0].id)


def _result(battery: Battery, day: str, product: str, **more: Any) -> Request:
    result = {"accepted": True, "acceptedCapacity": 1000, **more}
    body = [{"deliveryDay": day, "product": product, "results": [result]}]
    return Request("recordAncillaryResults", battery.owner.admin, "POST", f"{battery.path}/ancillary/results", body)


@on_battery(422, "unknown-bids")
def accept_unknown_bid(world: World, pick: Pick, battery: Battery) -> Request | None:
    return _result(battery, berlin_day(world.now).isoformat(), "NEGPOS_00_04", bidID=UNKNOWN)


@on_battery(422, "result-does-not-fit-bid")
def accept_more_than_offered(world: World, pick: Pick, battery: Battery) -> Request | None:
    bids = [bid for bid in battery.bids.values() if bid.status == "OFFERED"]
    if not bids:
        return None
    bid = pick.of(bids)
    more = {"bidID": bid.id, "acceptedCapacity": float(bid.capacity) + 1000}
    return _result(battery, bid.day.isoformat(), bid.product, **more)
