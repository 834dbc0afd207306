"""The results of an asset's checks, and the health that they make together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from gridloom.capacity.availability import CHARGE, DISCHARGE, AvailabilitySeries
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import format_instant
from gridloom.physical_assets.conflicts import CapacityConflict
from gridloom.physical_assets.model import AssetStatus
from gridloom.physical_assets.telemetry import LatestTelemetry
from gridloom.platform.http import FigureView, ResponseBody, figures_in


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
    figures: list[FigureView] = []


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


STALE_AFTER = timedelta(minutes=15)

# What weighs more decides; a declared outage is known even where nothing is measured.
_WEIGHT = (HealthStatus.OK, HealthStatus.DEGRADED, HealthStatus.UNKNOWN, HealthStatus.DOWN)


def overall(checks: Sequence[HealthCheck]) -> HealthStatus:
    return max((check.status for check in checks), key=_WEIGHT.index)


def check_status(status: AssetStatus) -> HealthCheck:
    verdict = HealthStatus.OK if status is AssetStatus.ACTIVE else HealthStatus.DOWN
    return HealthCheck(name=CheckName.STATUS, status=verdict, detail=f"The asset is {status}.")


def check_availability(now: AvailabilitySeries) -> HealthCheck:
    """now: the one current row."""
    rated, available = now.rated[0], now.available[0]
    detail = say(
        "{} of {} can be imported, {} of {} exported.",
        kw(available[CHARGE]),
        kw(rated[CHARGE]),
        kw(available[DISCHARGE]),
        kw(rated[DISCHARGE]),
    )
    if not available[CHARGE] and not available[DISCHARGE]:
        return HealthCheck(
            name=CheckName.AVAILABILITY, status=HealthStatus.DOWN, detail=str(detail), figures=figures_in(detail)
        )
    full = (available == rated[: len(available)]).all()
    verdict = HealthStatus.OK if full else HealthStatus.DEGRADED
    return HealthCheck(name=CheckName.AVAILABILITY, status=verdict, detail=str(detail), figures=figures_in(detail))


def check_telemetry(latest: LatestTelemetry | None, now: datetime) -> HealthCheck:
    if latest is None:
        return HealthCheck(
            name=CheckName.TELEMETRY, status=HealthStatus.UNKNOWN, detail="Nothing has ever been measured."
        )
    if now - latest.time > STALE_AFTER:
        detail = f"The last measurement is from {format_instant(latest.time)}, more than 15 minutes ago."
        return HealthCheck(name=CheckName.TELEMETRY, status=HealthStatus.UNKNOWN, detail=detail)
    return HealthCheck(name=CheckName.TELEMETRY, status=HealthStatus.OK, detail="Measurements are fresh.")


def check_promises(conflicts: Sequence[CapacityConflict]) -> HealthCheck:
    if not conflicts:
        return HealthCheck(
            name=CheckName.PROMISES, status=HealthStatus.OK, detail="All that is offered and scheduled fits."
        )
    detail = f"{len(conflicts)} of the offers and schedules ahead ask for more than will be available."
    return HealthCheck(name=CheckName.PROMISES, status=HealthStatus.DEGRADED, detail=detail)


def check_dispatch(failed_at: datetime | None) -> HealthCheck:
    if failed_at is None:
        return HealthCheck(name=CheckName.DISPATCH, status=HealthStatus.OK, detail="The zone's dispatch is up to date.")
    detail = f"The zone's runs fail since {format_instant(failed_at)}; the plan before that is in force."
    return HealthCheck(name=CheckName.DISPATCH, status=HealthStatus.DEGRADED, detail=detail)
