"""An asset's head, its dictionary of signals, and appending segments under its lock."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

from gridloom.platform.database.pool import Database, is_distributed
from gridloom.platform.database.statement import NamedStatement

CHANNEL = "telemetry"
MAX_CACHED_ASSETS = 20_000
MAX_CACHED_LATEST = 2048
"""Bytes of the latest points of a head that is cached: 128 signals."""


@dataclass(frozen=True, slots=True)
class Head:
    """An asset's telemetry as a whole; the writer holds its lock."""

    asset_key: int
    born: UUID
    sequence: int
    signal_count: int
    latest: bytes
    watched_until: datetime | None


@dataclass(frozen=True, slots=True)
class NewSegment:
    asset_key: int
    sequence: int
    day: date
    points: int
    body: bytes


_LOCK_HEAD = """
    insert into telemetry_head as head (asset_key, sequence) values ($1, 1)
    on conflict (asset_key) do update set sequence = head.sequence + 1
    returning asset_key, born, sequence, signal_count, latest, watched_until
"""


async def lock_heads(db: Database, asset_keys: Sequence[int]) -> dict[int, Head]:
    """Take the next sequence of each asset; its other writers wait until this transaction ends.

    Sorted, so that two requests with the same assets never wait for each other. A statement for each, so that a
    request of one asset takes part on one shard alone.
    """
    if len(asset_keys) == 1:
        rows = await db.fetch(_LOCK_HEAD, asset_keys[0])
    else:
        rows = await db.fetchmany(_LOCK_HEAD, [(asset_key,) for asset_key in sorted(asset_keys)])
    return {row["asset_key"]: Head(**row) for row in rows}


_APPEND_NEXT = NamedStatement("""
    with moved as (
      update telemetry_head set sequence = sequence + 1, latest = :new_latest
      where asset_key = :asset_key and born = :born and sequence = :sequence and signal_count = :signal_count
        and latest = :latest
      returning watched_until
    ), added as (
      insert into telemetry_segment (asset_key, sequence, day, points, body)
      select :asset_key, :sequence + 1, :day, :points, :body from moved
    )
    select true as is_appended, watched_until from moved
""")
_APPEND_NEXT_ON_SHARD = NamedStatement("""
    select is_appended, watched_until
    from append_telemetry(:asset_key, :born, :sequence, :signal_count, :latest, :new_latest, :day, :points, :body)
""")


async def append_next(db: Database, head: Head, segment: NewSegment, latest: bytes) -> Head | None:
    """Append a segment to the head as it was known, by one statement; the head that is then.

    None, and nothing written, if it has changed. All of it is compared, not its sequence alone: after a standby that
    lagged was promoted, the same sequence may mean other points.
    """
    statement = _APPEND_NEXT_ON_SHARD if is_distributed(db) else _APPEND_NEXT
    rows = await statement.fetch(db, head, new_latest=latest, day=segment.day, points=segment.points, body=segment.body)
    if not rows or not rows[0]["is_appended"]:
        return None
    return replace(head, sequence=head.sequence + 1, latest=latest, watched_until=rows[0]["watched_until"])


class HeadCache:
    """The heads of a bounded number of assets, as this process left them, and whether it is their only writer."""

    def __init__(self) -> None:
        self._heads: dict[int, tuple[Head, bool]] = {}

    def find(self, asset_key: int) -> Head | None:
        head, is_only_writer = self._heads.get(asset_key, (None, False))
        return head if is_only_writer else None

    def put(self, head: Head) -> None:
        """After a commit. Two writes in a row by this process make it the only writer."""
        before, _ = self._heads.pop(head.asset_key, (None, False))
        if len(self._heads) >= MAX_CACHED_ASSETS:
            self._heads.clear()
        if len(head.latest) <= MAX_CACHED_LATEST:
            is_next = before is not None and (before.born, before.sequence + 1) == (head.born, head.sequence)
            self._heads[head.asset_key] = head, is_next

    def drop(self, asset_key: int) -> None:
        self._heads.pop(asset_key, None)


async def signal_ids(db: Database, asset_key: int) -> dict[str, int]:
    rows = await db.fetch("select name, signal_id from telemetry_signal where asset_key = $1", asset_key)
    return {row["name"]: row["signal_id"] for row in rows}


class SignalIdCache:
    """The names of a bounded number of assets with their ids, which never change.

    The key is something that never means another asset: a UUID, or an asset's key with the birth of its telemetry.
    """

    def __init__(self) -> None:
        self._ids: dict[Hashable, dict[str, int]] = {}

    def find(self, key: Hashable) -> dict[str, int]:
        return self._ids.get(key, {})

    def put(self, key: Hashable, ids: dict[str, int]) -> None:
        if len(self._ids) >= MAX_CACHED_ASSETS:
            self._ids.clear()
        self._ids[key] = ids

    async def read(self, db: Database, asset_id: UUID, asset_key: int, names: tuple[str, ...] | None) -> dict[str, int]:
        """The ids of the asset's signals; from the cache alone where that has all the names asked for."""
        ids = self.find(asset_id)
        if names is None or any(name not in ids for name in names):
            ids = await signal_ids(db, asset_key)
            self.put(asset_id, ids)
        return ids


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


_APPEND_SEGMENT = """
    insert into telemetry_segment (asset_key, sequence, day, points, body) values ($1, $2, $3, $4, $5)
"""
_APPEND_FIRST_SEGMENT = """
    with moved as (update telemetry_head set latest = $6 where asset_key = $1),
      added as (insert into telemetry_segment (asset_key, sequence, day, points, body) values ($1, $2, $3, $4, $5))
    select 1
"""
_MOVE_LATEST = "update telemetry_head set latest = $2 where asset_key = $1"


async def append(db: Database, segments: Sequence[NewSegment], latest: Mapping[int, bytes]) -> None:
    """The new segments of all assets of a request, and each asset's latest points with its first."""
    first: list[tuple[object, ...]] = []
    more: list[tuple[object, ...]] = []
    seen: set[int] = set()
    for segment in segments:
        row = (segment.asset_key, segment.sequence, segment.day, segment.points, segment.body)
        if segment.asset_key in seen:
            more.append(row)
        else:
            seen.add(segment.asset_key)
            first.append((*row, latest[segment.asset_key]))
    if is_distributed(db):  # it plans each of these once, and both together every time
        await db.executemany(_MOVE_LATEST, latest.items())
        await db.executemany(_APPEND_SEGMENT, [row[:-1] for row in first])
    elif len(first) == 1:
        await db.execute(_APPEND_FIRST_SEGMENT, *first[0])
    else:
        await db.executemany(_APPEND_FIRST_SEGMENT, first)
    if more:
        await db.executemany(_APPEND_SEGMENT, more)


async def delete_segments(db: Database, asset_key: int, gone: Sequence[tuple[date, int]]) -> None:
    """Segments of which later ones hold every point."""
    await db.execute(
        """
        delete from telemetry_segment
        where asset_key = $1 and (day, sequence) in (select * from unnest($2::date[], $3::bigint[]))
        """,
        asset_key, [day for day, _ in gone], [sequence for _, sequence in gone],
    )  # fmt: skip


async def notify(db: Database, watched: Mapping[int, datetime]) -> None:
    """Notifying commits wait for each other, so only streams that still follow an asset are notified."""
    await db.execute(
        """
        select pg_notify($1, asset_key::text)
        from unnest($2::int[], $3::timestamptz[]) as watched (asset_key, until) where until > clock_timestamp()
        """,
        CHANNEL, list(watched), list(watched.values()),
    )  # fmt: skip


async def read_operator_id(db: Database) -> UUID | None:
    """By which two nodes are known as those of one database."""
    operator_id: UUID | None = await db.fetchval(
        "select id from organisation where kind = 'OPERATOR' order by id limit 1"
    )
    return operator_id


async def find_head(db: Database, asset_key: int) -> Head | None:
    row = await db.fetchrow(
        """
        select asset_key, born, sequence, signal_count, latest, watched_until from telemetry_head where asset_key = $1
        """,
        asset_key,
    )
    return None if row is None else Head(**row)


async def watch(db: Database, asset_key: int, lease: timedelta) -> Head:
    """Have writers notify for a while."""
    row = await db.fetchrow(
        """
        insert into telemetry_head as head (asset_key, watched_until) values ($1, clock_timestamp() + $2::interval)
        on conflict (asset_key) do update set watched_until = greatest(head.watched_until, excluded.watched_until)
        returning asset_key, born, sequence, signal_count, latest, watched_until
        """,
        asset_key, lease,
    )  # fmt: skip
    assert row is not None
    return Head(**row)
