"""The kinds of events there are: one table from which the checks, OpenAPI and the docs page come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import ResponseBody

From = Annotated[datetime, Meta(description="The start of the first period that changed")]
Until = Annotated[datetime, Meta(description="The end of the last one")]


class AuctionOpened(ResponseBody):
    auction_id: UUID
    start: Annotated[datetime, Meta(description="When it opened")]
    end: Annotated[datetime, Meta(description="When it closes")]


class AuctionCleared(ResponseBody):
    auction_id: UUID
    status: Annotated[Literal["WON", "LOST", "NO_BIDS_SUBMITTED"], Meta(description="For this organisation")]
    virtual_asset_id: Annotated[UUID, Meta(description="What was allocated to it, if it won")] | UnsetType = UNSET


class AuctionCancelled(ResponseBody):
    auction_id: UUID
    reason: Annotated[Literal["BY_OPERATOR", "NOT_DELIVERABLE"], Meta(description="Why")]
    status: Annotated[Literal["LOST", "NO_BIDS_SUBMITTED"], Meta(description="For this organisation")]


class BidPlaced(ResponseBody):
    auction_id: UUID
    bid_id: UUID
    price: Annotated[float, Meta(description="EUR")]


class VirtualAssetAllocated(ResponseBody):
    virtual_asset_id: UUID
    auction_id: Annotated[UUID | None, Meta(description="The auction it was won in; null for a direct allocation")]


class AvailabilityChange(ResponseBody):
    """Periods that follow each other, and what the virtual asset has available in all of them."""

    start: datetime
    end: datetime
    available_charge_power: Annotated[float, Meta(description="kW")]
    available_discharge_power: Annotated[float, Meta(description="kW")]
    available_energy_capacity: Annotated[float, Meta(description="kWh")]


class CutToExpect(ResponseBody):
    """A quarter-hour whose schedule will be cut when its gate closes, unless it is changed before."""

    timestamp: datetime
    accepted_schedule: Annotated[float, Meta(description="kW, as it was accepted")]
    adjusted_schedule: Annotated[float, Meta(description="kW, what will be left of it")]
    reason: Literal["STATE_OF_ENERGY_BOUNDARIES", "AVAILABILITY", "CYCLE_LIMIT"]


class VirtualAssetAvailabilityChanged(ResponseBody):
    virtual_asset_id: UUID
    start: From
    end: Until
    periods: Annotated[list[AvailabilityChange], Meta(description="At most 100 runs of periods")]
    expected_cuts: Annotated[list[CutToExpect], Meta(description="At most 100, the earliest first")]


class ScheduleUpdated(ResponseBody):
    start: From
    end: Until
    periods: Annotated[int, Meta(description="How many were replaced")]
    block_id: Annotated[UUID, Meta(description="The block, for a virtual asset")] | UnsetType = UNSET
    version: Annotated[int, Meta(description="The version of a virtual asset's schedule")] | UnsetType = UNSET


class ScheduleAdjusted(ResponseBody):
    start: From
    end: Until
    reason: Literal["STATE_OF_ENERGY_BOUNDARIES", "AVAILABILITY", "CYCLE_LIMIT"]


class UnavailabilityDescribed(ResponseBody):
    unavailability_id: UUID
    type: Annotated[str, Meta(description="Such as MAINTENANCE")]
    start: datetime
    end: datetime


class UnavailabilityCancelled(ResponseBody):
    unavailability_id: UUID


class AncillaryResult(ResponseBody):
    bid_id: UUID
    product: Annotated[str, Meta(examples=["NEGPOS_00_04"])]
    delivery_day: date
    status: Literal["ACCEPTED", "REJECTED"]


class NotificationPublished(ResponseBody):
    notification_id: UUID
    version: int


class DataPointsUpdated(ResponseBody):
    start: From
    end: Until


class ForecastPublished(ResponseBody):
    delivery_day: date
    series: Annotated[str, Meta(examples=["DAY_AHEAD_DE_LU"])]
    known_until: Annotated[date, Meta(description="The first day whose prices it does not know")]


class StatementIssued(ResponseBody):
    statement_id: Annotated[UUID, Meta(description="The statement")]
    number: Annotated[str, Meta(examples=["2026-0009"])]
    month: Annotated[str, Meta(description="The month of market days", examples=["2026-09"])]
    total: Annotated[float, Meta(description="EUR; positive is paid to the organisation")]


class DispatchUpdated(ResponseBody):
    start: From
    end: Until
    version: Annotated[int, Meta(description="The version of the battery's dispatch")]


class DispatchDeviation(ResponseBody):
    start: Annotated[datetime, Meta(description="The start of the first quarter-hour")]
    end: Annotated[datetime, Meta(description="The end of the last one")]
    asked: Annotated[float, Meta(description="kWh that the dispatch asked for; positive is export")]
    delivered: Annotated[float, Meta(description="kWh that were measured")]


class ReserveShortfall(ResponseBody):
    market: Annotated[str, Meta(description="FCR, AFRR_POS or AFRR_NEG")]
    start: From
    end: Until
    power: Annotated[float, Meta(description="kW that no battery holds, the most of any quarter-hour; 0: all is held")]


class RunFailed(ResponseBody):
    delivery_zone: str
    failed_at: datetime
    reason: Annotated[str, Meta(description="The kind of the failure; the log has the rest")]


class APIKeyExpiring(ResponseBody):
    api_key_id: UUID
    name: str
    username: Annotated[str, Meta(description="The member who made it")]
    expires_at: datetime


class QuotaNear(ResponseBody):
    share: Annotated[Literal["stored-telemetry"], Meta(description="The share that is nearly used up")]
    used: Annotated[int, Meta(description="Bytes")]
    limit: Annotated[int, Meta(description="Bytes")]


class WebhookDisabledData(ResponseBody):
    webhook_id: UUID
    url: str
    reason: Annotated[str, Meta(description="The last failure")]


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
        "auction.cancelled",
        AuctionCancelled,
        "An auction was cancelled, by the operator or because too little of its item is there at the end; nobody pays.",
        operator_reads=True,
    ),
    EventType(
        "bid.placed",
        BidPlaced,
        "The organisation's own bid in an auction was accepted. Nobody else is told, not even an operator.",
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
    EventType("schedule.updated", ScheduleUpdated, "Somebody replaced periods of an asset's schedule."),
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
    EventType(
        "unavailability.cancelled", UnavailabilityCancelled, "An unavailability will not happen, or not any more."
    ),
    EventType("ancillary.result", AncillaryResult, "A bid for an ancillary product has its result."),
    EventType(
        "exchange-notification.published",
        NotificationPublished,
        "An urgent market message, or a revision of one, was published for a physical asset.",
    ),
    EventType(
        "data-points.updated",
        DataPointsUpdated,
        "Figures changed that reports are made of: settlements came in or were corrected.",
    ),
    EventType(
        "forecast.published",
        ForecastPublished,
        "The forecast of the next day's prices is there, an hour before the day-ahead auction closes.",
    ),
    EventType(
        "statement.issued",
        StatementIssued,
        "The organisation's statement of a month was issued; it never changes.",
    ),
    EventType(
        "dispatch.updated",
        DispatchUpdated,
        "A battery must do something else than before for the virtual assets it backs, or for its owner.",
    ),
    EventType(
        "dispatch.deviation",
        DispatchDeviation,
        "A battery has not done what it must for two quarter-hours running.",
    ),
    EventType(
        "delivery.reserve-shortfall",
        ReserveShortfall,
        "FCR or aFRR of a virtual asset is held by no battery of its zone, or by more or less of them than before.",
        operator_reads=True,
    ),
    EventType(
        "delivery.run-failed",
        RunFailed,
        "A run of a delivery zone failed. The plan before it stays in force; it is told once until a run succeeds.",
        operator_reads=True,
    ),
    EventType(
        "api-key.expiring",
        APIKeyExpiring,
        "An API key of a member ends within two weeks. It is told once for each key.",
    ),
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
_FIELDS = {kind.name: (kind.required_fields, kind.fields) for kind in _TYPES}


def is_as_declared(type: str, data: Mapping[str, object]) -> bool:
    """Whether the data has the fields that its type declares: all that are needed, none that is unknown."""
    needed, known = _FIELDS[type]
    return needed <= data.keys() <= known
