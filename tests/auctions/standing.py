"""Which bids stand, in a model short enough to be obvious: what the database says is compared with it."""

from collections.abc import Iterable

from gridloom.auctions.model import AuctionBid


def standing_bids(bids: Iterable[AuctionBid]) -> list[AuctionBid]:
    """Each organisation's latest bid that was not withdrawn."""
    latest: dict[object, AuctionBid] = {}
    for bid in sorted(bids, key=lambda bid: bid.position):
        if not bid.is_withdrawn:
            latest[bid.organisation_id] = bid
    return list(latest.values())
