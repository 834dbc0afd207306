"""Recording settled facts: correct them by their natural keys, keep what was known, and sum up the days they touch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.events.outbox import record_event
from gridloom.settlements import store
from gridloom.settlements.measures import KEPT_SOURCES, Source
from gridloom.settlements.model import Counts, FactKind, Row, Touched
from gridloom.settlements.rules import NamedAssets, batch_of, columns_of
from gridloom.settlements.sheets import FloatArray, day_sums, encode_sheet

DAYS_AT_ONCE: Final = 4_000
"""Asset-days summed up in one go: bounds the memory of a batch that touches many."""


@dataclass(frozen=True, slots=True)
class Recorded:
    counts: Counts
    touched: tuple[Touched, ...]


async def record_settlements(db: Database, kind: FactKind, rows: Sequence[Row], *, by: UUID) -> Recorded:
    """Record rows in the caller's transaction, all or nothing."""
    columns = await asyncio.to_thread(columns_of, kind, rows)
    return await record_columns(db, kind, columns, by=by)


async def record_columns(db: Database, kind: FactKind, columns: dict[str, Any], *, by: UUID) -> Recorded:
    """The same for rows that are checked already (see `rules.columns_of`)."""
    named: NamedAssets = columns["asset_id"]
    keys = await store.asset_keys(db, named.ids)
    batch = await asyncio.to_thread(batch_of, kind, columns, keys)
    await store.lock_assets(db, batch.asset_keys)
    touched = await store.merge(db, batch, by)
    if kind.source in KEPT_SOURCES:
        await sum_up(db, kind.source, touched)
    await announce(db, touched)
    replaced = sum(change.replaced for change in touched)
    inserted = sum(change.written for change in touched) - replaced
    counts = Counts(
        received=batch.received,
        inserted=inserted,
        replaced=replaced + batch.superseded,
        unchanged=batch.received - inserted - replaced - batch.superseded,
    )
    return Recorded(counts, tuple(touched))


async def sum_up(db: Database, source: Source, touched: Sequence[Touched]) -> None:
    """Sum up the touched days anew from their facts; their assets must be locked."""
    places = [(change.asset_key, change.day) for change in touched if change.day is not None]
    for first in range(0, len(places), DAYS_AT_ONCE):
        part = places[first : first + DAYS_AT_ONCE]
        await keep(db, source, [key for key, _ in part], [day for _, day in part])


async def keep(db: Database, source: Source, keys: Sequence[int], days: Sequence[date]) -> None:
    """Put what the facts of these asset-days say in the place of what was kept; their assets must be locked."""
    sheets = await store.read_sheets(db, source, keys, days)
    encoded, sums = await asyncio.to_thread(_folded, source, sheets)
    await store.keep_sheets(db, source, keys, days, encoded, sums)


def _folded(source: Source, sheets: Sequence[FloatArray]) -> tuple[list[bytes | None], FloatArray]:
    return [encode_sheet(source, sheet) for sheet in sheets], day_sums(sheets)


async def announce(db: Database, touched: Sequence[Touched]) -> None:
    """One event for each asset whose figures changed."""
    by_asset: dict[int, list[Touched]] = {}
    for change in touched:
        by_asset.setdefault(change.asset_key, []).append(change)
    owners = await store.owners(db, list(by_asset))
    for key, changes in by_asset.items():
        id, kind, organisation_id = owners[key]
        await record_event(
            db,
            type="data-points.updated",
            organisation_id=organisation_id,
            subject=f"{kind.lower()}-assets/{id}",
            permission="Read:revenue",
            asset_key=key,
            data={"start": min(change.start for change in changes), "end": max(change.end for change in changes)},
        )
