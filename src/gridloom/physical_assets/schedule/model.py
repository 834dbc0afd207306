"""A schedule as it crosses the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from gridloom.physical_assets.model import MAX_POWER_KW
from gridloom.platform.http import Instant, RequestBody, ResponseBody

MAX_PERIODS = 110_000  # three years

SignedPowerKW = Annotated[float, Meta(ge=-MAX_POWER_KW, le=MAX_POWER_KW)]


class NewSchedulePoint(RequestBody):
    time: Instant
    power: SignedPowerKW


class NewPhysicalSchedule(RequestBody):
    """Exactly these periods are replaced, all of them or none."""

    schedule: Annotated[list[NewSchedulePoint], Meta(min_length=1, max_length=MAX_PERIODS)]


class PhysicalSchedulePoint(ResponseBody):
    time: datetime
    power: float


class Schedule(ResponseBody):
    """The scheduled periods of a window; a period without a point has no schedule."""

    physical_asset_id: UUID
    start: datetime
    end: datetime
    schedule: list[PhysicalSchedulePoint]
    units_power: str = "kW"
