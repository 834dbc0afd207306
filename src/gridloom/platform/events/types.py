"""The kinds of events there are: one table from which the checks, OpenAPI and the docs page come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from gridloom.platform.http import ResponseBody


class AuctionOpened(ResponseBody):
    auction_id: UUID
    start: datetime
    end: datetime


class AuctionCleared(ResponseBody):
    auction_id: UUID
    status: Literal["WON", "LOST", "NO_BIDS_SUBMITTED"]
    virtual_asset_id: UUID | UnsetType = UNSET


class AuctionCancelled(ResponseBody):
    auction_id: UUID
    reason: Literal["BY_OPERATOR", "NOT_DELIVERABLE"]
    status: Literal["LOST", "NO_BIDS_SUBMITTED"]


class AuctionChanged(ResponseBody):
    auction_id: UUID
    start: datetime
    end: datetime
    author_id: UUID | UnsetType = UNSET


class BidPlaced(ResponseBody):
    auction_id: UUID
    bid_id: UUID
    price: float


class VirtualAssetAllocated(ResponseBody):
    virtual_asset_id: UUID
    auction_id: UUID | None


class AvailabilityChange(ResponseBody):
    """Periods that follow each other, and what the virtual asset has available in all of them."""

    start: datetime
    end: datetime
    available_charge_power: float
    available_discharge_power: float
    available_energy_capacity: float


class CutToExpect(ResponseBody):
    """A quarter-hour whose schedule will be cut when its gate closes, unless it is changed before."""

    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: Literal["STATE_OF_ENERGY_BOUNDARIES", "AVAILABILITY", "CYCLE_LIMIT"]


class VirtualAssetAvailabilityChanged(ResponseBody):
    virtual_asset_id: UUID
    start: datetime
    end: datetime
    periods: list[AvailabilityChange]
    expected_cuts: list[CutToExpect]


class ScheduleUpdated(ResponseBody):
    start: datetime
    end: datetime
    periods: int
    block_id: UUID | UnsetType = UNSET
    version: int | UnsetType = UNSET


class ScheduleAdjusted(ResponseBody):
    start: datetime
    end: datetime
    reason: Literal["STATE_OF_ENERGY_BOUNDARIES", "AVAILABILITY", "CYCLE_LIMIT"]


class UnavailabilityDescribed(ResponseBody):
    unavailability_id: UUID
    type: str
    start: datetime
    end: datetime
    author_id: UUID | UnsetType = UNSET


class PhysicalAssetParametersChanged(ResponseBody):
    version: int
    valid_from: datetime
    author_id: UUID


class PortfolioChanged(ResponseBody):
    portfolio_id: UUID
    author_id: UUID


class UnavailabilityCancelled(ResponseBody):
    unavailability_id: UUID


class AncillaryResult(ResponseBody):
    bid_id: UUID
    product: str
    delivery_day: date
    status: Literal["ACCEPTED", "REJECTED"]


class NotificationPublished(ResponseBody):
    notification_id: UUID
    version: int


class DataPointsUpdated(ResponseBody):
    start: datetime
    end: datetime


class ForecastPublished(ResponseBody):
    delivery_day: date
    series: str
    known_until: date


class FeedLate(ResponseBody):
    feed: str
    series: list[str]
    delivery_day: date
    late_since: datetime


class FeedDiffers(ResponseBody):
    feed: str
    other_feed: str
    series: str
    start: datetime
    periods: int
    difference: float


class FeedFailed(ResponseBody):
    feed: str
    series: list[str]
    fault: str


class StatementIssued(ResponseBody):
    statement_id: UUID
    number: str
    month: str
    total: float


class OrderDescribed(ResponseBody):
    order_id: UUID
    virtual_asset_id: UUID
    stage: str
    delivery_day: date


class OrderIncomplete(ResponseBody):
    """The part of an executed order that could not be carried out on its asset."""

    type: str
    title: str
    detail: str


class OrderExecuted(ResponseBody):
    order_id: UUID
    virtual_asset_id: UUID
    stage: str
    delivery_day: date
    status: Literal["EXECUTED", "PARTLY_EXECUTED"]
    applied: bool | UnsetType = UNSET
    problem: OrderIncomplete | UnsetType = UNSET


class DispatchUpdated(ResponseBody):
    start: datetime
    end: datetime
    version: int


class DispatchDeviation(ResponseBody):
    start: datetime
    end: datetime
    asked: float
    delivered: float


class DispatchNotFollowed(ResponseBody):
    version: int
    time: datetime
    at: datetime
    reason: str | UnsetType = UNSET


class DispatchAcknowledged(DispatchNotFollowed, kw_only=True):
    status: Literal["RECEIVED", "APPLIED", "REJECTED"]


class ReserveShortfall(ResponseBody):
    market: str
    start: datetime
    end: datetime
    power: float


class RunFailed(ResponseBody):
    delivery_zone: str
    failed_at: datetime
    reason: str


class APIKeyExpiring(ResponseBody):
    api_key_id: UUID
    name: str
    username: str
    expires_at: datetime


MemberRole: TypeAlias = Literal["ADMIN", "TRADER", "ENGINEER", "VIEWER"]
AuthorKind: TypeAlias = Literal["USER", "API_KEY", "IDENTITY_PROVIDER", "COMMAND"]


class MemberInvited(ResponseBody):
    invitation_id: UUID
    email: str
    role: MemberRole
    author_name: str
    author_kind: AuthorKind
    author_id: UUID | None


class MemberRoleChanged(ResponseBody):
    user_id: UUID
    username: str
    previous_role: MemberRole
    role: MemberRole
    author_name: str
    author_kind: AuthorKind
    author_id: UUID | None


class MemberRemoved(ResponseBody):
    user_id: UUID
    username: str
    role: MemberRole
    author_name: str
    author_kind: AuthorKind
    author_id: UUID | None


class QuotaNear(ResponseBody):
    share: Literal["stored-telemetry"]
    used: int
    limit: int


class WebhookDisabledData(ResponseBody):
    webhook_id: UUID
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class EventType:
    """`operator_reads`: the platform's operators read it for every organisation (what happens to virtual assets they
    read in any case)."""

    name: str
    data: type[ResponseBody]
    description: str
    operator_reads: bool = False

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(field.encode_name for field in msgspec.structs.fields(self.data))

    @property
    def required_fields(self) -> frozenset[str]:
        return frozenset(field.encode_name for field in msgspec.structs.fields(self.data) if field.required)


_TYPES = (
    EventType(
        "auction.opened",
        AuctionOpened,
        "An auction to which the organisation is invited takes bids from now on.",
        operator_reads=True,
    ),
    EventType(
        "auction.cleared",
        AuctionCleared,
        "A closed auction has its result; each participant learns its own outcome and no other.",
        operator_reads=True,
    ),
    EventType(
        "auction.changed",
        AuctionChanged,
        "An auction that has not opened was changed. The organisation that changed it also learns the author.",
    ),
    EventType(
        "auction.cancelled",
        AuctionCancelled,
        "An auction was cancelled, by the operator or because too little of its item is deliverable; nothing is paid.",
        operator_reads=True,
    ),
    EventType(
        "bid.placed",
        BidPlaced,
        "The organisation's own bid in an auction was accepted. No other organisation is notified, nor an operator.",
    ),
    EventType(
        "virtual-asset.allocated",
        VirtualAssetAllocated,
        "The organisation was given a virtual asset, by an auction or directly.",
    ),
    EventType(
        "virtual-asset.availability-changed",
        VirtualAssetAvailabilityChanged,
        "The batteries behind a virtual asset lost capacity or got it back: what is available now, and cuts to expect.",
    ),
    EventType("schedule.updated", ScheduleUpdated, "Periods of an asset's schedule were replaced."),
    EventType(
        "schedule.adjusted",
        ScheduleAdjusted,
        "A schedule no longer fitted what is available, and was cut at gate closure.",
    ),
    EventType(
        "unavailability.created", UnavailabilityDescribed, "Part of a physical asset was announced as unavailable."
    ),
    EventType(
        "unavailability.changed", UnavailabilityDescribed, "An unavailability was moved, resized or described anew."
    ),
    EventType("unavailability.cancelled", UnavailabilityCancelled, "An unavailability was cancelled."),
    EventType(
        "physical-asset.parameters-changed",
        PhysicalAssetParametersChanged,
        "A version of a physical asset's parameters was added.",
    ),
    EventType("portfolio.changed", PortfolioChanged, "A portfolio was renamed or refilled."),
    EventType("ancillary.result", AncillaryResult, "A bid for an ancillary product has its result."),
    EventType(
        "exchange-notification.published",
        NotificationPublished,
        "An urgent market message, or a revision of one, was published for a physical asset.",
    ),
    EventType(
        "data-points.updated",
        DataPointsUpdated,
        "Figures of reports have changed: settlements were recorded or corrected.",
    ),
    EventType(
        "forecast.published",
        ForecastPublished,
        "The forecast of the next day's prices was published, an hour before the day-ahead auction closes.",
    ),
    EventType(
        "feed.late",
        FeedLate,
        "Published data of a day is not there when it should be; the next source is asked. Emitted once until it is.",
    ),
    EventType(
        "feed.differs",
        FeedDiffers,
        "Two sources say different values for the same series: from when on, how often, and by how much at most.",
    ),
    EventType(
        "feed.failed",
        FeedFailed,
        "A source does not answer again and again, or answers what cannot be right. Emitted once until it is well.",
    ),
    EventType(
        "statement.issued",
        StatementIssued,
        "The organisation's statement of a month was issued; it never changes.",
    ),
    EventType(
        "order.placed",
        OrderDescribed,
        "An order at a stage of a delivery day was placed. No operator is notified.",
    ),
    EventType(
        "order.executed",
        OrderExecuted,
        "An order was executed: its trades are booked, its reserves carved out but for what `problem` names.",
        operator_reads=True,
    ),
    EventType(
        "order.not-executed",
        OrderDescribed,
        "An order was not executed: its surplus or its capacity price was not met.",
        operator_reads=True,
    ),
    EventType(
        "order.overdue",
        OrderDescribed,
        "An order has no result, and the delivery of what it trades begins. A result is still taken.",
        operator_reads=True,
    ),
    EventType("order.cancelled", OrderDescribed, "An order was cancelled or replaced.", operator_reads=True),
    EventType(
        "dispatch.updated",
        DispatchUpdated,
        "The dispatch of a battery has changed, for the virtual assets that it backs or for its owner's schedule.",
    ),
    EventType(
        "dispatch.acknowledged",
        DispatchAcknowledged,
        "The site of a battery has received, applied or rejected the dispatch of a quarter-hour.",
    ),
    EventType(
        "dispatch.not-followed",
        DispatchNotFollowed,
        "The site of a battery reports that the battery does not follow its dispatch.",
    ),
    EventType(
        "dispatch.deviation",
        DispatchDeviation,
        "A battery has deviated from its dispatch in two consecutive quarter-hours.",
    ),
    EventType(
        "delivery.reserve-shortfall",
        ReserveShortfall,
        "The part of the FCR or aFRR of a virtual asset that no battery of its zone holds has changed.",
        operator_reads=True,
    ),
    EventType(
        "delivery.run-failed",
        RunFailed,
        "A run of a delivery zone failed. The plan before it stays in force; emitted once until a run succeeds.",
        operator_reads=True,
    ),
    EventType(
        "api-key.expiring",
        APIKeyExpiring,
        "An API key of a member ends within two weeks. Emitted once for each key.",
    ),
    EventType("member.invited", MemberInvited, "A person was invited to the organisation, or invited anew."),
    EventType("member.role-changed", MemberRoleChanged, "A member of the organisation was given another role."),
    EventType("member.removed", MemberRemoved, "A member of the organisation was removed."),
    EventType(
        "quota.near",
        QuotaNear,
        "The batteries of the organisation have stored 80 % of the telemetry that they may.",
    ),
    EventType(
        "webhook.disabled",
        WebhookDisabledData,
        "A webhook could not be delivered for three days and gets no more calls until it is enabled again.",
        operator_reads=True,
    ),
)

EVENT_TYPES: Mapping[str, EventType] = MappingProxyType({kind.name: kind for kind in _TYPES})
OPERATOR_TYPES: tuple[str, ...] = tuple(kind.name for kind in _TYPES if kind.operator_reads)
EVENT_FIELDS = {kind.name: (kind.required_fields, kind.fields) for kind in _TYPES}
"""The fields that the data of each type needs, and all that it may have."""
