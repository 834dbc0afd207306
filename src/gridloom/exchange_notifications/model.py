"""Exchange notifications as they cross the wire: capacities in kW, instants in whole minutes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gridloom.exchange_notifications.message import EventStatus, ReasonCode, UmmEventType, UnavailabilityType, UnitType
from gridloom.physical_assets.model import EicCode, PowerKW
from gridloom.platform.http import Instant, PagedWindow, QueryParameters, RequestBody, ResponseBody, pattern_meta

MessageID = Annotated[
    str,
    pattern_meta(
        r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,34}(?!\n)$",
        "up to 35 letters, digits, dots, hyphens and underscores, such as HUERTH-2026-0001",
    ),
]
# ENTSO-E's Reason takes 512 characters.
Cause = Annotated[str, Meta(min_length=1, max_length=500)]
Remarks = Annotated[str, Meta(min_length=1, max_length=500)]
Uncertainty = Annotated[str, Meta(min_length=1, max_length=500)]
UnavailabilityIDs = Annotated[list[UUID], Meta(max_length=100)]


class NewCapacityInterval(RequestBody):
    start: Instant
    end: Instant
    unavailable_capacity: PowerKW
    available_capacity: PowerKW | UnsetType = UNSET


class NewNotification(RequestBody):
    """Omitted fields come from the asset: its EIC, the DE-LU bidding zone, its rated discharge power."""

    unavailability_type: UnavailabilityType
    event_start: Instant
    event_end: Instant
    unavailable_capacity: PowerKW
    cause: Cause
    event_status: Literal["ACTIVE"] = "ACTIVE"
    message_id: MessageID | UnsetType = UNSET
    event_type: UmmEventType = UmmEventType.OTHER_UNAVAILABILITY
    reason_code: ReasonCode | UnsetType = UNSET
    unit_type: UnitType = UnitType.GENERATION_UNIT
    asset_eic: EicCode | UnsetType = UNSET
    bidding_zone: EicCode | UnsetType = UNSET
    installed_capacity: PowerKW | UnsetType = UNSET
    available_capacity: PowerKW | UnsetType = UNSET
    capacity_intervals: Annotated[list[NewCapacityInterval], Meta(max_length=1000)] = []
    duration_uncertainty: Uncertainty | None = None
    remarks: Remarks | None = None
    unavailability_ids: UnavailabilityIDs = []


class Revision(RequestBody):
    """An omitted field is as in the version before; `eventStatus` DISMISSED withdraws the message, INACTIVE ends it."""

    event_status: EventStatus = EventStatus.ACTIVE
    unavailability_type: UnavailabilityType | UnsetType = UNSET
    event_start: Instant | UnsetType = UNSET
    event_end: Instant | UnsetType = UNSET
    unavailable_capacity: PowerKW | UnsetType = UNSET
    cause: Cause | UnsetType = UNSET
    event_type: UmmEventType | UnsetType = UNSET
    reason_code: ReasonCode | UnsetType = UNSET
    unit_type: UnitType | UnsetType = UNSET
    asset_eic: EicCode | UnsetType = UNSET
    bidding_zone: EicCode | UnsetType = UNSET
    installed_capacity: PowerKW | UnsetType = UNSET
    available_capacity: PowerKW | UnsetType = UNSET
    capacity_intervals: Annotated[list[NewCapacityInterval], Meta(max_length=1000)] | UnsetType = UNSET
    duration_uncertainty: Uncertainty | UnsetType | None = UNSET
    remarks: Remarks | UnsetType | None = UNSET
    unavailability_ids: UnavailabilityIDs | UnsetType = UNSET


class IntervalView(ResponseBody):
    """An interval over which the same capacity is available."""

    start: datetime
    end: datetime
    available_capacity: float
    unavailable_capacity: float


class ExchangeNotification(ResponseBody):
    """One version of a REMIT urgent market message."""

    id: UUID
    physical_asset_id: UUID
    message_id: str
    version: int
    event_status: EventStatus
    unavailability_type: UnavailabilityType
    event_type: UmmEventType
    reason_code: ReasonCode
    unit_type: UnitType
    asset_eic: str
    bidding_zone: str
    installed_capacity: float
    available_capacity: float
    unavailable_capacity: float
    capacity_intervals: list[IntervalView]
    event_start: datetime
    event_end: datetime
    duration_uncertainty: str | None
    cause: str
    remarks: str | None
    published_at: datetime
    unavailability_ids: list[UUID]
    units_power: str = "kW"


class NotificationsQuery(PagedWindow):
    """The newest first, each in its latest version. `start` and `end` ask for events that overlap that window."""

    event_status: EventStatus | None = None


class VersionQuery(QueryParameters):
    """Left out, the latest version."""

    version: Annotated[int, Meta(ge=1, le=999)] | None = None


class DocumentFormat(StrEnum):
    ACER_UMM = "acer-umm"
    ENTSOE = "entsoe"


class DocumentQuery(VersionQuery):
    """Which document of which version."""

    format: DocumentFormat = DocumentFormat.ACER_UMM
