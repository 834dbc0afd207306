"""Rules of a schedule: gate closure, available power and the bounds of stored energy; pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from gridloom.kernel.figures import kw, kwh, say
from gridloom.kernel.problem import FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, format_period
from gridloom.virtual_assets.energy.trajectory import BoundViolation
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.points import SchedulePoints

_FEW_POINTS: Final = 8
"""They are faster one by one than as an array."""


class BlockWithoutSchedule(Problem, status=422, title="This block takes no schedule"):
    """Only `WHOLESALE` blocks take schedules; `FCR`, `AFRR_POS` and `AFRR_NEG` blocks are reserves for the grid."""


class GateClosed(Problem, status=409, title="The gate has closed"):
    """A period can be changed until its gate closes, `dispatchGateClosureSeconds` before it starts.

    Nothing of the request was applied. `firstPeriod` is the first period at fault, `firstOpenPeriod` the earliest that
    can still be changed.
    """


class PowerBeyondAvailable(Problem, status=422, title="The power exceeds the block's available capacity"):
    """A scheduled power must lie within what the block has available in that period, in its direction.

    The capacity that is available is in `powerCapacity` of the block. Nothing of the request was applied; `firstPeriod`
    is the first period at fault.
    """


class EnergyOutOfBounds(Problem, status=422, title="The stored energy would leave its bounds"):
    """The stored energy must stay between zero and the available capacity, over the asset's whole life.

    It follows from the schedules of all blocks together, so a change can break the bound long after the periods it
    touches. Nothing of the request was applied; `firstPeriod` is the first period that ends out of bounds, `excess` by
    how many kWh.
    """


def check_schedulable(block: Block) -> None:
    if block.market is not Market.WHOLESALE:
        raise BlockWithoutSchedule(f"The block is a slice of {block.market} power.")


def check_gate(first: int, first_open: int, pointer: str | None = None) -> None:
    """`pointer` leads to the period in the request."""
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
    """`charge_kw` and `discharge_kw` are available in each of the points' periods, or in all."""
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
        say(
            "In the period {} {} can charge with {} and discharge with {}; {} was asked for.",
            format_period(int(points.periods[first])),
            who,
            kw(charge_kw[first]),
            kw(discharge_kw[first]),
            kw(points.power_kw[first]),
        ),
        [FieldError(f"/schedule/{points.indices[first]}/power", "Expected a power that is available.")],
        firstPeriod=format_period(int(points.periods[first])),
        periods=len(positions),
        availableCharge=float(charge_kw[first]),
        availableDischarge=float(discharge_kw[first]),
    )


def power_held_back(period: int, asked_kw: float, left_kw: float) -> PowerBeyondAvailable:
    return PowerBeyondAvailable(
        say(
            "In the period {} {} was asked for, and the reserves of waiting orders leave {} in that direction.",
            format_period(period),
            kw(asked_kw),
            kw(left_kw),
        ),
        firstPeriod=format_period(period),
    )


def energy_out_of_bounds(
    asset: VirtualAsset, period: int, excess: BoundViolation, available_kwh: float
) -> EnergyOutOfBounds:
    if excess.excess_kwh < 0:
        said = say("{} below empty", kwh(-excess.excess_kwh))
    else:
        said = say("{} above the {} that are available", kwh(excess.excess_kwh), kwh(available_kwh))
    return EnergyOutOfBounds(
        say("At the end of the period {} the stored energy would be {}.", format_period(period), said),
        firstPeriod=format_period(period),
        excess=excess.excess_kwh,
    )


@contextmanager
def linking_repair(asset: VirtualAsset) -> Iterator[None]:
    """Add the link `repair` to a refusal that a repaired schedule would avoid."""
    try:
        yield
    except (EnergyOutOfBounds, PowerBeyondAvailable) as refusal:
        refusal.members["repair"] = f"/organisations/{asset.organisation_id}/virtual-assets/{asset.id}/repairs"
        raise
