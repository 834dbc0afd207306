"""The logbook in the database, which itself refuses to change or remove an entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import uuid7
from gridloom.logbook.model import EntryCursor, EntrySource, Impact, LogbookEntry, LogbookQuery, NewLogbookEntry
from gridloom.platform.database.commit import InsertTarget, defer_insert
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.platform.http import FigureView, figures_in

_ENTRIES = InsertTarget.of_columns(
    "logbook_entry",
    """asset_key, id, title, description, type, impact, starts_at, ends_at, tags, author_id, source, corrects_id,
    figures""",
)
_INSERT = _ENTRIES.insert(1, 0)
_COLUMNS = """id, title, description, type, impact, starts_at, ends_at, tags, author_id, source, corrects_id,
  created_at, figures"""


@dataclass(frozen=True, slots=True)
class EntryWithCursor:
    """An entry with its position in the order."""

    cursor: EntryCursor
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
        str(new.description),
        new.type,
        new.impact,
        new.start,
        new.end,
        new.tags,
        author_id,
        source,
        corrects_id,
        figures_in(new.description),
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
    """An entry of the platform itself, in the transaction of what happened; `author_id` is who caused it."""
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


_SEARCH = NamedStatement(
    """
select sequence, {columns} from logbook_entry
where asset_key = :asset_key
  and (:start::timestamptz is null or coalesce(ends_at, starts_at + interval '1 millisecond') > :start)
  and (:end::timestamptz is null or starts_at < :end)
  and (:type::text is null or type = :type)
  and (:tags::text[] is null or tags @> :tags)
  and (:pattern::text is null or lower(title || E'\\n' || description) like :pattern)
  and (:source::text is null or source = :source)
  and (:impact::text is null or impact = :impact)
  and (:after_start::timestamptz is null or (starts_at, sequence) < (:after_start, :after_sequence::bigint))
order by starts_at desc, sequence desc limit :limit
""",
    columns=_COLUMNS,
)


async def search_entries(
    db: Database, asset_key: int, query: LogbookQuery, after: EntryCursor | None, limit: int
) -> list[EntryWithCursor]:
    """The latest start first; entries without an end last as long as their start."""
    rows = await _SEARCH.fetch(
        db,
        query,
        asset_key=asset_key,
        tags=None if query.tag is None else list(query.tag),
        pattern=None if query.text is None else _match_containing(query.text),
        after_start=None if after is None else after.start,
        after_sequence=None if after is None else after.sequence,
        limit=limit,
    )
    return [EntryWithCursor(EntryCursor(row["starts_at"], row["sequence"]), _read_entry_row(row)) for row in rows]


def _match_containing(text: str) -> str:
    """A LIKE pattern that takes every character as it is."""
    literal = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{literal}%"


def _read_entry_row(row: asyncpg.Record) -> LogbookEntry:
    return read_row(
        LogbookEntry,
        row,
        impact=Impact(row["impact"]),
        start=row["starts_at"],
        end=row["ends_at"],
        source=EntrySource(row["source"]),
        figures=[FigureView(**figure) for figure in row["figures"]],
    )
