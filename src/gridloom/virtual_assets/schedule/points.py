"""The points of a schedule: read from a request's body, and distributed over the wholesale blocks."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gridloom.kernel.market_time import period_number
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.market_calendar import PERIOD_S, Floats, Ints, format_period, period_numbers, utc_day_of
from gridloom.platform.http import Instant, QueryParameters, RequestBody
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.store import LaneChange


class SchedulePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The power of one quarter-hour, named by its start. A whole year is 35,040 of them, so they are stored plain."""

    time: Instant
    power: float


class NewSchedule(RequestBody):
    """The periods to replace; all others stay as they are."""

    schedule: list[SchedulePoint]


class ResponseWindowQuery(QueryParameters):
    """The window of the schedule in the answer; left out: the periods given, a week of them at most."""

    start: Instant | None = None
    end: Instant | None = None


class SchedulePoints(Struct, frozen=True, eq=False):
    """A schedule's periods and powers in the order of time."""

    periods: Ints
    power_kw: Floats
    indices: Ints
    """The index of each in the request."""

    @property
    def first(self) -> int:
        return int(self.periods[0])

    @property
    def last(self) -> int:
        return int(self.periods[-1])


_LONG_BODY_POINTS = 2000


_FEW_POINTS = 8


def touched_days(body: NewSchedule, asset: VirtualAsset) -> list[int]:
    """The UTC days of the asset's life that the points of a body may touch, in order; all days for a long body."""
    if len(body.schedule) > _LONG_BODY_POINTS:
        return list(asset.days)
    if len(body.schedule) == 1:
        day = utc_day_of(period_number(body.schedule[0].time))
        return [day] if day in asset.days else []
    days = {utc_day_of(period_number(point.time)) for point in body.schedule}
    return sorted(day for day in days if day in asset.days)


async def points_of(body: NewSchedule, span: tuple[int, int], whose: str = "block") -> SchedulePoints:
    """In a thread if there are many, so that the event loop is not blocked."""
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


def read_points(
    times: Sequence[datetime], power_kw: Floats, span: tuple[int, int], whose: str = "block"
) -> SchedulePoints:
    """The schedule in the order of time; refuses an empty one, and points that are doubled, off the grid or outside.

    `span` are the periods [first, end) of the block or the asset.
    """
    if not times:
        raise BadRequest("The schedule is empty.", [FieldError("/schedule", "Expected at least one {time, power}.")])
    numbers, on_grid = period_numbers(times)
    is_in_order = bool((numbers[1:] > numbers[:-1]).all())
    is_inside = is_in_order and span[0] <= numbers[0] and numbers[-1] < span[1]
    if is_inside and on_grid.all() and np.isfinite(power_kw).all():
        return SchedulePoints(numbers, power_kw + 0.0, np.arange(len(numbers)))  # -0.0 becomes 0
    _reject_points(~on_grid, "Expected a time on a 15-minute boundary.")
    outside = (numbers < span[0]) | (numbers >= span[1])
    if outside.any():
        where = f" The {whose} runs from {format_period(span[0])} to {format_period(span[1])}."
        _reject_points(outside, f"Expected a time within the {whose}.", where)
    _reject_points(~np.isfinite(power_kw), "Expected a finite power.", member="power")
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    doubled = np.zeros(len(numbers), dtype=bool)
    doubled[order[1:]] = ordered[1:] == ordered[:-1]
    _reject_points(doubled, "Expected each time once; it is doubled.")
    return SchedulePoints(ordered, power_kw[order] + 0.0, order)


def read_few_points(
    times: Sequence[datetime], powers_kw: Sequence[float], span: tuple[int, int]
) -> SchedulePoints | None:
    """The same without arrays, which is faster for few points; None if a point has a fault."""
    numbers, before = [], span[0] - 1
    for time, power_kw in zip(times, powers_kw, strict=True):
        number, rest_s = divmod(time.timestamp(), PERIOD_S)
        if rest_s or not before < number < span[1] or not math.isfinite(power_kw):
            return None
        before = int(number)
        numbers.append(before)
    if not numbers:
        return None
    return SchedulePoints(
        np.array(numbers), np.array([power_kw + 0.0 for power_kw in powers_kw]), np.arange(len(numbers))
    )


_MAX_ERRORS = 20


def _reject_points(wrong: npt.NDArray[np.bool_], detail: str, where: str = "", member: str = "time") -> None:
    if not wrong.any():
        return
    positions = np.flatnonzero(wrong)
    raise BadRequest(
        f"{len(positions)} of {len(wrong)} points are at fault: {detail}{where}",
        [FieldError(f"/schedule/{position}/{member}", detail) for position in positions[:_MAX_ERRORS].tolist()],
    )


def wholesale_blocks(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if block.market is Market.WHOLESALE]


def rated_kw(blocks: Sequence[Block], periods: Ints) -> tuple[Floats, Floats]:
    """The rated power of all wholesale blocks in each of these periods, which are in order."""
    charge_kw, discharge_kw = np.zeros(len(periods)), np.zeros(len(periods))
    for block, indices in _find_covered(blocks, periods):
        charge_kw[indices] += block.charge_kw
        discharge_kw[indices] += block.discharge_kw
    return charge_kw, discharge_kw


def distribute_over_blocks(blocks: Sequence[Block], points: SchedulePoints) -> dict[Block, LaneChange]:
    """The part of each wholesale block that covers some of the points: `power · its rated power ÷ the sum of all`.

    The rated power is that of the point's direction. The largest block takes the rounding error, so that the parts sum
    to the point. Where no block has power in its direction, nothing is set.
    """
    covered = list(_find_covered(blocks, points.periods))
    charging = points.power_kw < 0
    total_kw = np.where(charging, *rated_kw(blocks, points.periods))
    rest_kw, largest_kw = points.power_kw.copy(), np.zeros(len(points.periods))
    largest = np.zeros(len(points.periods), dtype=np.int64)
    parts_kw: list[Floats] = []
    for number, (block, indices) in enumerate(covered):
        block_kw = np.where(charging[indices], block.charge_kw, block.discharge_kw)
        share = np.divide(block_kw, total_kw[indices], out=np.zeros(len(block_kw)), where=total_kw[indices] > 0)
        parts_kw.append(points.power_kw[indices] * share)
        rest_kw[indices] -= parts_kw[-1]
        largest[indices] = np.where(block_kw > largest_kw[indices], number, largest[indices])
        largest_kw[indices] = np.maximum(block_kw, largest_kw[indices])
    changes = {}
    for number, ((block, indices), part_kw) in enumerate(zip(covered, parts_kw, strict=True)):
        takes_rest = (largest[indices] == number) & (total_kw[indices] > 0)
        changes[block] = LaneChange(points.periods[indices], part_kw + np.where(takes_rest, rest_kw[indices], 0.0))
    return changes


def _find_covered(blocks: Sequence[Block], periods: Ints) -> Iterator[tuple[Block, slice]]:
    """The wholesale blocks that cover some of the periods, with the slice of these."""
    for block in wholesale_blocks(blocks):
        low, high = np.searchsorted(periods, (block.first, block.end)).tolist()
        if low < high:
            yield block, slice(low, high)


def group_by_lane(parts: Mapping[Block, LaneChange]) -> dict[int, LaneChange]:
    """The parts joined by lane; blocks of one lane follow each other."""
    lanes: dict[int, list[LaneChange]] = {}
    for block in sorted(parts, key=lambda block: block.first):
        lanes.setdefault(block.lane, []).append(parts[block])
    return {lane: _join_changes(changes) for lane, changes in lanes.items()}


def _join_changes(changes: Sequence[LaneChange]) -> LaneChange:
    return LaneChange(
        np.concatenate([change.periods for change in changes]), np.concatenate([change.power_kw for change in changes])
    )
