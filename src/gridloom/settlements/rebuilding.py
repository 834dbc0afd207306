"""Making the stored sums anew from the facts, and saying what differed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np

from gridloom.kernel.market_time import market_day_window
from gridloom.market_calendar import market_date, market_day_number
from gridloom.platform.audit.model import Actor, NewAuditRecord
from gridloom.platform.audit.recording import insert_entry
from gridloom.platform.database.pool import Database, Pool, repeatable_read
from gridloom.settlements import store
from gridloom.settlements.measures import AGGREGATED_SOURCES, MEASURES, FactSource, positions_of
from gridloom.settlements.model import Touched
from gridloom.settlements.period_aggregates import FloatArray, day_sums, encode_aggregates, readable_sheet
from gridloom.settlements.recording import emit_changed, store_aggregates
from gridloom.settlements.store import EMPTY_DAY, SettledAsset, StoredDay

DAY_BATCH_SIZE: Final = 100
"""Settlements of an asset wait while a part of its days is repaired: milliseconds, not a minute."""
MAX_SHOWN: Final = 1_000
"""Differences that are listed one by one; beyond, they are counted."""
RELATIVE_TOLERANCE: Final = 1e-12
"""Of a day's sum: another order of adding up moves the last digits of a double, and no payment."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure whose stored value is not what the facts say.

    differing: in how many periods or blocks of the day; None where it is the sum of the day.
    stored: over the day; None for what cannot be read at all.
    """

    asset_id: UUID
    day: date
    measure: str
    differing: int | None
    stored: float | None
    from_facts: float


_Found: TypeAlias = tuple[Difference, FactSource]


@dataclass(slots=True)
class RebuildReport:
    """Findings so far, over all assets; `differences` are the first of them."""

    total_days: int
    compared_days: int = 0
    differing_days: int = 0
    differences: list[Difference] = field(default_factory=list)

    def add(self, days: Sequence[date], found: Sequence[_Found]) -> None:
        self.compared_days += len(days)
        self.differing_days += len({one.day for one, _ in found})
        self.differences += [one for one, _ in found[: MAX_SHOWN - len(self.differences)]]


class UnknownAssets(Exception):
    """Assets are named that do not exist."""


async def rebuild(
    pool: Pool, asset_ids: Sequence[UUID], *, only_check: bool, watch: Callable[[RebuildReport], None] | None = None
) -> RebuildReport:
    """Compare the aggregates of these assets, or of all, with their facts and, unless only asked to check, repair them.

    Comparing takes no lock: facts and sums change in one transaction, so a snapshot sees either both or none. What
    differs is compared again and repaired under the lock that settlements take.
    """
    assets = await store.settled_assets(pool, asset_ids)
    unknown = set(asset_ids) - set(await store.asset_keys(pool, asset_ids))
    if unknown:
        raise UnknownAssets(f"There is no asset {', '.join(sorted(map(str, unknown)))}.")
    outcome = RebuildReport(sum(asset.day_count for asset in assets))
    for asset in assets:
        for days in _split_days(asset):
            async with repeatable_read(pool) as snapshot:
                found = await _compare_days(snapshot, asset, days)
            if found and not only_check:
                found = await _repair_days(pool, asset, days)
            outcome.add(days, found)
            if watch is not None:
                watch(outcome)
    return outcome


def _split_days(asset: SettledAsset) -> Iterator[list[date]]:
    first = market_day_number(asset.first_day)
    for start in range(first, first + asset.day_count, DAY_BATCH_SIZE):
        end = min(start + DAY_BATCH_SIZE, first + asset.day_count)
        yield [market_date(number) for number in range(start, end)]


async def _compare_days(db: Database, asset: SettledAsset, days: Sequence[date]) -> list[_Found]:
    stored = await store.read_stored_days(db, asset.key, days[0], days[-1])
    found: list[_Found] = []
    for source in AGGREGATED_SOURCES:
        sheets = await store.read_sheets(db, source, [asset.key] * len(days), days)
        found += await asyncio.to_thread(_find_differences, asset, source, days, stored, sheets)
    return found


async def _repair_days(pool: Pool, asset: SettledAsset, days: Sequence[date]) -> list[_Found]:
    async with pool.acquire() as db, db.transaction():
        await store.lock_assets(db, [asset.key])
        found = await _compare_days(db, asset, days)
        for source in AGGREGATED_SOURCES:
            wrong = sorted({one.day for one, of in found if of is source})
            if wrong:
                await store_aggregates(db, source, [asset.key] * len(wrong), wrong)
        if found:
            repaired = sorted({one.day for one, _ in found})
            await emit_changed(db, [_make_touched(asset.key, day) for day in repaired])
            await insert_entry(db, _write_entry(asset, repaired))
        return found


def _make_touched(asset_key: int, day: date) -> Touched:
    window = market_day_window(day)
    return Touched(asset_key, day, window.start, window.end, 0, 0)


def _write_entry(asset: SettledAsset, days: Sequence[date]) -> NewAuditRecord:
    return NewAuditRecord(
        actor=Actor("SYSTEM", name="command line"),
        action="rebuildRevenue",
        method="POST",
        resource=f"{asset.kind.lower()}-assets/{asset.id}",
        status=200,
        subject_organisation_id=asset.organisation_id,
        address=None,
        request_id=None,
        details={"days": len(days), "first": str(days[0]), "last": str(days[-1])},
    )


def _find_differences(
    asset: SettledAsset,
    source: FactSource,
    days: Sequence[date],
    stored: Mapping[date, StoredDay],
    sheets: Sequence[FloatArray],
) -> list[_Found]:
    names = [measure.name for measure in MEASURES if measure.source is source]
    there = [stored.get(day, EMPTY_DAY) for day in days]
    stored_sums = np.array([one.sums[positions_of(source)] for one in there])
    sums = day_sums(sheets)
    is_right = np.isclose(stored_sums, sums, rtol=RELATIVE_TOLERANCE, atol=0)
    found: list[_Found] = []
    for position, (day, sheet) in enumerate(zip(days, sheets, strict=True)):
        differing, sheet_sums = _count_differing(source, there[position].sheets[source], sheet)
        for n, name in enumerate(names):
            value = float(sums[position, n])
            if differing[n]:
                stored_value = None if sheet_sums is None else float(sheet_sums[n])
                found.append((Difference(asset.id, day, name, int(differing[n]), stored_value, value), source))
            if not is_right[position, n]:
                found.append((Difference(asset.id, day, name, None, float(stored_sums[position, n]), value), source))
    return found


def _count_differing(
    source: FactSource, body: bytes | None, sheet: FloatArray
) -> tuple[Sequence[int], FloatArray | None]:
    """In how many periods or blocks each measure differs, and what the stored ones sum up to, if they can be read."""
    count, width = sheet.shape
    if body == encode_aggregates(source, sheet):
        return [0] * count, None
    stored = readable_sheet(source, body, width)
    if stored is None:
        return [width] * count, None
    return (stored != sheet).sum(axis=1).tolist(), stored.sum(axis=1)
