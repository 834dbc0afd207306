"""Who wins an auction: the highest valid price; at equal prices the bid placed earliest (contract 6)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from tests.simulation.model import Auction, AuctionBid, World
from tests.simulation.oracle.book import find_turning_points
from tests.simulation.oracle.shares import left_of


def standing_bids(auction: Auction) -> list[AuctionBid]:
    """Of each bidder the latest that was not withdrawn."""
    latest: dict[str, AuctionBid] = {}
    for bid in auction.bids:
        if not bid.is_withdrawn:
            latest[bid.bidder] = bid
    return list(latest.values())


def find_winner(auction: Auction) -> AuctionBid | None:
    valid = [bid for bid in standing_bids(auction) if bid.price >= (auction.hurdle or Fraction(0))]
    return min(valid, key=lambda bid: (-bid.price, bid.order), default=None)


def find_fates(auction: Auction) -> dict[str, str]:
    """Of every bid of an auction that was cleared, by its id: why it won or lost."""
    standing, winner = {bid.id for bid in standing_bids(auction)}, find_winner(auction)
    found = {}
    for bid in auction.bids:
        if bid.is_withdrawn:
            found[bid.id] = "WITHDRAWN"
        elif bid.id not in standing:
            found[bid.id] = "SUPERSEDED"
        elif winner is None or bid.price < (auction.hurdle or 0):
            found[bid.id] = "BELOW_HURDLE"
        elif bid is winner:
            found[bid.id] = "WON"
        else:
            found[bid.id] = "TIED_BUT_LATER" if bid.price == winner.price else "OUTBID"
    return found


def status_for(world: World, auction: Auction, bidder: str) -> str:
    """As the seed has it, for one organisation."""
    if world.now < auction.start and not auction.is_cancelled:
        return "NOT_STARTED"
    if world.now < auction.end and not auction.is_cancelled:
        return "RUNNING"
    if auction.winner == bidder:
        return "WON"
    return "LOST" if any(bid.bidder == bidder for bid in standing_bids(auction)) else "NO_BIDS_SUBMITTED"


def clear_due_auctions(world: World) -> None:
    """In the model; what the platform made of it is compared when it is read.

    No bid is valid where less than the least of the item can be delivered. How charging and discharging make one power
    is left open: where that matters, what the platform says decides.
    """
    for auction in world.auctions.values():
        if auction.is_cancelled or auction.is_cleared or auction.end > world.now:
            continue
        least, most = find_deliverable(world, auction)
        if least < auction.least <= most:
            world.doubtful.append(auction.id)
        settle(auction, is_deliverable=most >= auction.least)
        world.note_change(auction.backing, auction.end)
        world.touch(auction.backing, auction.first, auction.last)


def settle(auction: Auction, *, is_deliverable: bool) -> None:
    winner = find_winner(auction)
    auction.is_cleared, auction.is_cancelled = is_deliverable, not is_deliverable
    auction.winner = winner.bidder if winner is not None and is_deliverable else None
    auction.price = winner.price if winner is not None and is_deliverable else Fraction(0)


def is_whole(world: World, backing: list[tuple[str, Fraction]], first: int, end: int) -> bool:
    """Whether nothing is missing of what batteries have promised over a window."""
    batteries = [world.batteries[name] for name, _ in backing]
    points = {quarter for one in batteries for quarter in find_turning_points(world, one, first, end)}
    lefts = (left_of(world, backing, quarter) for quarter in points | {first})
    return all(min(left.charge, left.discharge, left.energy) >= 1 for left in lefts)


def find_deliverable(world: World, auction: Auction) -> tuple[Fraction, Fraction]:
    """The mean over the window of min(power, energy) availability, with power as the worse and as the better of
    charging and discharging."""
    batteries = [world.batteries[name] for name, _ in auction.backing]
    points = {quarter for one in batteries for quarter in find_turning_points(world, one, auction.first, auction.last)}
    edges = [*sorted(points | {auction.first}), auction.last]
    low = high = Fraction(0)
    for start, end in pairwise(edges):
        left = left_of(world, auction.backing, start)
        low += (end - start) * min(left.charge, left.discharge, left.energy)
        high += (end - start) * min(max(left.charge, left.discharge), left.energy)
    length = auction.last - auction.first
    return low / length, high / length
