"""Unavailabilities as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType, field

from gridloom.physical_assets.conflicts import CapacityConflict
from gridloom.platform.http import Instant, PagedWindow, RequestBody, ResponseBody, Text

# No upper bound here: more than is rated is well-formed and breaks a rule.
MissingEnergyKWh = Annotated[float, Meta(ge=0)]
MissingPowerKW = Annotated[float, Meta(ge=0)]
NotificationIDs = Annotated[list[UUID], Meta(max_length=100)]


class UnavailabilityKind(StrEnum):
    MAINTENANCE = "MAINTENANCE"
    OUTAGE = "OUTAGE"
    REDISPATCH = "REDISPATCH"
    GRID_CONSTRAINT = "GRID_CONSTRAINT"
    CURTAILMENT = "CURTAILMENT"
    TESTING = "TESTING"
    COMMISSIONING = "COMMISSIONING"
    OTHER = "OTHER"


class NewPowerCapacity(RequestBody):
    """kW that are missing in each direction."""

    charge: MissingPowerKW
    discharge: MissingPowerKW


class NewVolume(RequestBody):
    """The missing capacity, each at most the rating."""

    energy_capacity: MissingEnergyKWh
    power_capacity: NewPowerCapacity


class NewUnavailability(RequestBody):
    description: Text
    type: UnavailabilityKind
    start: Instant
    end: Instant
    volume: NewVolume
    # The specification writes this list's name with a small s.
    exchange_notification_ids: NotificationIDs = field(name="exchangeNotificationIds", default_factory=list)


class UnavailabilityChange(RequestBody):
    """An omitted field stays."""

    description: Text | UnsetType = UNSET
    type: UnavailabilityKind | UnsetType = UNSET
    start: Instant | UnsetType = UNSET
    end: Instant | UnsetType = UNSET
    volume: NewVolume | UnsetType = UNSET
    exchange_notification_ids: NotificationIDs | UnsetType = field(name="exchangeNotificationIds", default=UNSET)


class MissingPower(ResponseBody):
    charge: float
    discharge: float


class Volume(ResponseBody):
    """The missing capacity: energy in kWh, power in kW."""

    energy_capacity: float
    power_capacity: MissingPower


class Unavailability(ResponseBody):
    id: UUID
    physical_asset_id: UUID
    description: str
    type: UnavailabilityKind
    start: datetime
    end: datetime
    volume: Volume
    exchange_notification_ids: list[UUID] = field(name="exchangeNotificationIds")


class ChangedUnavailability(Unavailability):
    """With what was offered or scheduled in its window and no longer fits."""

    conflicts: list[CapacityConflict]


class UnavailabilitiesQuery(PagedWindow):
    """By start, the latest first. `start` and `end` ask for those that overlap that window."""

    type: UnavailabilityKind | None = None


class UnavailabilityCursor(Struct, array_like=True):
    """Where a page of unavailabilities ends."""

    start: Instant
    id: UUID
