"""An asset's head, its dictionary of signals, and appending segments under its lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

import asyncpg

from gridloom.database.pool import Database

CHANNEL = "telemetry"


@dataclass(frozen=True, slots=True)
class Head:
    """An asset's telemetry as a whole; the writer holds its lock."""

    asset_key: int
    born: UUID
    sequence: int
    signal_count: int
    latest: bytes
    is_watched: bool


@dataclass(frozen=True, slots=True)
class NewSegment:
    asset_key: int
    sequence: int
    day: date
    points: int
    body: bytes


async def lock_heads(db: Database, asset_keys: Sequence[int]) -> dict[int, Head]:
    """Take the next sequence of each asset; its other writers wait until this transaction ends.

    Sorted, so that two requests with the same assets never wait for each other.
    """
    rows = await db.fetch(
        """
        with held as (
          insert into telemetry_head as head (asset_key, sequence) select unnest($1::int[]), 1
          on conflict (asset_key) do update set sequence = head.sequence + 1
          returning asset_key, born, sequence, signal_count, latest, watched_until
        )
        select asset_key, born, sequence, signal_count, latest,
               coalesce(watched_until > clock_timestamp(), false) as is_watched
        from held
        """,
        sorted(asset_keys),
    )
    return {row["asset_key"]: _read_head(row) for row in rows}


def _read_head(row: asyncpg.Record) -> Head:
    return Head(**row)


async def signal_ids(db: Database, asset_key: int) -> dict[str, int]:
    rows = await db.fetch("select name, signal_id from telemetry_signal where asset_key = $1", asset_key)
    return {row["name"]: row["signal_id"] for row in rows}


async def add_signals(db: Database, asset_key: int, names: Mapping[str, int]) -> None:
    """Under the head's lock, so ids are given once and without gaps."""
    await db.execute(
        """
        with added as (
          insert into telemetry_signal (asset_key, signal_id, name)
          select $1, * from unnest($2::smallint[], $3::text[])
        ), counted as (
          update telemetry_head set signal_count = signal_count + cardinality($2::smallint[]) where asset_key = $1
        )
        select 1
        """,
        asset_key, list(names.values()), list(names),
    )  # fmt: skip


async def append(db: Database, segments: Sequence[NewSegment], latest: Mapping[int, bytes]) -> None:
    """The new segments of all assets of a request, and each asset's latest points."""
    await db.execute(
        """
        with moved as (
          update telemetry_head head set latest = new.latest
          from unnest($6::int[], $7::bytea[]) as new (asset_key, latest)
          where head.asset_key = new.asset_key
        ), added as (
          insert into telemetry_segment (asset_key, sequence, day, points, body)
          select * from unnest($1::int[], $2::bigint[], $3::date[], $4::int[], $5::bytea[])
        )
        select 1
        """,
        [segment.asset_key for segment in segments],
        [segment.sequence for segment in segments],
        [segment.day for segment in segments],
        [segment.points for segment in segments],
        [segment.body for segment in segments],
        list(latest.keys()),
        list(latest.values()),
    )


async def notify(db: Database, asset_keys: Sequence[int]) -> None:
    """Notifying commits wait for each other, so only what is watched is told."""
    await db.execute("select pg_notify($1, key::text) from unnest($2::int[]) as key", CHANNEL, list(asset_keys))


async def find_head(db: Database, asset_key: int) -> Head | None:
    row = await db.fetchrow(
        """
        select asset_key, born, sequence, signal_count, latest,
               coalesce(watched_until > clock_timestamp(), false) as is_watched
        from telemetry_head where asset_key = $1
        """,
        asset_key,
    )
    return None if row is None else _read_head(row)


async def watch(db: Database, asset_key: int, lease: timedelta) -> Head:
    """Have writers notify for a while."""
    row = await db.fetchrow(
        """
        insert into telemetry_head as head (asset_key, watched_until) values ($1, clock_timestamp() + $2::interval)
        on conflict (asset_key) do update set watched_until = greatest(head.watched_until, excluded.watched_until)
        returning asset_key, born, sequence, signal_count, latest, true as is_watched
        """,
        asset_key, lease,
    )  # fmt: skip
    assert row is not None
    return _read_head(row)
