"""Settled facts and their sums in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

import numpy as np

from gridloom.market_calendar import (
    BLOCKS_PER_DAY,
    PERIOD_S,
    Ints,
    day_starts,
    market_date,
    market_day_number,
    market_day_numbers,
)
from gridloom.platform.database.clock import platform_now_to_the_ms
from gridloom.platform.database.pool import Database
from gridloom.settlements.binary_copy import FLOAT8, INT4, INT8, TEXT, copy_bytes
from gridloom.settlements.measures import AGGREGATED_SOURCES, BLOCK_SOURCES, MEASURES, FactSource, measure_names
from gridloom.settlements.model import FactBatch, FactKind, Origin, Touched
from gridloom.settlements.period_aggregates import FloatArray, scatter
from gridloom.settlements.rules import to_fixed_point
from gridloom.settlements.sql import (
    EDGE_DAYS,
    LOCK_ASSETS,
    STORED_DAYS,
    list_statement,
    merge_statement,
    stage_statement,
    staging_table,
    starts_statement,
    store_daily_sums_statement,
    store_period_aggregates_statement,
    summary_statement,
)


async def asset_keys(db: Database, ids: Sequence[UUID]) -> Mapping[UUID, int]:
    rows = await db.fetch("select id, key from asset where id = any($1::uuid[])", ids)
    return {row["id"]: row["key"] for row in rows}


async def owners(db: Database, keys: Sequence[int]) -> Mapping[int, tuple[UUID, str, UUID]]:
    """By asset key: its public id, its kind and whose it is."""
    rows = await db.fetch("select key, id, kind, organisation_id from asset where key = any($1::int[])", list(keys))
    return {row["key"]: (row["id"], row["kind"], row["organisation_id"]) for row in rows}


async def settled_keys(db: Database, organisation_id: UUID) -> list[int]:
    """The organisation's assets for which something was ever settled."""
    rows = await db.fetch(
        "select a.key from asset a join settled_asset s on s.asset_key = a.key where a.organisation_id = $1 order by 1",
        organisation_id,
    )
    return [row["key"] for row in rows]


async def lock_assets(db: Database, keys: Sequence[int]) -> None:
    """Locks the settlements of these assets until the transaction ends."""
    await db.execute(LOCK_ASSETS, list(keys))


async def read_executed_by_order(db: Database, batch: FactBatch) -> set[tuple[int, int, str, str]]:
    """Of the time of these trades: asset key, start in seconds since 1970, market and stage of what orders executed."""
    if not batch.received:
        return set()
    seconds = batch.columns["period"]
    rows = await db.fetch(
        """select distinct asset_key, extract(epoch from period)::bigint as start_s, market,
                  coalesce(stage, '') as stage
           from wholesale_trade
           where asset_key = any($1::int[]) and period between to_timestamp($2) and to_timestamp($3)
             and trade_id like 'order-%' and volume_mwh > 0""",
        list(batch.asset_keys),
        float(seconds.min()),
        float(seconds.max()),
    )
    return {(row["asset_key"], row["start_s"], row["market"], row["stage"]) for row in rows}


async def merge(db: Database, batch: FactBatch, by: UUID, origin: Origin) -> list[Touched]:
    """Write the batch into its table and answer what that has changed; its assets must be locked."""
    content = await asyncio.to_thread(_stage_batch, batch)
    await db.execute(stage_statement(batch.kind))
    await db.copy_to_table(staging_table(batch.kind), schema_name="pg_temp", source=_Pieces(content), format="binary")
    # A batch fits into memory, and so does most of what is looked up by key; at the usual price PostgreSQL would rather
    # read whole tables.
    await db.execute("set local work_mem = '64MB'; set local random_page_cost = 1.1")
    rows = await db.fetch(merge_statement(batch.kind), by, origin, await platform_now_to_the_ms(db))
    await db.execute(f"drop table pg_temp.{staging_table(batch.kind)}")
    return [Touched(**row) for row in rows]


_FORMS: Final = {"int": INT4, "text": TEXT, "day": INT4, "instant": FLOAT8, "decimal": INT8}


def _stage_batch(batch: FactBatch) -> bytes:
    columns = []
    for column in batch.kind.columns:
        cells = batch.columns[column.name]
        columns.append((_FORMS[column.form], to_fixed_point(cells) if column.form == "decimal" else cells))
    if batch.kind.is_of_a_period:
        columns.append((INT4, market_day_numbers(batch.columns["period"].astype(np.int64))))
    return copy_bytes(columns)


class _Pieces:
    """Bytes as the driver takes them: in pieces, from an asynchronous iterator."""

    SIZE = 1 << 20

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> bytes:
        piece = self._content[self._place : self._place + self.SIZE]
        if not piece:
            raise StopAsyncIteration
        self._place += self.SIZE
        return piece


async def read_sheets(
    db: Database, source: FactSource, keys: Sequence[int], days: Sequence[date], as_of: datetime | None = None
) -> list[FloatArray]:
    """The sheets of these asset-days, summed up from the facts themselves."""
    numbers = np.array([market_day_number(day) for day in days], dtype=np.int64)
    starts, ends = day_starts(numbers), day_starts(numbers + 1)
    statement = summary_statement(source, as_of=as_of is not None)
    indices: dict[int, list[int]] = {}
    for index, key in enumerate(keys):
        indices.setdefault(key, []).append(index)
    found: dict[int, bytes] = {}
    for key, own in indices.items():
        parameters: list[Any] = [key, [days[n] for n in own], starts[own].tolist(), ends[own].tolist()]
        if as_of is not None:
            parameters.append(as_of)
        for row in await db.fetch(statement, *parameters):
            found[own[row["number"]]] = row["records"]
    return await asyncio.to_thread(_scatter_sheets, source, found, _find_widths(source, starts, ends))


async def read_starts(
    db: Database, source: FactSource, keys: Sequence[int], days: Ints, as_of: datetime | None = None
) -> Ints:
    """When the facts of consecutive days start, also those worth nothing, which leave no trace in a sheet."""
    parameters: list[Any] = [list(keys), market_date(int(days[0])), market_date(int(days[-1]) + 1)]
    if as_of is not None:
        parameters.append(as_of)
    rows = await db.fetch(starts_statement(source, as_of=as_of is not None), *parameters)
    return np.array([row[0] for row in rows], dtype=np.int64)


def _scatter_sheets(source: FactSource, found: Mapping[int, bytes], widths: Sequence[int]) -> list[FloatArray]:
    return [scatter(source, found.get(position, b""), width) for position, width in enumerate(widths)]


def _find_widths(source: FactSource, starts: Ints, ends: Ints) -> list[int]:
    if source in BLOCK_SOURCES:
        return [BLOCKS_PER_DAY] * len(starts)
    return ((ends - starts) // PERIOD_S).tolist()  # type: ignore[no-any-return]


async def store_period_aggregates(
    db: Database,
    source: FactSource,
    keys: Sequence[int],
    days: Sequence[date],
    sheets: Sequence[bytes | None],
    sums: FloatArray,
) -> None:
    """Put the sheets and the day's sums in place of those stored before."""
    await db.execute(store_period_aggregates_statement(source), list(keys), list(days), list(sheets))
    now = await platform_now_to_the_ms(db)
    measures = dict(zip(measure_names(source), sums.T.tolist(), strict=True))
    await store_daily_sums_statement(source).execute(db, keys=list(keys), days=list(days), now=now, **measures)


# --- what is kept, as it lies ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SettledAsset:
    """An asset with facts or stored sums, and the days between the first and the last of them."""

    key: int
    id: UUID
    kind: str
    organisation_id: UUID
    first_day: date
    last_day: date

    @property
    def day_count(self) -> int:
        return (self.last_day - self.first_day).days + 1


async def settled_assets(db: Database, ids: Sequence[UUID]) -> list[SettledAsset]:
    """These assets, or all if none is named, as far as anything was ever settled for them."""
    assets = await db.fetch(
        """
        select key, id, kind, organisation_id from asset
        where cardinality($1::uuid[]) = 0 or id = any($1) order by key
        """,
        list(ids),
    )
    settled = []
    for asset in assets:
        edges = await db.fetchrow(EDGE_DAYS, asset["key"])
        if edges is not None and edges["first_day"] is not None:
            settled.append(SettledAsset(**asset, **edges))
    return settled


@dataclass(frozen=True, slots=True)
class StoredDay:
    """The stored aggregates of an asset's market day."""

    sums: FloatArray
    """One a measure."""
    sheets: Mapping[FactSource, bytes | None]


EMPTY_DAY: Final = StoredDay(np.zeros(len(MEASURES)), dict.fromkeys(AGGREGATED_SOURCES))


async def read_stored_days(db: Database, key: int, first: date, last: date) -> dict[date, StoredDay]:
    """The sums and sheets of one asset that lie there, be they right or wrong."""
    rows = await db.fetch(STORED_DAYS, key, first, last)
    count = len(MEASURES)
    return {
        row["day"]: StoredDay(
            np.array([row[1 + n] or 0.0 for n in range(count)]),
            {source: row[1 + count + n] for n, source in enumerate(AGGREGATED_SOURCES)},
        )
        for row in rows
    }


# --- lists -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts a list shows; asset_keys None is everyone's."""

    asset_keys: Sequence[int] | None
    start: datetime | None = None
    end: datetime | None = None
    all_versions: bool = False
    as_of: datetime | None = None


async def list_facts(
    db: Database, kind: FactKind, wanted: FactFilter, after: Sequence[Any] | None, limit: int
) -> Sequence[Any]:
    """Facts by asset, then time or key; at most so many, after a position in that order."""
    statement = list_statement(
        kind,
        of_assets=wanted.asset_keys is not None,
        all_versions=wanted.all_versions,
        as_of=wanted.as_of is not None,
        goes_on=after is not None,
    )
    position = {} if after is None else dict(zip(kind.list_order, after, strict=True))
    return await statement.fetch(db, wanted, limit=limit, **position)


async def read_activated_before(db: Database, asset_key: int, day: date) -> float:
    """The energy of upward aFRR activations on all market days before this one, in MWh."""
    total_mwh: float = await db.fetchval(
        "select coalesce(sum(afrr_pos_volume_mwh), 0) from settled_day where asset_key = $1 and day < $2",
        asset_key,
        day,
    )
    return total_mwh


async def read_activation_sheets(db: Database, asset_key: int, first: date, last: date) -> dict[date, bytes]:
    """By market day, where there was any activation."""
    rows = await db.fetch(
        """
        select day, afrr_energy from settled_periods
        where asset_key = $1 and day between $2 and $3 and afrr_energy is not null
        """,
        asset_key,
        first,
        last,
    )
    return {row["day"]: row["afrr_energy"] for row in rows}


async def read_activations(db: Database, asset_key: int, start: datetime, end: datetime) -> Sequence[Any]:
    """The settled activations of an asset in a window, in MWh."""
    rows: Sequence[Any] = await db.fetch(
        """
        select period, direction, volume_mwh::float8 as volume_mwh from afrr_activation
        where asset_key = $1 and period >= $2 and period < $3
        """,
        asset_key,
        start,
        end,
    )
    return rows


async def read_activations_as_of(
    db: Database, asset_key: int, start: datetime, end: datetime, instant: datetime
) -> Sequence[Any]:
    """The same as they were known at an instant."""
    rows: Sequence[Any] = await db.fetch(
        """
        select period, direction, volume_mwh::float8 as volume_mwh from afrr_activation_version
        where asset_key = $1 and period >= $2 and period < $3
          and recorded_at <= $4 and (superseded_at is null or superseded_at > $4)
        """,
        asset_key,
        start,
        end,
        instant,
    )
    return rows


async def awarded_products(db: Database, asset_id: UUID) -> set[tuple[date, str]]:
    """The delivery days and products for which an asset has an award, settled or provisional."""
    rows = await db.fetch(
        """
        select f.delivery_day, f.product from asset a join fcr_award f on f.asset_key = a.key where a.id = $1
        union
        select f.delivery_day, f.product from asset a join afrr_capacity_award f on f.asset_key = a.key where a.id = $1
        """,
        asset_id,
    )
    return {(row["delivery_day"], row["product"]) for row in rows}


async def read_version_start(db: Database, whats: Sequence[str]) -> tuple[datetime, datetime | None]:
    """The platform's clock, and from when on all of these are kept; None for ever."""
    row = await db.fetchrow(
        "select platform_now() as now, (select max(since) from version_start where what = any($1::text[])) as since",
        list(whats),
    )
    assert row is not None
    return row["now"], row["since"]
