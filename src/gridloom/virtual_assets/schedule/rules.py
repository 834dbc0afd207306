"""What a schedule must respect: the grid, its block, gate closure, available power, and the energy in the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import PERIOD_S, Floats, Ints, format_period, period_numbers
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.projection.trajectory import BoundViolation

# Schedules come from doubles that other programs computed; a nanowatt too much is not a refusal.
_MAX_ERRORS = 20
_FEW_POINTS: Final = 8
"""One by one they take less than as an array."""
MAX_LOCK_S: Final = 10.0
"""From the moment on in which a change holds its asset, before its gate is judged, until it is committed. Whoever makes
closed periods final waits for changes that were in time, and for none that takes longer: those are undone."""


class BlockWithoutSchedule(Problem):
    """Only `WHOLESALE` blocks take schedules; `FCR`, `AFRR_POS` and `AFRR_NEG` blocks stand by for the grid."""

    status = 422
    title = "This block takes no schedule"


class GateClosed(Problem):
    """A period can be changed until its gate closes, `dispatchGateClosureSeconds` before it starts.

    Nothing of the request was applied. `firstPeriod` is the first period at fault, `firstOpenPeriod` the earliest that
    can still be changed.
    """

    status = 409
    title = "The gate has closed"


class PowerBeyondAvailable(Problem):
    """A scheduled power must lie within what the block has available in that period, in its direction.

    The capacity that is available is in `powerCapacity` of the block. Nothing of the request was applied; `firstPeriod`
    is the first period at fault.
    """

    status = 422
    title = "The power exceeds the block's available capacity"


class EnergyOutOfBounds(Problem):
    """The stored energy must stay between zero and the available capacity, over the asset's whole life.

    It follows from the schedules of all blocks together, so a change can break the bound long after the periods it
    touches. Nothing of the request was applied; `firstPeriod` is the first period that ends out of bounds, `excess` by
    how many kWh.
    """

    status = 422
    title = "The stored energy would leave its bounds"


class SchedulePoints(Struct, frozen=True, eq=False):
    """A schedule's periods and powers in the order of time."""

    periods: Ints
    power_kw: Floats
    places: Ints
    """Where each stood in the request."""

    @property
    def first(self) -> int:
        return int(self.periods[0])

    @property
    def last(self) -> int:
        return int(self.periods[-1])


def read_points(
    times: Sequence[datetime], power_kw: Floats, span: tuple[int, int], whose: str = "block"
) -> SchedulePoints:
    """The schedule in the order of time; or a refusal pointing at what is empty, doubled, off the grid or outside.

    `span`: the periods of the block, or of the asset, from the first up to but not the second.
    """
    if not times:
        raise BadRequest("The schedule is empty.", [FieldError("/schedule", "Expected at least one {time, power}.")])
    numbers, on_grid = period_numbers(times)
    is_in_order = bool((numbers[1:] > numbers[:-1]).all())
    is_inside = is_in_order and span[0] <= numbers[0] and numbers[-1] < span[1]
    if is_inside and on_grid.all() and np.isfinite(power_kw).all():  # as nearly all are
        return SchedulePoints(numbers, power_kw + 0.0, np.arange(len(numbers)))  # an optimiser's -0.0 is a plain 0
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
    """The same one by one, which takes less than arrays do where there are few; None where anything is odd."""
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


def _reject_points(wrong: npt.NDArray[np.bool_], detail: str, where: str = "", member: str = "time") -> None:
    if not wrong.any():
        return
    positions = np.flatnonzero(wrong)
    raise BadRequest(
        f"{len(positions)} of {len(wrong)} points are at fault: {detail}{where}",
        [FieldError(f"/schedule/{position}/{member}", detail) for position in positions[:_MAX_ERRORS].tolist()],
    )


def check_schedulable(block: Block) -> None:
    if block.market is not Market.WHOLESALE:
        raise BlockWithoutSchedule(f"The block is a slice of {block.market} power.")


def first_open_period(now: datetime, gate_closure_s: int) -> int:
    """The earliest period that can still be changed: it starts more than the gate closure time from now.

    The closing moment itself is already too late, as it is everywhere.
    """
    return period_number(now + timedelta(seconds=gate_closure_s)) + 1


def gate_closes_at(first: int, gate_closure_s: int) -> datetime:
    """The moment from which on a period can no longer be changed."""
    return period_start(first) - timedelta(seconds=gate_closure_s)


def check_gate(first: int, first_open: int, pointer: str | None = None) -> None:
    """`pointer`: where the request names the period."""
    if first < first_open:
        raise GateClosed(
            f"The period {format_period(first)} can no longer be changed; "
            f"{format_period(first_open)} is the first that can.",
            [FieldError(pointer, "Expected a period whose gate is open.")] if pointer else (),
            firstPeriod=format_period(first),
            firstOpenPeriod=format_period(first_open),
        )


def check_power(
    points: SchedulePoints, charge_kw: Floats | float, discharge_kw: Floats | float, who: str = "the block"
) -> None:
    """`charge_kw` and `discharge_kw` are what the block has available in each of the points' periods, or in all."""
    if isinstance(charge_kw, float) and isinstance(discharge_kw, float) and len(points.power_kw) <= _FEW_POINTS:
        least_kw, most_kw = -charge_kw - POWER_TOLERANCE_KW, discharge_kw + POWER_TOLERANCE_KW
        if all(least_kw <= power_kw <= most_kw for power_kw in points.power_kw.tolist()):
            return
    wrong = (points.power_kw > discharge_kw + POWER_TOLERANCE_KW) | (points.power_kw < -charge_kw - POWER_TOLERANCE_KW)
    if not wrong.any():
        return
    charge_kw, discharge_kw = (np.broadcast_to(each, len(wrong)) for each in (charge_kw, discharge_kw))
    positions = np.flatnonzero(wrong)
    first = positions[0]
    raise PowerBeyondAvailable(
        f"In the period {format_period(int(points.periods[first]))} {who} can charge with {charge_kw[first]:g} kW and "
        f"discharge with {discharge_kw[first]:g} kW; {points.power_kw[first]:g} kW was asked for.",
        [FieldError(f"/schedule/{points.places[first]}/power", "Expected a power that is available.")],
        firstPeriod=format_period(int(points.periods[first])),
        periods=len(positions),
        availableCharge=float(charge_kw[first]),
        availableDischarge=float(discharge_kw[first]),
    )


def energy_out_of_bounds(
    asset: VirtualAsset, period: int, excess: BoundViolation, available_kwh: float
) -> EnergyOutOfBounds:
    if excess.excess_kwh < 0:
        said = f"{-excess.excess_kwh:.6g} kWh below empty"
    else:
        said = f"{excess.excess_kwh:.6g} kWh above the {available_kwh:g} kWh that are available"
    return EnergyOutOfBounds(
        f"At the end of the period {format_period(period)} the stored energy would be {said}.",
        firstPeriod=format_period(period),
        excess=excess.excess_kwh,
    )
