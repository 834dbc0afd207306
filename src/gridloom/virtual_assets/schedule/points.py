"""The points of a request's body, checked against the periods that they may name."""

from __future__ import annotations

import asyncio

import numpy as np

from gridloom.kernel.market_time import period_number
from gridloom.market_calendar import utc_day_of
from gridloom.virtual_assets.blocks.wire import NewSchedule
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.rules import SchedulePoints, read_few_points, read_points

_LONG_BODY_POINTS = 2000
_FEW_POINTS = 8


def touched_days(body: NewSchedule, asset: VirtualAsset) -> list[int]:
    """The days of UTC within the asset's life that the points of a body may touch, in order; of a long body all."""
    if len(body.schedule) > _LONG_BODY_POINTS:
        return list(asset.days)
    if len(body.schedule) == 1:
        day = utc_day_of(period_number(body.schedule[0].time))
        return [day] if day in asset.days else []
    days = {utc_day_of(period_number(point.time)) for point in body.schedule}
    return sorted(day for day in days if day in asset.days)


async def points_of(body: NewSchedule, span: tuple[int, int], whose: str = "block") -> SchedulePoints:
    """In a thread where there are many, so that the event loop stays free."""
    if len(body.schedule) > _LONG_BODY_POINTS:
        return await asyncio.to_thread(_read_body, body, span, whose)
    return _read_body(body, span, whose)


def _read_body(body: NewSchedule, span: tuple[int, int], whose: str) -> SchedulePoints:
    times, powers_kw = [point.time for point in body.schedule], [point.power for point in body.schedule]
    if len(times) <= _FEW_POINTS:
        few = read_few_points(times, powers_kw, span)
        if few is not None:
            return few
    return read_points(times, np.array(powers_kw, dtype=np.float64), span, whose)
