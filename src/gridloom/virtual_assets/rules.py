"""Rules for the window, the power and the backing shares of a virtual asset, and the gates of its periods; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.market_time import is_period_start, period_number, period_number_from, period_start
from gridloom.kernel.problem import BadRequest, FieldError, Problem

MAX_LIFETIME = timedelta(days=3660)


def check_window(start: datetime, end: datetime, *, on_grid: bool = True, prefix: str = "/") -> None:
    """Refuse a window that does not start before it ends, or not on the quarter-hour."""
    if start >= end:
        raise BadRequest(
            "A window starts before it ends.", [FieldError(f"{prefix}end", "Expected a time after start.")]
        )
    if not on_grid:
        return
    faults = [name for name, instant in (("start", start), ("end", end)) if not is_period_start(instant)]
    if faults:
        raise BadRequest(
            "A window starts and ends on 15-minute boundaries.",
            [FieldError(f"{prefix}{name}", "Expected a time on a 15-minute boundary.") for name in faults],
        )
    if end - start > MAX_LIFETIME:
        raise BadRequest("A window lasts ten years at most.", [FieldError(f"{prefix}end", "Expected an earlier time.")])


def check_rated(charge_kw: float, discharge_kw: float) -> None:
    if charge_kw == 0 and discharge_kw == 0:
        raise BadRequest(
            "An asset has some power in one direction at least.",
            [FieldError("/ratedChargePower", "is 0"), FieldError("/ratedDischargePower", "is 0")],
        )


SHOWN_BEFORE: Final = timedelta(hours=24)


SHOWN_AFTER: Final = timedelta(hours=48)


def requested_periods(start: datetime | None, end: datetime | None, now: datetime) -> tuple[int, int]:
    """The periods that start in the window; −24 h … +48 h around now where a side is left out."""
    start = now - SHOWN_BEFORE if start is None else start
    end = max(now, start) + SHOWN_AFTER if end is None else end
    return periods_between(start, end)


def periods_between(start: datetime, end: datetime) -> tuple[int, int]:
    if start >= end:
        raise BadRequest("A window starts before it ends.", [FieldError("query:end", "Expected a time after start.")])
    if end - start > MAX_LIFETIME:
        raise BadRequest("A window lasts ten years at most.", [FieldError("query:end", "Expected an earlier time.")])
    return period_number_from(start), period_number_from(end)


class SharesNotWhole(Problem, status=422, title="The backing shares do not make a whole"):
    """The shares of all backing assets sum to 1, and each asset is named once."""


SHARE_TOLERANCE: Final = 1e-9


def check_shares(shares: Sequence[tuple[UUID, float]]) -> None:
    faults = find_share_errors(shares)
    if faults:
        raise SharesNotWhole("; ".join(f"{error.pointer} {error.detail}" for error in faults) + ".", faults)


def find_share_errors(shares: Sequence[tuple[UUID, float]]) -> list[FieldError]:
    """Assets named twice, or else a sum that is not 1."""
    seen: set[UUID] = set()
    faults = []
    for index, (asset_id, _) in enumerate(shares):
        if asset_id in seen:
            faults.append(FieldError(f"/backing/{index}/physicalAssetID", "is named twice"))
        seen.add(asset_id)
    total = math.fsum(share for _, share in shares)
    if not faults and abs(total - 1) > SHARE_TOLERANCE:
        faults.append(FieldError("/backing", f"has shares that sum to {total:.6g} instead of 1"))
    return faults


def first_open_period(now: datetime, gate_closure_s: int) -> int:
    """The earliest period that can still be changed: it starts more than the gate closure time from now.

    The instant of closure itself is too late.
    """
    return period_number(now + timedelta(seconds=gate_closure_s)) + 1


def gate_closes_at(first: int, gate_closure_s: int) -> datetime:
    """The instant from which on a period can no longer be changed."""
    return period_start(first) - timedelta(seconds=gate_closure_s)
