"""The one way in which capacity is held, for every package: validated against the book and written to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from gridloom.capacity import store
from gridloom.capacity.model import Holding, HoldingGroup
from gridloom.capacity.rules import (
    BatteryCapacity,
    OwnChange,
    Shortage,
    find_own_schedule_shortage,
    find_shortage,
    shortage_problem,
)
from gridloom.capacity.store import LockedBatteries
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class CapacityRequest:
    """A write to one battery's book: what it holds, what of the own schedule it sets, and whose holdings it gives
    back for it. It is validated as if those were gone."""

    asset_key: int
    asset_id: UUID
    groups: Sequence[HoldingGroup] = ()
    released: Sequence[UUID] = ()
    own: OwnChange | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        """The periods that it touches; none where it only gives back."""
        firsts, ends = [one.first for one in self.groups], [one.end for one in self.groups]
        if self.own is not None:
            firsts, ends = [*firsts, int(self.own.periods[0])], [*ends, int(self.own.periods[-1]) + 1]
        return (min(firsts), max(ends)) if firsts else None


async def hold_capacity(
    db: Database,
    locked: LockedBatteries,
    requests: Sequence[CapacityRequest],
    capacity: Mapping[int, BatteryCapacity] | None = None,
) -> None:
    """All of it or none: validate every request against its battery's book, and write the holdings added and released.

    Raises `CapacityNotAvailable` for what a battery has not got and `CapacityTaken` for what is not free. The periods
    of an own schedule are written by the schedule store, in the same transaction. `capacity` is what the books are
    made of over the requests' periods, where the caller has read it under the lock already.
    """
    assert all(request.asset_key in locked.keys for request in requests), "a book is changed under its battery's lock"
    shortages = await _validate_requests(db, requests, capacity)
    if shortages:
        raise shortage_problem(shortages)
    await store.write_holdings(
        db,
        [(request.asset_key, holder_id) for request in requests for holder_id in request.released],
        [
            (request.asset_key, holding)
            for request in requests
            for group in request.groups
            for holding in group.holdings
        ],
    )


async def replace_holdings(
    db: Database,
    locked: LockedBatteries,
    asset_key: int,
    *,
    released: Sequence[UUID],
    holdings: Sequence[Holding],
) -> None:
    """Replace holdings by others that need as much as before, or less, without validation."""
    assert asset_key in locked.keys, "a book is changed under its battery's lock"
    await store.write_holdings(
        db, [(asset_key, holder_id) for holder_id in released], [(asset_key, holding) for holding in holdings]
    )


async def release_holdings(db: Database, locked: LockedBatteries, asset_key: int, holder_ids: Sequence[UUID]) -> None:
    """Releases the holdings of these holders."""
    assert asset_key in locked.keys, "a book is changed under its battery's lock"
    await store.write_holdings(db, [(asset_key, holder_id) for holder_id in holder_ids], ())


async def _validate_requests(
    db: Database, requests: Sequence[CapacityRequest], capacity: Mapping[int, BatteryCapacity] | None
) -> list[tuple[UUID, Shortage]]:
    spans = [request.span for request in requests if request.span is not None]
    if not spans:
        return []
    if capacity is None:
        first, end = min(span[0] for span in spans), max(span[1] for span in spans)
        capacity = await store.load_battery_capacity(db, {request.asset_key for request in requests}, first, end)
    found = []
    for request in requests:
        rest = capacity[request.asset_key].without(set(request.released))
        shortage = find_shortage(rest, request.groups)
        if shortage is None and request.own is not None:
            shortage = find_own_schedule_shortage(rest, request.own)
        if shortage is not None:
            found.append((request.asset_id, shortage))
    return found
