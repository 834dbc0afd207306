"""Health as it crosses the wire."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from gridloom.edge import ResponseBody
from gridloom.physical_assets.conflicts import CapacityConflict


class HealthStatus(StrEnum):
    """DOWN: nothing can be exported or imported. UNKNOWN: no fresh telemetry. DEGRADED: less than rated, or
    promises that no longer fit."""

    OK = "OK"
    DEGRADED = "DEGRADED"
    DOWN = "DOWN"
    UNKNOWN = "UNKNOWN"


class CheckName(StrEnum):
    STATUS = "STATUS"
    AVAILABILITY = "AVAILABILITY"
    TELEMETRY = "TELEMETRY"
    PROMISES = "PROMISES"
    DISPATCH = "DISPATCH"


class HealthCheck(ResponseBody):
    name: CheckName
    status: HealthStatus
    detail: str


class AvailablePower(ResponseBody):
    """The power that is available at this instant, in kW."""

    charge: float
    discharge: float


class Health(ResponseBody):
    physical_asset_id: UUID
    status: HealthStatus
    checked_at: datetime
    last_telemetry_at: datetime | None
    state_of_charge: float | None
    available_power: AvailablePower
    active_unavailability_ids: list[UUID]
    checks: list[HealthCheck]
    conflicts: list[CapacityConflict]
