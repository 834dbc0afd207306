"""The one way in which capacity is taken, whichever room takes it: judged by the book and written to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from gridloom.capacity import store
from gridloom.capacity.model import Holding, Taking
from gridloom.capacity.rules import OwnChange, Shortage, Standing, judge, judge_own, refusal
from gridloom.capacity.store import LockedBatteries
from gridloom.database.pool import Database


@dataclass(frozen=True, slots=True)
class Request:
    """What a write wants of one battery: what it takes, what of the own schedule it sets, and whose holdings it gives
    back for it. It is judged as if those were gone."""

    asset_key: int
    asset_id: UUID
    takings: Sequence[Taking] = ()
    given_back: Sequence[UUID] = ()
    own: OwnChange | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        """The periods that it touches; none where it only gives back."""
        firsts, ends = [one.first for one in self.takings], [one.end for one in self.takings]
        if self.own is not None:
            firsts, ends = [*firsts, int(self.own.periods[0])], [*ends, int(self.own.periods[-1]) + 1]
        return (min(firsts), max(ends)) if firsts else None


async def take(
    db: Database,
    locked: LockedBatteries,
    requests: Sequence[Request],
    standing: Mapping[int, Standing] | None = None,
) -> None:
    """All of it or none: judge every request by its battery's book, and write what was taken and given back.

    Raises `CapacityNotAvailable` for what a battery has not got and `CapacityTaken` for what is not free. The periods
    of an own schedule are written by whoever keeps schedules, in the same transaction. `standing` is what the books are
    made of over the requests' periods, where the caller has read it under the lock already.
    """
    assert all(request.asset_key in locked.keys for request in requests), "a book is changed under its battery's lock"
    shortages = await _judge_all(db, requests, standing)
    if shortages:
        raise refusal(shortages)
    await store.write_holdings(
        db,
        [(request.asset_key, holder_id) for request in requests for holder_id in request.given_back],
        [
            (request.asset_key, holding)
            for request in requests
            for taking in request.takings
            for holding in taking.holdings
        ],
    )


async def settle(
    db: Database,
    locked: LockedBatteries,
    asset_key: int,
    *,
    given_back: Sequence[UUID],
    holdings: Sequence[Holding],
) -> None:
    """Turn what was taken into what it has become, without judging again: it is as much as before, or less."""
    assert asset_key in locked.keys, "a book is changed under its battery's lock"
    await store.write_holdings(
        db, [(asset_key, holder_id) for holder_id in given_back], [(asset_key, holding) for holding in holdings]
    )


async def give_back(db: Database, locked: LockedBatteries, asset_key: int, holder_ids: Sequence[UUID]) -> None:
    """What these holders had is free again."""
    assert asset_key in locked.keys, "a book is changed under its battery's lock"
    await store.write_holdings(db, [(asset_key, holder_id) for holder_id in holder_ids], ())


async def _judge_all(
    db: Database, requests: Sequence[Request], standing: Mapping[int, Standing] | None
) -> list[tuple[UUID, Shortage]]:
    spans = [request.span for request in requests if request.span is not None]
    if not spans:
        return []
    if standing is None:
        first, end = min(span[0] for span in spans), max(span[1] for span in spans)
        standing = await store.load_standing(db, {request.asset_key for request in requests}, first, end)
    found = []
    for request in requests:
        rest = standing[request.asset_key].without(set(request.given_back))
        shortage = judge(rest, request.takings)
        if shortage is None and request.own is not None:
            shortage = judge_own(rest, request.own)
        if shortage is not None:
            found.append((request.asset_id, shortage))
    return found
