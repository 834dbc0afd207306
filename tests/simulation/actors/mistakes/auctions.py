"""Mistakes in auctions and their bids."""

from __future__ import annotations

from typing import Any

from tests.simulation.actors.acting import as_window
from tests.simulation.actors.mistakes.making import mistake
from tests.simulation.actors.virtual_assets import as_backing, choose_terms
from tests.simulation.calls import Request
from tests.simulation.market import quarter_of
from tests.simulation.model import World
from tests.simulation.steps import Pick


def _auction(world: World, pick: Pick, start: int, end: int) -> dict[str, Any] | None:
    chosen = choose_terms(world, pick)
    if chosen is None:
        return None
    item, behind, shares = chosen
    now = quarter_of(world.now)
    return {
        **as_window(now + start, now + end),
        "item": item,
        "backing": as_backing(behind, shares),
        "participants": [world.traders[0].id],
    }


@mistake(422, "unfit-auction")
def close_after_delivery(world: World, pick: Pick) -> Request | None:
    body = _auction(world, pick, 1, 96 * 20)
    return None if body is None else Request("createAuction", world.operator.admin, "POST", "/auctions", body)


@mistake(409, "invitation-refused")
def invite_owner(world: World, pick: Pick) -> Request | None:
    body = _auction(world, pick, 1, 3)
    if body is None:
        return None
    backing = body["backing"][0]["physicalAssetID"]
    owner = next(one.owner for one in world.batteries.values() if one.id == backing)
    body["participants"] = [owner.id]
    return Request("createAuction", world.operator.admin, "POST", "/auctions", body, expect=(409, 422))


@mistake(409, "bid-withdrawn")
def withdraw_twice(world: World, pick: Pick) -> Request | None:
    found = [
        (auction, bid)
        for auction in world.auctions.values()
        if auction.start <= world.now < auction.end and not auction.is_cancelled
        for bid in auction.bids
        if bid.is_withdrawn
    ]
    if not found:
        return None
    auction, bid = pick.of(found)
    by = world.find_organisation(bid.bidder).trader
    return Request("withdrawBid", by, "DELETE", f"/auctions/{auction.id}/bids/{bid.id}")
