"""Who wins an auction: the highest valid price; at equal prices the bid placed earliest (contract 6)."""

from __future__ import annotations

from fractions import Fraction

from tests.simulation.model import Auction, AuctionBid, World


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
    """In the model; what the platform made of it is compared when it is read."""
    for auction in world.auctions.values():
        if auction.is_cancelled or auction.is_cleared or auction.end > world.now:
            continue
        auction.is_cleared = True
        winner = find_winner(auction)
        if winner is not None:
            auction.winner, auction.price = winner.bidder, winner.price
