"""The SQL of a change of schedules: what it is validated against, read by the statement that locks its asset, and the
version that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar
from uuid import UUID

import asyncpg
import msgspec
import numpy as np
from msgspec import Struct, structs

from gridloom.capacity.capacity_json_store import (
    BATTERY_CAPACITY_JSON,
    decode_battery_capacity,
    read_capacity_json,
)
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.copying import copy_fields
from gridloom.kernel.ids import BlockID
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import DAYS_PER_SUMMARY_ROW, PERIODS_PER_DAY, first_period_of_utc_day
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, is_distributed
from gridloom.platform.database.statement import NamedStatement, compose, format_float8_array, format_int_array
from gridloom.virtual_assets.backing.availability import AvailableFraction, available_fraction
from gridloom.virtual_assets.energy.trajectory import DaySummaries
from gridloom.virtual_assets.model import Author, Block, LockedAsset, Market, VersionKind, VirtualAsset
from gridloom.virtual_assets.schedule.change.draft import Draft
from gridloom.virtual_assets.schedule.store import DayPowers, LaneChange, powers_of_rows, summaries_of_rows
from gridloom.virtual_assets.store import MUTABLE_COLUMNS, lock_virtual_asset, refresh_asset

R = TypeVar("R")
_decode_blocks = msgspec.json.Decoder(list[tuple[BlockID, int, int, int, Market, float, float, float]]).decode
SHORT_TEXT: Final = 2048


class ScheduleContext(Struct, frozen=True, eq=False):
    """The blocks, schedules and summaries of an asset, and the capacity of its batteries, at one instant.

    `powers` has the days that were asked for. `now` is the platform's clock at that instant.
    """

    now: datetime
    blocks: Sequence[Block]
    powers: DayPowers
    summaries: DaySummaries
    batteries: Mapping[int, BatteryCapacity]

    @property
    def has_reserves(self) -> bool:
        """Whether the asset has blocks of balancing capacity, which narrow the bounds of its energy."""
        return any(block.market is not Market.WHOLESALE for block in self.blocks)

    def available(self, asset: VirtualAsset, first: int) -> AvailableFraction:
        """In the periods [first, end of life); `first` is not before the periods that can still be cut."""
        return available_fraction(asset.promises, self.batteries, first, asset.end)


# Each kind of row as one list of lists, or its numbers one after the other: what is sent between the nodes of a
# distributed database has no whole rows.
_BLOCKS: Final = """
   select json_agg(json_build_array(b.id, b.lane, b.first_period, b.end_period, b.market, b.charge_kw, b.discharge_kw,
                                    b.reserve_minutes))::text
   from virtual_block b where b.asset_key = :asset_key and b.until_version is null"""
_DAYS: Final = """
   select string_agg(array_send(array[s.day, s.lane]::float8[] || s.power_kw), ''::bytea)
   from virtual_schedule s where s.asset_key = :asset_key and s.day = any(:days::int[])"""
_SPANS: Final = """
   select string_agg(array_send(e.span::float8 || e.change_kwh || e.lowest_kwh || e.highest_kwh || e.exported_kwh),
                     ''::bytea)
   from virtual_energy e where e.asset_key = :asset_key"""
_PARTS = compose(
    "({blocks}) as blocks, ({days}) as days, ({spans}) as spans, {battery_capacity_json} as batteries",
    blocks=_BLOCKS,
    days=_DAYS,
    spans=_SPANS,
    battery_capacity_json=BATTERY_CAPACITY_JSON,
)
# On a distributed database: all of it that lies on the asset's shard. The batteries lie on others, and are read after.
_READ_SHARD: Final = "select read_schedule_shard($1, $2, $3, $4)"


class _ShardRow(Struct, frozen=True):
    """The part of a context that lies on the shard of the asset."""

    blocks: str | None
    days: bytes | None
    spans: bytes | None


_decode_shard_row = msgspec.json.Decoder(_ShardRow).decode

# The row is read as the lock found it, the clock after it was locked, and all else as it was when the statement began.
_LOCK_WITH_CONTEXT = NamedStatement(
    """
with v as materialized (
  select * from virtual_asset where asset_key = :asset_key for no key update
), clock as materialized (select platform_now() as now from v)
select clock.now, seen.revision = v.revision as is_current, {mutable_columns}, {parts}
from clock, v join asset a on a.key = v.asset_key join virtual_asset seen on seen.asset_key = v.asset_key
where v.asset_key = :asset_key and a.id = :asset_id and v.organisation_id = :organisation_id
""",
    mutable_columns=MUTABLE_COLUMNS,
    parts=_PARTS,
)


async def lock_with_context(
    db: Database, organisation_id: UUID, known: VirtualAsset, days: Sequence[int]
) -> tuple[LockedAsset, ScheduleContext] | None:
    """Lock the asset until the transaction ends, and read the context of a change of these days; None if it is gone.

    `known` is the asset as this process has read it before. Its `judged_until` only ever grows, so the batteries are
    read for all periods that matter.
    """
    if is_distributed(db):
        asset = await lock_virtual_asset(db, organisation_id, known.id)
        return None if asset is None else (asset, await _read_context_by_shards(db, asset, days))
    own = {"asset_key": known.key, "days": days, "asset_id": known.id, "organisation_id": organisation_id}
    arguments = _LOCK_WITH_CONTEXT.arguments(own | _battery_query(known, days))
    row = await db.fetchrow(_LOCK_WITH_CONTEXT.text, *arguments)
    if row is not None and not row["is_current"]:  # it was changed by the transaction that held the lock before
        row = await db.fetchrow(_LOCK_WITH_CONTEXT.text, *arguments)
    if row is None:
        return None
    asset = copy_fields(LockedAsset, refresh_asset(row, known))
    return asset, _read_context_row(asset, row)


async def _read_context_by_shards(db: Database, asset: LockedAsset, days: Sequence[int]) -> ScheduleContext:
    text = await db.fetchval(_READ_SHARD, asset.key, asset.organisation_id, asset.created_at, days)
    assert text is not None, "a locked asset exists"
    query = _battery_query(asset, days)
    batteries = await read_capacity_json(db, query["batteries"], query)
    row = structs.asdict(_decode_shard_row(text))
    return _read_context_row(asset, {**row, "now": await platform_now(db), "batteries": batteries})


def _battery_query(asset: VirtualAsset, days: Sequence[int]) -> dict[str, Any]:
    """The batteries of the asset, and the periods in which their capacity matters to a change of these days."""
    first = max(asset.first, asset.judged_until or 0)
    if days:
        first = max(asset.first, min(first, first_period_of_utc_day(days[0])))
    return {
        "batteries": [promise.physical_asset_key for promise in asset.promises],
        "from_instant": period_start(first),
        "to_instant": period_start(asset.end),
        "from_period": first,
        "to_period": asset.end,
    }


def _read_context_row(asset: VirtualAsset, row: asyncpg.Record | Mapping[str, Any]) -> ScheduleContext:
    return ScheduleContext(
        now=row["now"],
        blocks=_decode_cached(_read_blocks, row["blocks"]),
        powers=powers_of_rows(row["days"]),
        summaries=summaries_of_rows(asset, row["spans"]),
        batteries=_decode_cached(
            decode_battery_capacity, row["batteries"], *(promise.physical_asset_key for promise in asset.promises)
        ),
    )


def _read_blocks(text: str) -> Sequence[Block]:
    blocks = (Block(*values) for values in _decode_blocks(text))
    return tuple(sorted(blocks, key=lambda block: (block.first, block.lane)))


def _decode_cached(read: Callable[..., R], text: str | None, *more: int) -> R:
    """A decoded JSON text. Blocks and batteries change far less often than schedules, so short texts are cached."""
    if text is None or len(text) > SHORT_TEXT:
        return read(text or "[]", *more)
    decoded: R = _decode_short_text(read, text, *more)
    return decoded


@lru_cache(maxsize=2048)
def _decode_short_text(read: Callable[..., R], text: str, *more: int) -> R:
    return read(text, *more)


# Days, the summaries of their spans, the powers that were set and the version, in one statement. Each array of a row is
# sent as text, so that the columns of rows are plain lists.
_WRITE_VERSION = NamedStatement("""
with next as (
  update virtual_asset set version = version + 1, end_kwh = :end_kwh, revision = revision + 1
  where asset_key = :asset_key returning version
), day as (
  insert into virtual_schedule (asset_key, lane, day, power_kw)
  select :asset_key, d.lane, d.day, d.power_kw::float8[]
  from unnest(:day_lanes::int[], :days::int[], :day_powers_kw::text[]) d(lane, day, power_kw)
  on conflict (asset_key, day, lane) do update set power_kw = excluded.power_kw
), span as (
  insert into virtual_energy (asset_key, span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
  select :asset_key, s.span, s.change_kwh::float8[], s.lowest_kwh::float8[], s.highest_kwh::float8[],
         s.exported_kwh::float8[]
  from unnest(:spans::int[], :changes_kwh::text[], :lowest_kwh::text[], :highest_kwh::text[], :exported_kwh::text[])
    s(span, change_kwh, lowest_kwh, highest_kwh, exported_kwh)
  on conflict (asset_key, span) do update
    set change_kwh = excluded.change_kwh, lowest_kwh = excluded.lowest_kwh,
        highest_kwh = excluded.highest_kwh, exported_kwh = excluded.exported_kwh
), change as (
  insert into schedule_change (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
  select :asset_key, next.version, c.lane, c.first_period, c.end_period, c.run_first::int[], c.run_length::int[],
         c.power_kw::float8[]
  from next, unnest(:lanes::int[], :first_periods::int[], :end_periods::int[], :runs_first::text[],
                    :runs_length::text[], :set_powers_kw::text[])
    c(lane, first_period, end_period, run_first, run_length, power_kw)
), made as (
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  select :asset_key, max(next.version), :kind, :accepted_at::timestamptz, :author_kind, :author_id::uuid,
         :block_id::uuid
  from next
  returning version
)
select version from made
""")


# Consecutive periods on one lane of a day that has a row, on a distributed database: one command to the asset's shard.
_WRITE_ON_SHARD = NamedStatement("""
select write_schedule_interval(:asset_key, :version, :revision, :end_kwh, :day, :lane, :first_slot, :last_slot,
  :power_kw, :span, :index, :change_kwh, :lowest_kwh, :highest_kwh, :exported_kwh, :first_period,
  :length, :kind, :accepted_at, :author_kind, :author_id, :block_id)
""")


async def write_version(
    db: Database,
    asset: LockedAsset,
    draft: Draft,
    kind: VersionKind,
    author: Author,
    block_id: BlockID | None,
    accepted_at: datetime,
) -> int:
    """Write the days of the draft, their summaries and the next version, whose number is the answer."""
    values: dict[str, object] = {
        "asset_key": asset.key,
        "end_kwh": draft.end_kwh,
        "kind": kind.value,
        "accepted_at": accepted_at,
        "author_kind": author.kind,
        "author_id": author.id,
        "block_id": block_id,
    }
    interval = _find_interval(draft) if is_distributed(db) else None
    if interval is None:
        values |= _day_columns(draft) | _span_columns(asset, draft.after, draft.days) | _change_columns(draft.changes)
        await _WRITE_VERSION.execute(db, **values)
    else:
        values |= _interval_values(asset, draft.after, draft.days[0], *interval)
        values |= {"version": asset.version, "revision": asset.revision}
        assert await _WRITE_ON_SHARD.fetchval_part(db, values), "a locked asset has the version that was read"
    return asset.version + 1


def _find_interval(draft: Draft) -> tuple[int, LaneChange] | None:
    """The lane and its change, if the draft sets consecutive periods of one lane on a day that has a row."""
    if not draft.is_of_known_row:
        return None
    [(lane, change)] = draft.changes.items()
    return (lane, change) if change.is_contiguous else None


def _interval_values(
    asset: VirtualAsset, summaries: DaySummaries, day: int, lane: int, change: LaneChange
) -> dict[str, object]:
    """The powers of consecutive periods of a day, and the day's summary."""
    first, length = int(change.periods[0]), len(change.periods)
    span, index = divmod(day, DAYS_PER_SUMMARY_ROW)
    change_kwh, lowest_kwh, highest_kwh, exported_kwh = summaries.rows_kwh[:, day - asset.first_day].tolist()
    first_slot = first % PERIODS_PER_DAY + 1
    return {
        "day": day,
        "lane": lane,
        "first_slot": first_slot,
        "last_slot": first_slot + length - 1,
        "power_kw": format_float8_array(change.power_kw),
        "span": span,
        "index": index + 1,
        "change_kwh": change_kwh,
        "lowest_kwh": lowest_kwh,
        "highest_kwh": highest_kwh,
        "exported_kwh": exported_kwh,
        "first_period": first,
        "length": length,
    }


def _day_columns(draft: Draft) -> dict[str, object]:
    """The lane, the day and the 96 powers of each row."""
    return {
        "day_lanes": [lane for lane in draft.lanes_kw for _ in draft.days],
        "days": draft.days * len(draft.lanes_kw),
        "day_powers_kw": [format_float8_array(row_kw) for rows_kw in draft.lanes_kw.values() for row_kw in rows_kw],
    }


def _span_columns(asset: VirtualAsset, summaries: DaySummaries, days: Sequence[int]) -> dict[str, object]:
    """The spans in which these days lie, and the four rows of summaries in each."""
    spans = sorted({day // DAYS_PER_SUMMARY_ROW for day in days})
    rows_kwh = np.zeros((4, len(spans), DAYS_PER_SUMMARY_ROW))
    for row, span in enumerate(spans):
        index = span * DAYS_PER_SUMMARY_ROW - asset.first_day
        start, end = max(0, index), min(len(summaries), index + DAYS_PER_SUMMARY_ROW)
        rows_kwh[:, row, start - index : end - index] = summaries.rows_kwh[:, start:end]
    changes, lowest, highest, exported = ([format_float8_array(row_kwh) for row_kwh in rows] for rows in rows_kwh)
    return {
        "spans": spans,
        "changes_kwh": changes,
        "lowest_kwh": lowest,
        "highest_kwh": highest,
        "exported_kwh": exported,
    }


def _change_columns(changes: Mapping[int, LaneChange]) -> dict[str, object]:
    """The periods and powers that were set on each lane."""
    intervals = [change.intervals() for change in changes.values()]
    return {
        "lanes": list(changes),
        "first_periods": [firsts[0] for firsts, _ in intervals],
        "end_periods": [firsts[-1] + lengths[-1] for firsts, lengths in intervals],
        "runs_first": [format_int_array(firsts) for firsts, _ in intervals],
        "runs_length": [format_int_array(lengths) for _, lengths in intervals],
        "set_powers_kw": [format_float8_array(change.power_kw) for change in changes.values()],
    }


async def add_first_version(db: Database, asset: LockedAsset, author: Author, block_id: BlockID) -> None:
    await db.execute(
        """insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
           values ($1, 1, 'ALLOCATION', $2, $3, $4, $5)""",
        asset.key,
        asset.created_at,
        author.kind,
        author.id,
        block_id,
    )
