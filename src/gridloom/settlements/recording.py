"""Recording settled facts: correct them by their natural keys, keep what was known, and sum up the days they touch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.settlements import store
from gridloom.settlements.activations import propagate_activations
from gridloom.settlements.asset_store import read_capabilities
from gridloom.settlements.capability_checks import AssetCapability, reject_implausible, reject_others_assets
from gridloom.settlements.measures import AGGREGATED_SOURCES, FactSource
from gridloom.settlements.model import (
    AFRR_ACTIVATIONS,
    WHOLESALE_TRADES,
    Counts,
    FactBatch,
    FactKind,
    Origin,
    Row,
    Touched,
)
from gridloom.settlements.period_aggregates import FloatArray, day_sums, encode_aggregates
from gridloom.settlements.rules import NamedAssets, columns_of, deduplicate, drop_executed

DAY_BATCH_SIZE: Final = 4_000
"""Asset-days summed up in one go: bounds the memory of a batch that touches many."""


@dataclass(frozen=True, slots=True)
class RecordedFacts:
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


async def record_settlements(db: Database, kind: FactKind, rows: Sequence[Row], recorder: Recorder) -> RecordedFacts:
    """Record rows in the caller's transaction, all or nothing."""
    columns = await asyncio.to_thread(columns_of, kind, rows)
    return await record_columns(db, kind, columns, recorder)


async def record_columns(db: Database, kind: FactKind, columns: dict[str, Any], recorder: Recorder) -> RecordedFacts:
    """The same for rows that are checked already (see `rules.columns_of`)."""
    named: NamedAssets = columns["asset_id"]
    assets = await read_capabilities(db, named.ids)
    batch = await asyncio.to_thread(_validated_batch, kind, columns, assets, recorder)
    await store.lock_assets(db, batch.asset_keys)
    if kind is WHOLESALE_TRADES and recorder.origin is Origin.TRADER:
        batch = drop_executed(batch, await store.read_executed_by_order(db, batch))
    touched = await store.merge(db, batch, recorder.by, recorder.origin)
    if kind.source in AGGREGATED_SOURCES:
        await recompute(db, kind.source, touched)
    if kind is AFRR_ACTIVATIONS and touched:
        await propagate_activations(db, touched, await platform_now(db))
    await emit_changed(db, touched)
    replaced = sum(change.replaced for change in touched)
    inserted = sum(change.written for change in touched) - replaced
    counts = Counts(
        received=batch.received,
        inserted=inserted,
        replaced=replaced,
        unchanged=batch.received - inserted - replaced,
    )
    return RecordedFacts(counts, tuple(touched))


def _validated_batch(
    kind: FactKind, columns: dict[str, Any], assets: Mapping[UUID, AssetCapability], recorder: Recorder
) -> FactBatch:
    named: NamedAssets = columns["asset_id"]
    if recorder.holder_id is not None:
        reject_others_assets(named, assets, recorder.holder_id)
    batch = deduplicate(kind, columns, {id: asset.key for id, asset in assets.items()})
    if recorder.origin is not Origin.PROVISIONAL:  # a market's result holds, also of a battery that was derated since
        reject_implausible(kind, columns, assets)
    return batch


async def recompute(db: Database, source: FactSource, touched: Sequence[Touched]) -> None:
    """Sum up the touched days anew from their facts; their assets must be locked."""
    places = [(change.asset_key, change.day) for change in touched if change.day is not None]
    for first in range(0, len(places), DAY_BATCH_SIZE):
        part = places[first : first + DAY_BATCH_SIZE]
        await store_aggregates(db, source, [key for key, _ in part], [day for _, day in part])


async def store_aggregates(db: Database, source: FactSource, keys: Sequence[int], days: Sequence[date]) -> None:
    """Put what the facts of these asset-days say in place of what was stored; their assets must be locked."""
    sheets = await store.read_sheets(db, source, keys, days)
    encoded, sums = await asyncio.to_thread(_fold_sheets, source, sheets)
    await store.store_period_aggregates(db, source, keys, days, encoded, sums)


def _fold_sheets(source: FactSource, sheets: Sequence[FloatArray]) -> tuple[list[bytes | None], FloatArray]:
    return [encode_aggregates(source, sheet) for sheet in sheets], day_sums(sheets)


async def emit_changed(db: Database, touched: Sequence[Touched]) -> None:
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
