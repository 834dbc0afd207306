"""Retiring a battery: what it has promised prevents that, unless it is known to be out for all of that time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gridloom.capacity.model import TOLERANCE, Holding, HoldingKind
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import LockedBatteries, load_firm_capacity
from gridloom.kernel.market_time import format_instant, period_number, period_start
from gridloom.kernel.problem import Problem
from gridloom.physical_assets import store
from gridloom.physical_assets.model import AssetStatus
from gridloom.platform.database.pool import Database

MAX_NAMED = 50


class AssetCommitted(Problem, status=409, title="The battery has commitments"):
    """The battery backs a virtual asset or an open auction, or has accepted balancing capacity to come; `commitments`
    names them.

    It can be set `INACTIVE` or `DECOMMISSIONED` once they are over, or when an unavailability of its whole volume
    covers all of them. Such an unavailability stays as long as the battery is retired.
    """


async def check_retirable(db: Database, locked: LockedBatteries, asset_key: int) -> None:
    """Whether nothing would be dispatched on the battery from now on: what it still owes is known to be missing."""
    uncovered = await _list_uncovered(db, locked, asset_key)
    if uncovered:
        raise _reject_retirement(uncovered)


async def list_uncovered_of_retired(db: Database, locked: LockedBatteries, asset_key: int) -> list[Holding]:
    """Commitments of a retired battery that no unavailability covers: of bids that were accepted after it retired."""
    if await store.read_status(db, asset_key) is AssetStatus.ACTIVE:
        return []
    return await _list_uncovered(db, locked, asset_key)


async def check_still_retirable(
    db: Database, locked: LockedBatteries, asset_key: int, uncovered_before: Sequence[Holding]
) -> None:
    """After a change that may give capacity back: a retired battery stays out for all commitments that it was out
    for."""
    uncovered = [one for one in await list_uncovered_of_retired(db, locked, asset_key) if one not in uncovered_before]
    if uncovered:
        raise _reject_retirement(uncovered)


async def _list_uncovered(db: Database, locked: LockedBatteries, asset_key: int) -> list[Holding]:
    assert asset_key in locked.keys, "what a book holds is read under the battery's lock"
    end = await store.read_last_commitment_end(db, asset_key, locked.since)
    if end is None:
        return []
    first = period_number(locked.since)
    capacity = (await load_firm_capacity(db, [asset_key], first, end))[asset_key]
    return find_uncovered(capacity, first, end)


def find_uncovered(capacity: BatteryCapacity, first: int, end: int) -> list[Holding]:
    """Firm holdings in whose periods some of the battery is available."""
    book = capacity.book(first, end)
    return [
        one
        for one in capacity.holdings
        if one.is_firm and (book.available[book.steps_between(one.first, one.end)] > TOLERANCE).any()
    ]


def _reject_retirement(holdings: Sequence[Holding]) -> AssetCommitted:
    until: datetime = period_start(max(one.end for one in holdings))
    kinds = ", ".join(sorted({one.kind.value for one in holdings}))
    return AssetCommitted(
        f"Commitments of the battery ({len(holdings)}: {kinds}) stand until {format_instant(until)}, and it is not "
        "unavailable with its whole volume for all of that time.",
        commitments=[_name_commitment(one) for one in sorted(holdings, key=lambda one: one.first)[:MAX_NAMED]],
    )


def _name_commitment(one: Holding) -> dict[str, object]:
    named: dict[str, object] = {
        "kind": one.kind.value,
        "start": format_instant(period_start(one.first)),
        "end": format_instant(period_start(one.end)),
        "charge": round(one.charge_kw, 6),
        "discharge": round(one.discharge_kw, 6),
    }
    if one.kind is HoldingKind.VIRTUAL_ASSET:
        return named | {"virtualAssetID": str(one.holder_id)}
    if one.kind is HoldingKind.AUCTION:
        return named | {"auctionID": str(one.holder_id)}
    return named | {"bidID": str(one.holder_id), "productDateCode": one.product_date_code}
