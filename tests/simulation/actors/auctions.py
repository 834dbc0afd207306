"""Auctions: made by the operator, bid for by traders."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, exact
from tests.simulation.actors.virtual_assets import MAX_VIRTUALS, as_backing, choose_terms, judge_promise, read_virtual
from tests.simulation.calls import Answer, Request
from tests.simulation.market import from_text, quarter_after, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Auction, AuctionBid, World
from tests.simulation.oracle.clearing import find_fates, is_whole, standing_bids, status_for
from tests.simulation.oracle.energy import may_be_out_of_bounds
from tests.simulation.steps import Pick


@action(weight=5)
def create_auction(world: World, pick: Pick) -> Request | None:
    chosen = choose_terms(world, pick)
    if chosen is None or len(world.virtuals) >= MAX_VIRTUALS:
        return None
    item, behind, shares = chosen
    start = start_of_quarter(quarter_of(world.now) + pick.one_of(0, 0, 1, 0, 3))
    end = start + timedelta(minutes=pick.one_of(60, 240, 30, 720))
    if end >= from_text(item["start"]):
        return None
    invited = [one for one in world.traders if pick.chance(75)] or world.traders[:1]
    body: dict[str, Any] = {
        "start": to_text(start),
        "end": to_text(end),
        "item": item,
        "backing": as_backing(behind, shares),
        "participants": [one.id for one in invited],
    }
    if pick.chance(60):
        body["hurdlePrice"] = pick.between(1, 500)
    if pick.chance(20):
        body["minimumAvailability"] = pick.one_of(0, 0.9, 1)
    expect = judge_promise(world, item, behind, shares)
    if _may_read_revenue(behind, invited):
        expect = None

    def remember(answer: Answer) -> None:
        made = answer.body
        world.auctions[made["id"]] = Auction(
            made["id"],
            start,
            end,
            item,
            quarter_of(from_text(item["start"])),
            quarter_after(from_text(item["end"])),
            [(one.name, share) for one, share in zip(behind, shares, strict=True)],
            [one.name for one in invited],
            None if "hurdlePrice" not in body else exact(body["hurdlePrice"]),
            exact(body.get("minimumAvailability", 0.5)),
        )
        world.note_change(world.auctions[made["id"]].backing)

    return Request(
        "createAuction",
        world.operator.admin,
        "POST",
        "/auctions",
        body,
        expect=201 if expect == 201 else expect,
        on_success=remember,
    )


def _may_read_revenue(behind: list[Any], invited: list[Any]) -> bool:
    return any("Read:revenue" in battery.grants.get(one.name, ()) for battery in behind for one in invited)


def _pick_auction(world: World, pick: Pick) -> Auction | None:
    return pick.of(list(world.auctions.values())[-6:]) if world.auctions else None


def is_running(world: World, auction: Auction) -> bool:
    return auction.start <= world.now < auction.end and not auction.is_cancelled


@action(weight=14)
def bid_for_auction(world: World, pick: Pick) -> Request | None:
    """By whoever is invited, or not; before, while and after it runs; at the hurdle and at another's price."""
    running = [one for one in world.auctions.values() if is_running(world, one)]
    auction = pick.of(running) if running and pick.chance(90) else _pick_auction(world, pick)
    if auction is None:
        return None
    invited = [one for one in world.traders if one.name in auction.participants]
    bidder = pick.of(invited) if invited and pick.chance(90) else pick.of(world.traders)
    prices = [float(bid.price) for bid in auction.bids] + ([float(auction.hurdle)] if auction.hurdle else [])
    price = pick.of(prices) if prices and pick.chance(60) else pick.between(1, 60000) / 100
    is_invited = bidder.name in auction.participants
    expect: Any = 201 if is_running(world, auction) else (404, 409) if auction.is_cancelled else 409
    if not is_invited:
        expect = (403, 404)

    def remember(answer: Answer) -> None:
        auction.bids.append(AuctionBid(answer.body["id"], bidder.name, exact(price), len(auction.bids)))

    path = f"/auctions/{auction.id}/bids"
    body = {"price": price if pick.chance(50) else f"{price:.2f}"}
    return Request("placeBid", bidder.trader, "POST", path, body, expect=expect, on_success=remember)


@action(weight=2)
def withdraw_bid(world: World, pick: Pick) -> Request | None:
    auction = _pick_auction(world, pick)
    if auction is None or not auction.bids:
        return None
    bid = pick.of(auction.bids)
    expect: Any = 204 if is_running(world, auction) else (404, 409)
    if bid.is_withdrawn:
        expect = (204, 404, 409)

    def remember(_: Answer) -> None:
        bid.is_withdrawn = True

    bidder = world.find_organisation(bid.bidder)
    path = f"/auctions/{auction.id}/bids/{bid.id}"
    return Request("withdrawBid", bidder.trader, "DELETE", path, expect=expect, on_success=remember)


@action(weight=1)
def cancel_auction(world: World, pick: Pick) -> Request | None:
    auction = _pick_auction(world, pick)
    if auction is None:
        return None
    expect: Any = 204 if not (auction.is_cleared or auction.is_cancelled) else (204, 409)

    def remember(_: Answer) -> None:
        auction.is_cancelled = auction.is_cancelled or not auction.is_cleared
        world.note_change(auction.backing)
        world.touch(auction.backing, auction.first, auction.last)

    return Request(
        "cancelAuction", world.operator.admin, "DELETE", f"/auctions/{auction.id}", expect=expect, on_success=remember
    )


@action(weight=1)
def change_auction(world: World, pick: Pick) -> Request | None:
    """Only before it opens."""
    auction = _pick_auction(world, pick)
    if auction is None:
        return None
    frozen = world.now >= auction.start or auction.is_cancelled
    hurdle = pick.between(1, 500)

    def remember(_: Answer) -> None:
        auction.hurdle = Fraction(hurdle)

    path = f"/auctions/{auction.id}"
    return Request(
        "updateAuction",
        world.operator.admin,
        "PATCH",
        path,
        {"hurdlePrice": hurdle},
        expect=409 if frozen else 200,
        on_success=remember,
    )


@action(weight=1)
def invite_others(world: World, pick: Pick) -> Request | None:
    auction = _pick_auction(world, pick)
    if auction is None:
        return None
    frozen = world.now >= auction.start or auction.is_cancelled
    invited = [one for one in world.traders if pick.chance(70)] or world.traders[1:2]

    def remember(_: Answer) -> None:
        auction.participants = [one.name for one in invited]

    path = f"/auctions/{auction.id}/participants"
    return Request(
        "replaceParticipants",
        world.operator.admin,
        "PUT",
        path,
        [one.id for one in invited],
        expect=409 if frozen else 200,
        on_success=remember,
    )


@action(weight=5)
def read_auction(world: World, pick: Pick) -> Request | None:
    """As a participant: its own status, its own bid, and the asset where it won."""
    auction = _pick_auction(world, pick)
    if auction is None:
        return None
    bidder = pick.of(world.traders)
    if bidder.name not in auction.participants:
        path = f"/auctions/{auction.id}"
        return Request("readAuction", bidder.viewer, "GET", path, expect=(403, 404))

    def check(answer: Answer) -> None:
        said = answer.body
        expected = status_for(world, auction, bidder.name)
        assert said["status"] in (expected, "PENDING" if auction.is_cleared else expected), (
            f"status {expected}, not {said['status']}"
        )
        mine = [bid for bid in standing_bids(auction) if bid.bidder == bidder.name]
        current = said.get("currentBid")
        if said["status"] == "RUNNING":
            assert (current is None) == (not mine), f"current bid {mine}, not {current}"
            assert current is None or exact(current["price"]) == mine[0].price
        others = {bid.id for bid in auction.bids if bid.bidder != bidder.name}
        assert not any(one in answer.content.decode() for one in others), "nothing of others' bids"
        assert ("virtualAssetID" in said) == (said["status"] == "WON"), "the asset where it is won"

    expect: Any = (200, 404) if auction.is_cancelled else 200
    return Request(
        "readAuction",
        bidder.viewer,
        "GET",
        f"/auctions/{auction.id}",
        expect=expect,
        check=None if auction.is_cancelled else check,
    )


@action(weight=3)
def collect_prize(world: World, pick: Pick) -> Request | None:
    """The winner reads what it was given; from then on it is traded like any other."""
    won = [one for one in world.auctions.values() if one.winner is not None and one.virtual is None]
    if not won:
        return None
    auction = pick.of(won)
    winner = world.find_organisation(auction.winner or "")

    def check(answer: Answer) -> None:
        found = [one for one in answer.body if one.get("auctionID") == auction.id]
        assert len(found) == 1, f"one virtual asset from auction {auction.id}, not {len(found)}"
        name = f"won{world.number()}"
        made = read_virtual(found[0], name, winner, auction.backing)
        made.target = exact(auction.item.get("lastSoCTarget", 0.5))
        made.has_cycle_limit = "dailyCycleLimit" in found[0]
        window = (world, made.backing, made.first, made.end)
        made.is_disturbed = not is_whole(*window) or may_be_out_of_bounds(*window)
        for field, value in (
            ("ratedChargePower", made.charge),
            ("ratedDischargePower", made.discharge),
            ("energyCapacity", made.energy),
        ):
            assert exact(auction.item[field]) == value, f"the item's {field}"
        auction.virtual = made.id
        world.virtuals[name] = made

    path = f"/organisations/{winner.id}/virtual-assets"
    query = {"limit": "1000"}
    return Request("listVirtualAssets", winner.viewer, "GET", path, query=query, expect=200, check=check)


@action(weight=2)
def read_results(world: World, pick: Pick) -> Request | None:
    auction = _pick_auction(world, pick)
    return None if auction is None else results_request(world, auction)


def results_request(world: World, auction: Auction) -> Request:
    """Every bid ranked, and the winner that the oracle has."""

    def check(answer: Answer) -> None:
        said = answer.body
        fates = {bid["id"]: bid["fate"] for bid in said["bids"]}
        expected = None if auction.winner is None else world.find_organisation(auction.winner).id
        world.compared["winner"] += len(auction.bids) > 1
        assert said.get("winnerID") == expected, f"winner {expected}, not {said.get('winnerID')}"
        due = find_fates(auction)
        world.compared["fates of bids"] += "TIED_BUT_LATER" in due.values() or "SUPERSEDED" in due.values()
        assert fates == due, f"fates {due}, not {fates}"

    expect: Any = 200 if auction.is_cleared else 409
    if auction.is_cancelled:
        expect = (200, 404, 409)
    path = f"/auctions/{auction.id}/results"
    return Request(
        "readResults",
        world.operator.trader,
        "GET",
        path,
        expect=expect,
        check=check if auction.is_cleared else None,
    )


@action(weight=1)
def list_auctions(world: World, pick: Pick) -> Request | None:
    bidder = pick.of([*world.traders, world.operator])
    if pick.chance(50) and world.auctions and bidder is not world.operator:
        auction = _pick_auction(world, pick)
        if auction is not None and bidder.name in auction.participants and not auction.is_cancelled:
            return Request("listBids", bidder.viewer, "GET", f"/auctions/{auction.id}/bids", expect=200)
    return Request("listAuctions", bidder.viewer, "GET", "/auctions", expect=200)
