"""The logbook in the database, which itself refuses to change or remove an entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.database.commit.deferred_rows import defer_insert
from gridloom.database.commit.insert_target import InsertTarget
from gridloom.database.composition import compose
from gridloom.database.pool import Database
from gridloom.kernel.ids import uuid7
from gridloom.logbook.model import EntryCursor, EntrySource, Impact, LogbookEntry, LogbookQuery, NewLogbookEntry

_ENTRIES = InsertTarget(
    "logbook_entry",
    [
        (name, "{}")
        for name in (
            "asset_key",
            "id",
            "title",
            "description",
            "type",
            "impact",
            "starts_at",
            "ends_at",
            "tags",
            "author_id",
            "source",
            "corrects_id",
        )
    ],
)
_INSERT = _ENTRIES.insert(1, 0)
_COLUMNS = "id, title, description, type, impact, starts_at, ends_at, tags, author_id, source, corrects_id, created_at"


@dataclass(frozen=True, slots=True)
class EntryWithCursor:
    """An entry with its place in the order."""

    place: EntryCursor
    entry: LogbookEntry


async def insert_entry(
    db: Database,
    asset_key: int,
    new: NewLogbookEntry,
    author_id: UUID | None,
    source: EntrySource,
    corrects_id: UUID | None = None,
) -> LogbookEntry:
    row = await db.fetchrow(
        f"{_INSERT} returning {_COLUMNS}", *_list_values(asset_key, new, author_id, source, corrects_id)
    )
    assert row is not None
    return _read_entry_row(row)


async def write_system_entries(
    db: Database, asset_key: int, entries: Sequence[NewLogbookEntry], author_id: UUID
) -> None:
    """Many at once, in this order, as `write_system_entry` writes one."""
    await db.executemany(
        _INSERT, [_list_values(asset_key, new, author_id, EntrySource.SYSTEM, None) for new in entries]
    )


def _list_values(
    asset_key: int, new: NewLogbookEntry, author_id: UUID | None, source: EntrySource, corrects_id: UUID | None
) -> tuple[object, ...]:
    return (
        asset_key,
        uuid7(),
        new.title,
        new.description,
        new.type,
        new.impact,
        new.start,
        new.end,
        new.tags,
        author_id,
        source,
        corrects_id,
    )


async def write_system_entry(
    db: Database,
    asset_key: int,
    *,
    type: str,
    title: str,
    description: str,
    impact: Impact,
    start: datetime,
    end: datetime | None = None,
    tags: Sequence[str] = (),
    author_id: UUID | None = None,
) -> None:
    """What the platform itself writes down, in the transaction of what happened; `author_id` is who caused it."""
    new = NewLogbookEntry(
        title=title, type=type, start=start, description=description, impact=impact, end=end, tags=[*tags]
    )
    await defer_insert(db, _ENTRIES, _list_values(asset_key, new, author_id, EntrySource.SYSTEM, None))


async def read_entry(db: Database, asset_key: int, entry_id: UUID) -> LogbookEntry | None:
    row = await db.fetchrow(
        compose("select {columns} from logbook_entry where asset_key = $1 and id = $2", columns=_COLUMNS),
        asset_key,
        entry_id,
    )
    return None if row is None else _read_entry_row(row)


async def search_entries(
    db: Database, asset_key: int, query: LogbookQuery, after: EntryCursor | None, limit: int
) -> list[EntryWithCursor]:
    """The latest start first; entries without an end last as long as their start."""
    rows = await db.fetch(
        compose(
            """
        select sequence, {columns} from logbook_entry
        where asset_key = $1
          and ($2::timestamptz is null or coalesce(ends_at, starts_at + interval '1 millisecond') > $2)
          and ($3::timestamptz is null or starts_at < $3)
          and ($4::text is null or type = $4)
          and ($5::text[] is null or tags @> $5)
          and ($6::text is null or lower(title || E'\\n' || description) like $6)
          and ($7::text is null or source = $7)
          and ($8::text is null or impact = $8)
          and ($9::timestamptz is null or (starts_at, sequence) < ($9, $10::bigint))
        order by starts_at desc, sequence desc limit $11
        """,
            columns=_COLUMNS,
        ),
        asset_key,
        query.start,
        query.end,
        query.type,
        None if query.tag is None else list(query.tag),
        None if query.text is None else _match_containing(query.text),
        query.source,
        query.impact,
        None if after is None else after.start,
        None if after is None else after.sequence,
        limit,
    )
    return [EntryWithCursor(EntryCursor(row["starts_at"], row["sequence"]), _read_entry_row(row)) for row in rows]


def _match_containing(text: str) -> str:
    """A LIKE pattern that takes every character as it is."""
    literal = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{literal}%"


def _read_entry_row(row: asyncpg.Record) -> LogbookEntry:
    return LogbookEntry(
        id=row["id"],
        title=row["title"],
        description=row["description"],
        type=row["type"],
        impact=Impact(row["impact"]),
        start=row["starts_at"],
        end=row["ends_at"],
        tags=row["tags"],
        author_id=row["author_id"],
        created_at=row["created_at"],
        source=EntrySource(row["source"]),
        corrects_id=row["corrects_id"],
    )
