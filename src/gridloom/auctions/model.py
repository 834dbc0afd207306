"""An auction, its item and its bids."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from gridloom.kernel.window import Window


class AuctionStatus(StrEnum):
    """The status of an auction for one organisation."""

    NOT_STARTED = "NOT_STARTED"
    RUNNING = "RUNNING"
    PENDING = "PENDING"
    WON = "WON"
    LOST = "LOST"
    NO_BIDS_SUBMITTED = "NO_BIDS_SUBMITTED"


class AuctionState(StrEnum):
    """The decided state of an auction; whether it is open is a matter of the clock."""

    SCHEDULED = "SCHEDULED"
    CLEARED = "CLEARED"
    CANCELLED = "CANCELLED"


class OperatorStatus(StrEnum):
    """The status of an auction as the operator sees it: it runs from its start until it is cleared."""

    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    CLEARED = "CLEARED"
    CANCELLED = "CANCELLED"


class ClearingOutcome(StrEnum):
    """How clearing ended."""

    ALLOCATED = "ALLOCATED"
    NO_VALID_BID = "NO_VALID_BID"
    CAPACITY_GONE = "CAPACITY_GONE"


class CancelReason(StrEnum):
    """Why an auction was cancelled."""

    BY_OPERATOR = "BY_OPERATOR"
    NOT_DELIVERABLE = "NOT_DELIVERABLE"


class VisibleStatus(StrEnum):
    """The status that a caller sees: a participant its own status, the operator the auction's own state."""

    NOT_STARTED = "NOT_STARTED"
    RUNNING = "RUNNING"
    PENDING = "PENDING"
    WON = "WON"
    LOST = "LOST"
    NO_BIDS_SUBMITTED = "NO_BIDS_SUBMITTED"
    SCHEDULED = "SCHEDULED"
    CLEARED = "CLEARED"
    CANCELLED = "CANCELLED"


class BidFate(StrEnum):
    """The result of a bid, and why it lost."""

    WON = "WON"
    OUTBID = "OUTBID"
    TIED_BUT_LATER = "TIED_BUT_LATER"
    BELOW_HURDLE = "BELOW_HURDLE"
    SUPERSEDED = "SUPERSEDED"
    WITHDRAWN = "WITHDRAWN"
    CAPACITY_GONE = "CAPACITY_GONE"


@dataclass(frozen=True, slots=True)
class Item:
    """The virtual battery that is auctioned."""

    id: UUID
    delivery: Window
    delivery_zone: str
    rated_charge_power_kw: float
    rated_discharge_power_kw: float
    energy_capacity_kwh: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None
    initial_soc: float
    last_soc_target: float
    final_soc_tolerance: float
    annual_cycle_limit: float | None = None
    """That of the batteries behind it."""
    is_daily_cycle_limit_named: bool = True
    """By the operator; else it is that of the batteries behind it."""


@dataclass(frozen=True, slots=True)
class AuctionBid:
    id: UUID
    organisation_id: UUID
    position: int
    """Its position in the one order of all bids of the auction."""
    sequence: int
    """Its position among the organisation's own bids."""
    price_eur: Decimal
    placed_at: datetime
    is_withdrawn: bool


@dataclass(frozen=True, slots=True)
class ClearingResult:
    """How clearing ended: the winner, or why there is none."""

    outcome: ClearingOutcome
    detail: str | None
    winner: AuctionBid | None = None
    virtual_asset_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Cancellation:
    at: datetime
    reason: CancelReason


@dataclass(frozen=True, slots=True)
class Auction:
    id: UUID
    open: Window
    item: Item
    hurdle_price_eur: Decimal | None
    minimum_availability: float
    """The least mean share of the item that must be deliverable when the auction closes, 0 to 1."""
    state: AuctionState
    outcome: ClearingOutcome | None
    outcome_detail: str | None
    winning_bid_id: UUID | None
    winner_id: UUID | None
    winning_price_eur: Decimal | None
    virtual_asset_id: UUID | None
    cleared_at: datetime | None
    cancelled: Cancellation | None
    version: int
