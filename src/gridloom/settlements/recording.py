"""Recording settled facts: correct them by their natural keys, keep what was known, and sum up the days they touch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from gridloom.database.clock import platform_now
from gridloom.database.pool import Database
from gridloom.events.outbox import record_event
from gridloom.kernel.permission import Permission
from gridloom.settlements import store
from gridloom.settlements.activations import move_stores
from gridloom.settlements.asset_store import read_capabilities
from gridloom.settlements.measures import KEPT_SOURCES, Source
from gridloom.settlements.model import AFRR_ACTIVATIONS, Batch, Counts, FactKind, Origin, Row, Touched
from gridloom.settlements.plausibility import AssetCapability, refuse_implausible, refuse_others_assets
from gridloom.settlements.rules import NamedAssets, batch_of, columns_of
from gridloom.settlements.sheets import FloatArray, day_sums, encode_sheet

DAYS_AT_ONCE: Final = 4_000
"""Asset-days summed up in one go: bounds the memory of a batch that touches many."""


@dataclass(frozen=True, slots=True)
class Recorded:
    counts: Counts
    touched: tuple[Touched, ...]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Who records, and as what.

    holder_id: the organisation on whose virtual assets alone it may; None for the operator, who settles for everyone.
    """

    by: UUID
    origin: Origin = Origin.OPERATOR
    holder_id: UUID | None = None


async def record_settlements(db: Database, kind: FactKind, rows: Sequence[Row], recorder: Recorder) -> Recorded:
    """Record rows in the caller's transaction, all or nothing."""
    columns = await asyncio.to_thread(columns_of, kind, rows)
    return await record_columns(db, kind, columns, recorder)


async def record_columns(db: Database, kind: FactKind, columns: dict[str, Any], recorder: Recorder) -> Recorded:
    """The same for rows that are checked already (see `rules.columns_of`)."""
    named: NamedAssets = columns["asset_id"]
    assets = await read_capabilities(db, named.ids)
    batch = await asyncio.to_thread(_judged_batch, kind, columns, assets, recorder.holder_id)
    await store.lock_assets(db, batch.asset_keys)
    touched = await store.merge(db, batch, recorder.by, recorder.origin)
    if kind.source in KEPT_SOURCES:
        await sum_up(db, kind.source, touched)
    if kind is AFRR_ACTIVATIONS and touched:
        await move_stores(db, touched, await platform_now(db))
    await announce(db, touched)
    replaced = sum(change.replaced for change in touched)
    inserted = sum(change.written for change in touched) - replaced
    counts = Counts(
        received=batch.received,
        inserted=inserted,
        replaced=replaced,
        unchanged=batch.received - inserted - replaced,
    )
    return Recorded(counts, tuple(touched))


def _judged_batch(
    kind: FactKind, columns: dict[str, Any], assets: Mapping[UUID, AssetCapability], holder_id: UUID | None
) -> Batch:
    named: NamedAssets = columns["asset_id"]
    if holder_id is not None:
        refuse_others_assets(named, assets, holder_id)
    batch = batch_of(kind, columns, {id: asset.key for id, asset in assets.items()})
    refuse_implausible(kind, columns, assets)
    return batch


async def sum_up(db: Database, source: Source, touched: Sequence[Touched]) -> None:
    """Sum up the touched days anew from their facts; their assets must be locked."""
    places = [(change.asset_key, change.day) for change in touched if change.day is not None]
    for first in range(0, len(places), DAYS_AT_ONCE):
        part = places[first : first + DAYS_AT_ONCE]
        await keep(db, source, [key for key, _ in part], [day for _, day in part])


async def keep(db: Database, source: Source, keys: Sequence[int], days: Sequence[date]) -> None:
    """Put what the facts of these asset-days say in the place of what was kept; their assets must be locked."""
    sheets = await store.read_sheets(db, source, keys, days)
    encoded, sums = await asyncio.to_thread(_fold_sheets, source, sheets)
    await store.keep_sheets(db, source, keys, days, encoded, sums)


def _fold_sheets(source: Source, sheets: Sequence[FloatArray]) -> tuple[list[bytes | None], FloatArray]:
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
            permission=Permission.READ_REVENUE,
            asset_key=key,
            data={"start": min(change.start for change in changes), "end": max(change.end for change in changes)},
        )
