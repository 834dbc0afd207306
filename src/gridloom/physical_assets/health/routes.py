"""The health of an asset over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID

from gridloom.capacity.availability import CHARGE, DISCHARGE, availability_at
from gridloom.capacity.store import load_ratings_and_outages
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.permission import Permission
from gridloom.kernel.window import Window
from gridloom.physical_assets.conflicts import find_conflicts
from gridloom.physical_assets.health import rules
from gridloom.physical_assets.health.rules import AvailablePower, Health
from gridloom.physical_assets.health.store import read_health_input
from gridloom.physical_assets.telemetry import LATEST_TELEMETRY
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request, operation
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset

TAG = "Physical assets"

READ = Permission.READ_PHYSICAL_ASSETS
DISPATCH_FAILED_AT: Dependency[Callable[[Database, int], Awaitable[datetime | None]]] = Dependency(
    "failed runs of delivery"
)
"""From a battery's key: since when runs of its zone fail, None where the last has succeeded."""
_MILLISECOND = timedelta(milliseconds=1)


@operation("GET", PHYSICAL_ASSET + "/health", summary="Read how an asset is doing", access=READ)
async def read_health(request: Request, physical_asset_id: UUID) -> Health:
    """From its status, what is unavailable now, how fresh its telemetry is, and whether what was offered and
    scheduled still fits what will be available. The worst of the checks decides."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    situation = await read_health_input(request.db, authorized.key)
    now = situation.now
    ratings_and_outages = (
        await load_ratings_and_outages(request.db, [authorized.key], Window(now, now + _MILLISECOND))
    )[authorized.key]
    present = availability_at(ratings_and_outages.ratings, ratings_and_outages.outages, now)
    telemetry = await LATEST_TELEMETRY.get()(request.db, authorized.key)
    conflicts = await find_conflicts(request.db, authorized.key, Window(now, situation.horizon), now)
    checks = [
        rules.check_status(situation.status),
        rules.check_availability(present),
        rules.check_telemetry(telemetry, now),
        rules.check_promises(conflicts),
        rules.check_dispatch(await DISPATCH_FAILED_AT.get()(request.db, authorized.key)),
    ]
    percentage = telemetry.state_of_charge_percentage if telemetry is not None else None
    return Health(
        physical_asset_id=physical_asset_id,
        status=rules.overall(checks),
        checked_at=now,
        last_telemetry_at=telemetry.time if telemetry is not None else None,
        state_of_charge=None if percentage is None else percentage / 100,
        available_power=AvailablePower(
            charge=float(present.available[0, CHARGE]), discharge=float(present.available[0, DISCHARGE])
        ),
        active_unavailability_ids=situation.active_unavailability_ids,
        checks=checks,
        conflicts=conflicts,
    )
