"""Answers about auctions; EUR for the whole delivery window."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from gridloom_client.answers.answered import Answered


class AuctionItem(Answered):
    start: datetime
    end: datetime
    delivery_zone: str
    rated_charge_power: float
    rated_discharge_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    id: UUID | None = None
    daily_cycle_limit: float | None = None
    initial_soc: float | None = None
    last_soc_target: float | None = None
    final_soc_tolerance: float | None = None


class CurrentBid(Answered):
    id: UUID
    price: Decimal
    timestamp: datetime


class Auction(Answered):
    """`status` is the caller's own: NOT_STARTED, RUNNING, PENDING, WON, LOST or NO_BIDS_SUBMITTED."""

    id: UUID
    start: datetime
    end: datetime
    status: str
    item: AuctionItem
    current_bid: CurrentBid | None = None
    virtual_asset_id: UUID | None = None


class Bid(Answered):
    id: UUID
    price: Decimal
    timestamp: datetime
    auction_id: UUID | None = None
    sequence: int | None = None
