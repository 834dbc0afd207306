"""Who wins, why the others lost, and when an auction may still be changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from gridloom.auctions.model import (
    Auction,
    AuctionBid,
    AuctionState,
    AuctionStatus,
    BidFate,
    ClearingOutcome,
    Item,
    OperatorStatus,
)
from gridloom.kernel.market_time import format_instant, is_period_start
from gridloom.kernel.problem import BadRequest, Conflict, Unprocessable
from gridloom.kernel.window import Window
from gridloom.virtual_assets.model import BackingShare
from gridloom.virtual_assets.rules import MAX_LIFETIME, find_share_errors


class AuctionNotOpen(Conflict, title="The auction is not open"):
    """Bids count from the auction's start until just before its end, by the platform's clock at the instant at which
    the bid takes its position in the order. This one came too early or too late, and does not count."""


class AuctionFrozen(Conflict, title="The auction cannot be changed any more"):
    """Once an auction has opened its terms and its participants stay as they are; it can only be cancelled, and only
    until it closes."""


class BidWithdrawn(Conflict, title="The bid is withdrawn already"):
    """The bid was withdrawn before."""


class UnfitAuction(Unprocessable, title="The auction's terms do not fit together"):
    """The parts of the auction contradict each other: for instance it would close after the delivery has begun, or the
    shares of the backing assets do not add up to 1. `errors` names the fields."""


def check_terms(opening: Window, item: Item, backing: Sequence[BackingShare], now: datetime) -> None:
    """Refuse terms that could never be carried out."""
    for name, instant in (("start", item.delivery.start), ("end", item.delivery.end)):
        if not is_period_start(instant):
            raise BadRequest.at(
                f"/item/{name}",
                f"The delivery window is made of quarter-hours, and {format_instant(instant)} is not on one.",
                "is not on a 15-minute boundary",
            )
    if item.delivery.duration > MAX_LIFETIME:
        raise BadRequest.at("/item/end", "A virtual asset lives for ten years at most.", "Expected an earlier time.")
    if opening.end <= now:
        raise unfit("/end", f"the auction would be over already: it is {format_instant(now)}")
    if item.delivery.start < opening.end:
        raise unfit("/item/start", "delivery would begin before the auction closes")
    faults = find_share_errors([(part.physical_asset_id, part.share) for part in backing])
    if faults:
        raise UnfitAuction("; ".join(f"{error.pointer} {error.detail}" for error in faults) + ".", errors=faults)


def unfit(pointer: str, what: str) -> UnfitAuction:
    return UnfitAuction.at(pointer, f"{pointer}: {what}.", what)


def check_changeable(auction: Auction, now: datetime) -> None:
    if auction.state is not AuctionState.SCHEDULED:
        raise AuctionFrozen(f"The auction is {auction.state.lower()}.")
    if now >= auction.open.start:
        raise AuctionFrozen("The auction has opened.")


def check_cancellable(auction: Auction, now: datetime) -> None:
    if auction.state is not AuctionState.SCHEDULED:
        raise AuctionFrozen(f"The auction is {auction.state.lower()}.")
    if now >= auction.open.end:
        raise AuctionFrozen("The auction has closed.")


def status_for(auction: Auction, *, now: datetime, organisation_id: object, has_standing_bid: bool) -> AuctionStatus:
    """The status for an organisation. An auction that has closed is PENDING until it is cleared, for everyone; one that
    was cancelled has no winner."""
    if auction.state is AuctionState.CANCELLED:
        return AuctionStatus.LOST if has_standing_bid else AuctionStatus.NO_BIDS_SUBMITTED
    if now < auction.open.start:
        return AuctionStatus.NOT_STARTED
    if now < auction.open.end:
        return AuctionStatus.RUNNING
    if auction.state is not AuctionState.CLEARED:
        return AuctionStatus.PENDING
    if auction.winner_id == organisation_id:
        return AuctionStatus.WON
    return AuctionStatus.LOST if has_standing_bid else AuctionStatus.NO_BIDS_SUBMITTED


def own_state(auction: Auction, now: datetime) -> OperatorStatus:
    """The status for the operator; an auction that has closed runs until it is cleared."""
    if auction.state is not AuctionState.SCHEDULED:
        return OperatorStatus(auction.state.value)
    return OperatorStatus.SCHEDULED if now < auction.open.start else OperatorStatus.RUNNING


def winning_bid(standing: Iterable[AuctionBid], hurdle_price_eur: Decimal | None) -> AuctionBid | None:
    """The highest valid price; of equal prices the bid placed first."""
    valid = [bid for bid in standing if hurdle_price_eur is None or bid.price_eur >= hurdle_price_eur]
    return min(valid, key=lambda bid: (-bid.price_eur, bid.position), default=None)


def fate_of(
    bid: AuctionBid,
    *,
    is_standing: bool,
    hurdle_price_eur: Decimal | None,
    outcome: ClearingOutcome,
    best: AuctionBid | None,
) -> BidFate:
    """best: the bid that won, or would have won had the capacity been there."""
    if bid.is_withdrawn:
        return BidFate.WITHDRAWN
    if not is_standing:
        return BidFate.SUPERSEDED
    if hurdle_price_eur is not None and bid.price_eur < hurdle_price_eur:
        return BidFate.BELOW_HURDLE
    assert best is not None, "a valid standing bid implies a best one"
    if bid.position == best.position:
        return BidFate.WON if outcome is ClearingOutcome.ALLOCATED else BidFate.CAPACITY_GONE
    return BidFate.TIED_BUT_LATER if bid.price_eur == best.price_eur else BidFate.OUTBID
