"""Held capacity of an asset that is unavailable, holder by holder, in the order in which a loss is borne."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY, FCR, AvailabilitySeries
from gridloom.capacity.book import CapacityBook
from gridloom.capacity.loss_order import firm_coverage, own_schedule_limit, pending_coverage, shortfall
from gridloom.capacity.model import TOLERANCE, Floats, Holding, HoldingKind
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_battery_capacity
from gridloom.kernel.market_time import period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import touched_periods
from gridloom.physical_assets.conflicts import CapacityConflict, ConflictKind, MissingCapacity
from gridloom.platform.database.pool import Database

_KIND_OF = {
    HoldingKind.VIRTUAL_ASSET: ConflictKind.VIRTUAL_ASSET,
    HoldingKind.AUCTION: ConflictKind.AUCTION,
    HoldingKind.FCR: ConflictKind.ANCILLARY_BID,
    HoldingKind.AFRR_CAPACITY: ConflictKind.ANCILLARY_BID,
    HoldingKind.AFRR_ENERGY: ConflictKind.ANCILLARY_BID,
}
_DETAIL_PREFIX = {
    ConflictKind.VIRTUAL_ASSET: "The promise to the virtual asset",
    ConflictKind.AUCTION: "The auction's offer",
    ConflictKind.ANCILLARY_BID: "The bid",
}


async def book_conflicts(
    db: Database, asset_key: int, window: Window, series: AvailabilitySeries
) -> list[CapacityConflict]:
    """The book's shortfall, by the holder that bears it."""
    first, end = touched_periods(window)
    return conflicts_in((await load_battery_capacity(db, [asset_key], first, end))[asset_key], first, end)


def conflicts_in(capacity: BatteryCapacity, first: int, end: int) -> list[CapacityConflict]:
    book = capacity.book(first, end)
    found = list(_fcr_conflicts(capacity, book))
    if not (book.missing > 0).any():
        return found
    listed = {conflict.id for conflict in found}
    lost = shortfall(book)
    found += _own_conflicts(book, lost.own)
    for is_firm, missing, kept in (
        (False, lost.waiting, pending_coverage(book)),
        (True, lost.firm, firm_coverage(book)),
    ):
        if (missing > TOLERANCE).any():
            holdings = [one for one in capacity.holdings if one.is_firm is is_firm and one.holder_id not in listed]
            found += [conflict for one in holdings for conflict in _holder_conflicts(book, one, kept)]
    return found


def _fcr_conflicts(capacity: BatteryCapacity, book: CapacityBook) -> Iterator[CapacityConflict]:
    """New parameters may allow less FCR than is held, whatever is free."""
    for one in capacity.holdings:
        if one.kind is not HoldingKind.FCR:
            continue
        steps = book.steps_between(one.first, one.end)
        if steps.start >= steps.stop:
            continue  # the block lies before the book begins or after it ends
        limit_kw = float(np.minimum(book.rated[steps, FCR], book.available[steps, :ENERGY].min(axis=1)).min())
        if one.discharge_kw > limit_kw + TOLERANCE:
            missing_kw = one.discharge_kw - limit_kw
            missing = MissingCapacity(charge=missing_kw, discharge=missing_kw, energy=0.0)
            yield _make_conflict(one, one.first, one.end, one.discharge_kw, limit_kw, missing)


def _own_conflicts(book: CapacityBook, missing: Floats) -> list[CapacityConflict]:
    left, own = own_schedule_limit(book), book.own
    found = []
    for steps in _missing_intervals(missing):
        worst = steps.start + int(np.argmax(missing[steps].max(axis=1)))
        column = CHARGE if own[worst, CHARGE] else DISCHARGE
        power_kw = float(own[worst, column])
        start, end = period_start(int(book.edges[steps.start])), period_start(int(book.edges[steps.stop]))
        available_kw = min(power_kw, float(left[worst, column])) if missing[worst, column] else power_kw
        found.append(
            CapacityConflict(
                kind=ConflictKind.SCHEDULE,
                start=start,
                end=end,
                power=power_kw if column == DISCHARGE else -power_kw,
                available=round(available_kw, 6),
                missing=_missing_of(missing[worst]),
                detail=(
                    f"The own schedule asks for {power_kw:g} kW and {own[worst, ENERGY]:g} kWh, where "
                    f"{left[worst, column]:g} kW and {left[worst, ENERGY]:g} kWh are left for it."
                ),
            )
        )
    return found


def _holder_conflicts(book: CapacityBook, holding: Holding, kept: Floats) -> list[CapacityConflict]:
    """kept: the parts, by step and column, that holders of this rank keep."""
    span = book.steps_between(holding.first, holding.end)
    asked = np.array([holding.charge_kw, holding.discharge_kw, holding.energy_kwh])
    missing = np.zeros_like(kept)
    missing[span] = asked * (1 - kept[span])
    found = []
    for steps in _missing_intervals(missing):
        worst = steps.start + int(np.argmax(missing[steps].max(axis=1)))
        column = CHARGE if missing[worst, CHARGE] > missing[worst, DISCHARGE] or not asked[DISCHARGE] else DISCHARGE
        sign = 1 if column == DISCHARGE else -1
        first = max(holding.first, int(book.edges[steps.start]))
        end = min(holding.end, int(book.edges[steps.stop]))
        if holding.kind not in (HoldingKind.VIRTUAL_ASSET, HoldingKind.AUCTION):
            first, end = holding.first, holding.end  # a product is delivered throughout or not at all
        left_kw = float(asked[column] - missing[worst, column])
        found.append(
            _make_conflict(holding, first, end, sign * float(asked[column]), left_kw, _missing_of(missing[worst]))
        )
    return found[:1] if holding.product else found


def _make_conflict(
    holding: Holding, first: int, end: int, power_kw: float, available_kw: float, missing: MissingCapacity
) -> CapacityConflict:
    kind = _KIND_OF[holding.kind]
    conflict = CapacityConflict(
        kind=kind,
        id=holding.holder_id,
        start=period_start(first),
        end=period_start(end),
        power=power_kw,
        available=round(available_kw, 6),
        missing=missing,
        detail=(
            f"{_DETAIL_PREFIX[kind]} is for {abs(power_kw):g} kW, and {available_kw:g} kW of it are covered; "
            f"{missing.energy:g} kWh of the energy for it are missing."
        ),
    )
    if holding.kind is HoldingKind.VIRTUAL_ASSET:
        conflict.virtual_asset_id = holding.holder_id
    elif holding.kind is HoldingKind.AUCTION:
        conflict.auction_id = holding.holder_id
    elif holding.product is not None:
        conflict.product_date_code = holding.product_date_code
    return conflict


def _missing_of(amounts: Floats) -> MissingCapacity:
    charge_kw, discharge_kw, energy_kwh = (round(float(amount), 6) for amount in amounts)
    return MissingCapacity(charge=charge_kw, discharge=discharge_kw, energy=energy_kwh)


def _missing_intervals(missing: Floats) -> list[slice]:
    """Steps that follow each other in which something is missing, together."""
    indices = np.flatnonzero((missing > TOLERANCE).any(axis=1))
    runs = [run for run in np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1) if len(run)]
    return [slice(int(run[0]), int(run[-1]) + 1) for run in runs]
