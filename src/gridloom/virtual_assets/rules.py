"""What a new virtual asset must respect: a window on the grid, and some power."""

from __future__ import annotations

from datetime import datetime, timedelta

from gridloom.kernel.market_time import is_period_start
from gridloom.kernel.problem import BadRequest, FieldError

MAX_LIFETIME = timedelta(days=3660)


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
    if end - start > MAX_LIFETIME:
        raise BadRequest("A window lasts ten years at most.", [FieldError(f"{place}end", "Expected an earlier time.")])


def check_rated(charge_kw: float, discharge_kw: float) -> None:
    if charge_kw == 0 and discharge_kw == 0:
        raise BadRequest(
            "An asset has some power in one direction at least.",
            [FieldError("/ratedChargePower", "is 0"), FieldError("/ratedDischargePower", "is 0")],
        )
