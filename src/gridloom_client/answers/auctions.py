"""Answers about auctions; EUR for the whole delivery window, kW and kWh."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import ClassVar
from uuid import UUID

from gridloom_client.answers.answered import Answered, Listed
from gridloom_client.answers.virtual_assets import Backing


class ItemAvailability(Answered):
    """The shares that the batteries behind an item can deliver as things stand, 0 to 1."""

    power: float
    energy: float


class AuctionItem(Answered):
    """What is auctioned."""

    id: UUID
    start: datetime
    end: datetime
    delivery_zone: str
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    initial_soc: float
    last_soc_target: float
    final_soc_tolerance: float
    daily_cycle_limit: float | None = None
    availability: ItemAvailability | None = None


class CurrentBid(Answered):
    id: UUID
    price: Decimal
    timestamp: datetime


class Cancelled(Answered):
    """`reason`: BY_OPERATOR or NOT_DELIVERABLE."""

    at: datetime
    reason: str


class Auction(Answered):
    """`status` is the caller's own: NOT_STARTED, RUNNING, PENDING, WON, LOST or NO_BIDS_SUBMITTED; to the operator it
    is the auction's: SCHEDULED, RUNNING, CLEARED or CANCELLED.

    What stands below `cancelled` is there for the operator alone.
    """

    id: UUID
    start: datetime
    end: datetime
    status: str
    item: AuctionItem
    current_bid: CurrentBid | None = None
    virtual_asset_id: UUID | None = None
    minimum_availability: float = 0.0
    cancelled: Cancelled | None = None
    state: str | None = None
    outcome: str | None = None
    winner_id: UUID | None = None
    price: Decimal | None = None
    cleared_at: datetime | None = None
    hurdle_price: Decimal | None = None
    backing: tuple[Backing, ...] = ()
    participants: tuple[UUID, ...] = ()
    has_bid: bool | None = None


class Bid(Answered):
    id: UUID
    auction_id: UUID
    price: Decimal
    timestamp: datetime
    sequence: int
    withdrawn: bool = False


class RankedBid(Answered):
    """`fate` says why it won or lost."""

    rank: int
    id: UUID
    organisation_id: UUID
    price: Decimal
    timestamp: datetime
    fate: str


class AuctionResults(Answered, Listed):
    listed_in: ClassVar = "bids"

    auction_id: UUID
    outcome: str
    cleared_at: datetime
    bids: tuple[RankedBid, ...]
    detail: str | None = None
    winning_bid_id: UUID | None = None
    winner_id: UUID | None = None
    virtual_asset_id: UUID | None = None
