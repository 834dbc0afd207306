"""Adjustments and the schedule's history as tables: a row for each quarter-hour."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import PERIOD_MS, Ints
from gridloom.platform.database.pool import Pool
from gridloom.platform.http import Page, Stream
from gridloom.platform.http.paging import next_link
from gridloom.platform.http.tables import TIME, stream_table
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.history import store as history_store
from gridloom.virtual_assets.history.store import StoredChange
from gridloom.virtual_assets.model import Adjustment, Block, ScheduleVersion, VirtualAsset

ADJUSTMENTS = pa.schema(
    [
        ("timestamp", TIME),
        ("acceptedSchedule", pa.float64()),
        ("adjustedSchedule", pa.float64()),
        ("reason", pa.string()),
    ]
)
VERSIONS = pa.schema(
    [
        ("version", pa.int32()),
        ("kind", pa.string()),
        ("acceptedAt", TIME),
        ("authorKind", pa.string()),
        ("authorID", pa.string()),
        ("blockID", pa.string()),
        ("time", TIME),
        ("power", pa.float64()),
    ]
)


def changes_by_block(change: StoredChange, blocks: Sequence[Block]) -> Iterator[tuple[Block, Ints, slice]]:
    """A lane's change split by the blocks on it: the periods set on each, and the slice of their powers."""
    periods = change.periods()
    for block in blocks:
        if block.lane != change.lane:
            continue
        low, high = np.searchsorted(periods, (block.first, block.end)).tolist()
        if low < high:
            yield block, periods[low:high], slice(low, high)


def adjustments_table(media_type: str, target: str, page: Page[Adjustment]) -> Stream:
    """The same page as JSON."""

    async def batches() -> AsyncIterator[pa.RecordBatch]:
        yield pa.record_batch(
            [
                pa.array([period_start(one.period) for one in page.items], TIME),
                pa.array([one.accepted_kw for one in page.items], pa.float64()),
                pa.array([one.adjusted_kw for one in page.items], pa.float64()),
                pa.array([one.reason.value for one in page.items], pa.string()),
            ],
            schema=ADJUSTMENTS,
        )

    return _link_page(stream_table(media_type, ADJUSTMENTS, batches(), file_name="adjustments"), target, page)


def history_table(pool: Pool, media_type: str, target: str, asset: VirtualAsset, page: Page[ScheduleVersion]) -> Stream:
    """The versions of the page with all periods that each has set; one row if it has set none.

    Versions never change, so they are read while they are sent.
    """

    async def batches() -> AsyncIterator[pa.RecordBatch]:
        for version in page.items:
            changes = await history_store.read_changes(pool, asset.key, [version.version])
            blocks = await block_store.read_blocks(pool, asset.key, version.version) if changes else ()
            yield _version_batch(version, changes, blocks)

    return _link_page(stream_table(media_type, VERSIONS, batches(), file_name="schedule-history"), target, page)


def _version_batch(
    version: ScheduleVersion, changes: Sequence[StoredChange], blocks: Sequence[Block]
) -> pa.RecordBatch:
    block_ids: list[str | None] = []
    times_ms: list[int | None] = []
    powers_kw: list[float | None] = []
    for change in changes:
        for block, periods, indices in changes_by_block(change, blocks):
            block_ids += [str(block.id)] * len(periods)
            times_ms += (periods * PERIOD_MS).tolist()
            powers_kw += (change.power_kw or [])[indices]
    if not block_ids:
        block_ids, times_ms, powers_kw = [None if version.block_id is None else str(version.block_id)], [None], [None]
    count = len(block_ids)
    author_id = None if version.author.id is None else str(version.author.id)
    return pa.record_batch(
        [
            pa.array([version.version] * count, pa.int32()),
            pa.array([version.kind.value] * count, pa.string()),
            pa.array([version.accepted_at] * count, TIME),
            pa.array([version.author.kind] * count, pa.string()),
            pa.array([author_id] * count, pa.string()),
            pa.array(block_ids, pa.string()),
            pa.array(times_ms, pa.int64()).cast(TIME),
            pa.array(powers_kw, pa.float64()),
        ],
        schema=VERSIONS,
    )


def _link_page(table: Stream, target: str, page: Page[Adjustment] | Page[ScheduleVersion]) -> Stream:
    """The table with the link to its next page, as for JSON."""
    if page.next_cursor is None:
        return table
    return replace(table, headers={**table.headers, "Link": next_link(target, page.next_cursor)})
