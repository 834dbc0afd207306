"""What a schedule must respect: the grid, its block, gate closure, available power, and the energy in the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np

from gridloom.kernel.instant import written
from gridloom.kernel.market_time import is_period_start
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.virtual_assets.grid import Floats, Ints, period_number, period_numbers, period_start
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.trajectory import Excess

# Schedules come from doubles that other programs computed; a nanowatt too much is not a refusal.
POWER_TOLERANCE_KW = 1e-6
_MOST_ERRORS = 20


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


class SharesNotWhole(Problem):
    """The shares of all backing assets sum to 1, and each asset is named once."""

    status = 422
    title = "The backing shares do not make a whole"


class BlockOutsideAsset(Problem):
    """A block lies within its asset's life and takes some of its power."""

    status = 422
    title = "The block does not fit its asset"


def check_new_block(asset: VirtualAsset, span: tuple[int, int], charge_kw: float, discharge_kw: float) -> None:
    if span[0] < asset.first or span[1] > asset.end:
        raise BlockOutsideAsset(
            f"The asset lives from {wire_time(asset.first)} to {wire_time(asset.end)}.",
            [FieldError("/start" if span[0] < asset.first else "/end", "Expected a time within the asset's life.")],
        )
    if charge_kw == 0 and discharge_kw == 0:
        raise BlockOutsideAsset(
            "A block takes some power in one direction at least.", [FieldError("/ratedDischargePower", "is 0")]
        )


LONGEST_LIFE = timedelta(days=3660)


def check_window(start: datetime, end: datetime, *, on_grid: bool = True, place: str = "/") -> None:
    """Refuse a window that does not start before it ends, or not on the quarter-hour."""
    if start >= end:
        raise BadRequest("A window starts before it ends.", [FieldError(f"{place}end", "Expected a time after start.")])
    if not on_grid:
        return
    faults = [name for name, moment in (("start", start), ("end", end)) if not is_period_start(moment)]
    if faults:
        raise BadRequest(
            "A window starts and ends on 15-minute boundaries.",
            [FieldError(f"{place}{name}", "Expected a time on a 15-minute boundary.") for name in faults],
        )
    if end - start > LONGEST_LIFE:
        raise BadRequest("A window lasts ten years at most.", [FieldError(f"{place}end", "Expected an earlier time.")])


def check_rated(charge_kw: float, discharge_kw: float) -> None:
    if charge_kw == 0 and discharge_kw == 0:
        raise BadRequest(
            "An asset has some power in one direction at least.",
            [FieldError("/ratedChargePower", "is 0"), FieldError("/ratedDischargePower", "is 0")],
        )


def check_shares(shares: Sequence[tuple[UUID, float]]) -> None:
    doubled = [place for place, (id, _) in enumerate(shares) if id in {other for other, _ in shares[:place]}]
    if doubled:
        raise SharesNotWhole(
            "A backing asset is named twice.",
            [FieldError(f"/backing/{place}/physicalAssetID", "named before") for place in doubled],
        )
    total = math.fsum(share for _, share in shares)
    if abs(total - 1) > 1e-9:
        raise SharesNotWhole(f"The shares sum to {total:g}, not to 1.", [FieldError("/backing", f"sums to {total:g}")])


@dataclass(frozen=True, slots=True)
class Points:
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


def wire_time(period: int) -> str:
    return written(period_start(period))


def read_points(times: Sequence[datetime], power_kw: Floats, block: Block) -> Points:
    """The schedule in the order of time; or a refusal pointing at what is empty, doubled, off the grid or outside."""
    if not times:
        raise BadRequest("The schedule is empty.", [FieldError("/schedule", "Expected at least one {time, power}.")])
    numbers, on_grid = period_numbers(times)
    _refuse(~on_grid, "Expected a time on a 15-minute boundary.")
    _refuse((numbers < block.first) | (numbers >= block.end), "Expected a time within the block.", block)
    _refuse(~np.isfinite(power_kw), "Expected a finite power.", member="power")
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    doubled = np.zeros(len(numbers), dtype=bool)
    doubled[order[1:]] = ordered[1:] == ordered[:-1]
    _refuse(doubled, "Expected each time once; it is doubled.")
    return Points(ordered, power_kw[order] + 0.0, order)  # an optimiser's -0.0 is a plain 0


def _refuse(wrong: Sequence[bool] | np.ndarray, detail: str, block: Block | None = None, member: str = "time") -> None:
    positions = np.flatnonzero(wrong)
    if not len(positions):
        return
    where = f" The block runs from {wire_time(block.first)} to {wire_time(block.end)}." if block else ""
    raise BadRequest(
        f"{len(positions)} of {len(wrong)} points are at fault: {detail}{where}",
        [FieldError(f"/schedule/{position}/{member}", detail) for position in positions[:_MOST_ERRORS].tolist()],
    )


def check_takes_schedule(block: Block) -> None:
    if block.market is not Market.WHOLESALE:
        raise BlockWithoutSchedule(f"The block is a slice of {block.market} power.")


def first_open_period(now: datetime, gate_closure_s: int) -> int:
    """The earliest period that can still be changed: it starts more than the gate closure time from now.

    The closing moment itself is already too late, as it is everywhere.
    """
    return period_number(now + timedelta(seconds=gate_closure_s)) + 1


def check_gate(first: int, first_open: int, pointer: str | None = None) -> None:
    """`pointer`: where the request names the period."""
    if first < first_open:
        raise GateClosed(
            f"The period {wire_time(first)} can no longer be changed; {wire_time(first_open)} is the first that can.",
            [FieldError(pointer, "Expected a period whose gate is open.")] if pointer else (),
            firstPeriod=wire_time(first),
            firstOpenPeriod=wire_time(first_open),
        )


def check_power(points: Points, charge_kw: Floats, discharge_kw: Floats) -> None:
    """`charge_kw` and `discharge_kw` are what the block has available in each of the points' periods."""
    wrong = (points.power_kw > discharge_kw + POWER_TOLERANCE_KW) | (points.power_kw < -charge_kw - POWER_TOLERANCE_KW)
    positions = np.flatnonzero(wrong)
    if not len(positions):
        return
    first = positions[0]
    raise PowerBeyondAvailable(
        f"In the period {wire_time(int(points.periods[first]))} the block can charge with {charge_kw[first]:g} kW and "
        f"discharge with {discharge_kw[first]:g} kW; {points.power_kw[first]:g} kW was asked for.",
        [FieldError(f"/schedule/{points.places[first]}/power", "Expected a power that is available.")],
        firstPeriod=wire_time(int(points.periods[first])),
        periods=len(positions),
        availableCharge=float(charge_kw[first]),
        availableDischarge=float(discharge_kw[first]),
    )


def energy_out_of_bounds(asset: VirtualAsset, period: int, excess: Excess, available_kwh: float) -> EnergyOutOfBounds:
    if excess.excess_kwh < 0:
        said = f"{-excess.excess_kwh:.6g} kWh below empty"
    else:
        said = f"{excess.excess_kwh:.6g} kWh above the {available_kwh:g} kWh that are available"
    return EnergyOutOfBounds(
        f"At the end of the period {wire_time(period)} the stored energy would be {said}.",
        firstPeriod=wire_time(period),
        excess=excess.excess_kwh,
    )
