"""The results of an asset's checks, and the health that they make together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from gridloom.capacity.availability import CHARGE, DISCHARGE, AvailabilitySeries
from gridloom.kernel.instant import format_instant
from gridloom.physical_assets.conflicts import CapacityConflict
from gridloom.physical_assets.health.model import CheckName, HealthCheck, HealthStatus
from gridloom.physical_assets.model import AssetStatus
from gridloom.physical_assets.telemetry import LatestTelemetry

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
    detail = (
        f"{available[CHARGE]:g} of {rated[CHARGE]:g} kW can be imported, "
        f"{available[DISCHARGE]:g} of {rated[DISCHARGE]:g} kW exported."
    )
    if not available[CHARGE] and not available[DISCHARGE]:
        return HealthCheck(name=CheckName.AVAILABILITY, status=HealthStatus.DOWN, detail=detail)
    full = (available == rated[: len(available)]).all()
    verdict = HealthStatus.OK if full else HealthStatus.DEGRADED
    return HealthCheck(name=CheckName.AVAILABILITY, status=verdict, detail=detail)


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
