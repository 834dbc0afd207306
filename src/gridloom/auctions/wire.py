"""Auctions and bids as they cross the wire."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.auctions.model import (
    Auction,
    AuctionBid,
    AuctionStatus,
    BidFate,
    CancelReason,
    ClearingOutcome,
    Item,
    OperatorStatus,
    VisibleStatus,
)
from gridloom.auctions.rules import own_state, status_for
from gridloom.auctions.store import VisibleAuction
from gridloom.kernel.codes import ControlArea
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.money import Euro
from gridloom.kernel.units import MIN_EFFICIENCY
from gridloom.platform.http import Instant, Paging, RequestBody, ResponseBody
from gridloom.platform.http.fields import view_of
from gridloom.virtual_assets.model import BackingShare

Power = Annotated[float, Meta(gt=0, le=1e9)]
Energy = Annotated[float, Meta(gt=0, le=1e10)]
Efficiency = Annotated[float, Meta(ge=MIN_EFFICIENCY, le=1)]
StateOfCharge = Annotated[float, Meta(ge=0, le=1)]
Cycles = Annotated[float, Meta(gt=0, le=1000)]
MinimumAvailability = Annotated[float, Meta(ge=0, le=1)]
Price = Annotated[Decimal, Euro(Decimal("0.01"), Decimal("10000000.00"))]
HurdlePrice = Annotated[Decimal, Euro(Decimal("0.00"), Decimal("10000000.00"))]


class NewItem(RequestBody, kw_only=True):
    start: Instant
    end: Instant
    delivery_zone: ControlArea
    rated_charge_power: Power
    rated_discharge_power: Power
    energy_capacity: Energy
    charge_efficiency: Efficiency
    discharge_efficiency: Efficiency
    daily_cycle_limit: Cycles | None = None
    initial_soc: StateOfCharge = 0.5
    last_soc_target: StateOfCharge = 0.5
    final_soc_tolerance: StateOfCharge = 0.01


class NewBacking(RequestBody):
    physical_asset_id: UUID
    share: Annotated[float, Meta(gt=0, le=1)]


Backing = Annotated[list[NewBacking], Meta(min_length=1, max_length=100)]
Participants = Annotated[list[UUID], Meta(max_length=1000)]


class NewAuction(RequestBody, kw_only=True):
    start: Instant
    end: Instant
    item: NewItem
    hurdle_price: HurdlePrice | None = None
    minimum_availability: MinimumAvailability = 0.5
    backing: Backing
    participants: Participants


class AuctionChange(RequestBody):
    start: Instant | UnsetType = UNSET
    end: Instant | UnsetType = UNSET
    item: NewItem | UnsetType = UNSET
    hurdle_price: HurdlePrice | UnsetType | None = UNSET
    minimum_availability: MinimumAvailability | UnsetType = UNSET
    backing: Backing | UnsetType = UNSET


class ParticipantList(RequestBody):
    participants: Participants


class NewBid(RequestBody):
    price: Price


class ItemAvailability(ResponseBody):
    """The shares of the item that its batteries can deliver as things stand now, means over its window."""

    power: float
    energy: float


class ItemView(ResponseBody):
    id: UUID
    start: Instant
    end: Instant
    delivery_zone: str
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None
    initial_soc: float
    last_soc_target: float
    final_soc_tolerance: float
    units_power: Literal["kW"] = "kW"
    units_energy: Literal["kWh"] = "kWh"
    availability: ItemAvailability | UnsetType = UNSET


class CancelledView(ResponseBody):
    at: Instant
    reason: CancelReason


class CurrentBid(ResponseBody):
    id: UUID
    price: Decimal
    timestamp: Instant


class AuctionBackingView(ResponseBody):
    physical_asset_id: UUID
    share: float


class AuctionView(ResponseBody):
    """`status` is the caller's own; to the operator it is the auction's. The fields from `state` on are the operator's
    alone."""

    id: UUID
    start: Instant
    end: Instant
    status: VisibleStatus
    item: ItemView
    minimum_availability: MinimumAvailability
    current_bid: CurrentBid | UnsetType = UNSET
    virtual_asset_id: UUID | UnsetType = UNSET
    cancelled: CancelledView | UnsetType = UNSET
    state: OperatorStatus | UnsetType = UNSET
    has_bid: bool | UnsetType = UNSET
    outcome: ClearingOutcome | UnsetType | None = UNSET
    winner_id: UUID | UnsetType | None = UNSET
    price: Decimal | UnsetType | None = UNSET
    cleared_at: Instant | UnsetType | None = UNSET
    hurdle_price: Decimal | UnsetType | None = UNSET
    backing: list[AuctionBackingView] | UnsetType = UNSET
    participants: list[UUID] | UnsetType = UNSET


class BidView(ResponseBody):
    """`sequence` counts the organisation's own bids in this auction."""

    id: UUID
    auction_id: UUID
    price: Decimal
    timestamp: Instant
    sequence: int
    withdrawn: bool = False


class RankedBid(ResponseBody):
    rank: int
    id: UUID
    organisation_id: UUID
    price: Decimal
    timestamp: Instant
    position: int
    fate: BidFate


class ResultsView(ResponseBody):
    auction_id: UUID
    outcome: ClearingOutcome
    detail: str | None
    winning_bid_id: UUID | None
    winner_id: UUID | None
    virtual_asset_id: UUID | None
    cleared_at: Instant
    bids: list[RankedBid]


class AuctionQuery(Paging):
    status: tuple[VisibleStatus, ...] | None = None


def auction_view(
    seen: VisibleAuction, organisation_id: UUID, availability: ItemAvailability | None = None
) -> AuctionView:
    """An auction as one organisation sees it."""
    auction, bid = seen.auction, seen.bid
    status = status_for(auction, now=seen.now, organisation_id=organisation_id, has_standing_bid=bid is not None)
    has_won = status is AuctionStatus.WON and auction.virtual_asset_id is not None
    return AuctionView(
        **_common_fields(auction, status, availability),
        current_bid=CurrentBid(id=bid.id, price=bid.price_eur, timestamp=bid.placed_at) if bid else UNSET,
        virtual_asset_id=auction.virtual_asset_id if has_won and auction.virtual_asset_id else UNSET,
    )


def _common_fields(
    auction: Auction, status: AuctionStatus | OperatorStatus, availability: ItemAvailability | None
) -> dict[str, Any]:
    return {
        "id": auction.id,
        "start": auction.open.start,
        "end": auction.open.end,
        "status": VisibleStatus(status.value),
        "item": item_view(auction.item, availability),
        "minimum_availability": auction.minimum_availability,
        "cancelled": UNSET if auction.cancelled is None else view_of(CancelledView, auction.cancelled),
    }


def own_view(seen: VisibleAuction, availability: ItemAvailability | None = None) -> AuctionView:
    """The auction by itself, as the operator sees it; no participant's status or bid."""
    auction = seen.auction
    state = own_state(auction, seen.now)
    return AuctionView(
        **_common_fields(auction, state, availability),
        has_bid=seen.has_standing_bid if state is OperatorStatus.RUNNING else UNSET,
        virtual_asset_id=auction.virtual_asset_id or UNSET,
        state=state,
        outcome=auction.outcome,
        winner_id=auction.winner_id,
        price=auction.winning_price_eur,
        cleared_at=auction.cleared_at,
    )


def operator_view(
    seen: VisibleAuction, availability: ItemAvailability | None, backing: list[BackingShare], participants: list[UUID]
) -> AuctionView:
    view = own_view(seen, availability)
    view.hurdle_price = seen.auction.hurdle_price_eur
    view.backing = [view_of(AuctionBackingView, part) for part in backing]
    view.participants = participants
    return view


def item_view(item: Item, availability: ItemAvailability | None = None) -> ItemView:
    return view_of(ItemView, item, start=item.delivery.start, end=item.delivery.end, availability=availability or UNSET)


def bid_view(auction: UUID, bid: AuctionBid) -> BidView:
    return view_of(BidView, bid, auction_id=auction, timestamp=bid.placed_at, withdrawn=bid.is_withdrawn)


def version_tag(auction: Auction) -> str:
    """Changes with the operator's changes and with clearing, never with a bid."""
    return entity_tag(auction.version)
