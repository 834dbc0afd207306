"""Rules of a physical asset's schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from gridloom.capacity.availability import CHARGE, DISCHARGE, AvailabilitySeries, milliseconds_of
from gridloom.capacity.rules import OwnChange
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import PERIOD, floor_to_period, format_instant, is_period_start, period_number
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.kernel.window import Window
from gridloom.physical_assets.conflicts import MAX_WINDOW
from gridloom.physical_assets.schedule.model import NewSchedulePoint

# Below what any meter resolves; sums of volumes may differ by so much.


class PowerNotAvailable(Problem, status=422, title="The power is not available"):
    """A scheduled power is more than the asset can do in that period: its rating then, less everything unavailable.

    The detail names the first such period and what is available in it. Nothing of the request was applied.
    """


class PeriodStarted(Problem, status=409, title="The period has started"):
    """A period of a physical asset's schedule can be changed until it starts, by the platform's clock.

    Nothing of the request was applied; `firstOpenPeriod` is the earliest period that can still be changed.
    """


def scheduled_window(points: Sequence[NewSchedulePoint], asked: Window | None) -> Window:
    """From the first period to the end of the last, once every time is a period's start and given once."""
    seen = set()
    for position, point in enumerate(points):
        pointer = f"/schedule/{position}/time"
        if not is_period_start(point.time):
            _reject_points(pointer, f"{format_instant(point.time)} is not the start of a 15-minute period.")
        if point.time in seen:
            _reject_points(pointer, f"{format_instant(point.time)} is given twice.")
        if asked is not None and point.time not in asked:
            _reject_points(pointer, f"{format_instant(point.time)} is outside the window of the query.")
        seen.add(point.time)
    first, last = min(seen), max(seen)
    if last - first > MAX_WINDOW:
        _reject_points("/schedule", f"The periods are more than {MAX_WINDOW.days} days apart.")
    return Window(first, last + PERIOD)


def _reject_points(pointer: str, detail: str) -> None:
    raise BadRequest.at(pointer, detail)


def check_not_started(points: Sequence[NewSchedulePoint], now: datetime) -> None:
    first_open = floor_to_period(now) + PERIOD
    started = [position for position, point in enumerate(points) if point.time < first_open]
    if not started:
        return
    position = min(started, key=lambda position: points[position].time)
    detail = (
        f"The period from {format_instant(points[position].time)} has started; "
        f"{format_instant(first_open)} is the first that can be changed."
    )
    raise PeriodStarted(
        detail,
        errors=[
            FieldError(f"/schedule/{index}/time", "Expected a period that has not started.") for index in started[:50]
        ],
        firstOpenPeriod=format_instant(first_open),
    )


def own_change(points: Sequence[NewSchedulePoint], now: datetime) -> OwnChange:
    """The points as the battery's book takes them."""
    ordered = sorted(points, key=lambda point: point.time)
    return OwnChange(
        np.array([period_number(point.time) for point in ordered], dtype=np.int64),
        np.array([point.power for point in ordered]),
        period_number(now),
    )


def check_available(points: Sequence[NewSchedulePoint], series: AvailabilitySeries) -> None:
    """Every point within what is available in its period; the earliest that is not is named."""
    times = np.array([milliseconds_of(point.time) for point in points], dtype=np.int64)
    powers = np.array([point.power for point in points])
    rows = series.available[np.searchsorted(series.periods_ms, times)]
    excess = np.maximum(powers - rows[:, DISCHARGE], -powers - rows[:, CHARGE])
    beyond = np.flatnonzero(excess > POWER_TOLERANCE_KW)
    if not len(beyond):
        return
    position = int(beyond[np.argmin(times[beyond])])
    point, row = points[position], rows[position]
    able = row[DISCHARGE] if point.power > 0 else row[CHARGE]
    verb = "export" if point.power > 0 else "import"
    start = format_instant(point.time)
    detail = say("In the period from {} the asset can {} {}, not {}.", start, verb, kw(able), kw(abs(point.power)))
    raise PowerNotAvailable(
        detail,
        errors=[FieldError(f"/schedule/{position}/power", detail)],
        period=format_instant(point.time),
        available=float(able),
    )
