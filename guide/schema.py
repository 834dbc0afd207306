"""Writes docs/schema/: every table of a migrated database, room by room. `make schema`.

Columns, keys and constraints come from the catalogue, remarks from the comments of the migrations, and writers from
the statements of the sources. A table belongs to the room that inserts into it.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import asyncpg

from gridloom.platform.database.migrate import migrate, read_migrations
from gridloom.platform.database.server.embedded import EmbeddedPostgres

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "gridloom"
PAGES = ROOT / "docs" / "schema"
INDEX = """# The database

Every table, in the room whose code inserts into it. Written by `make schema` from a migrated database; a test compares.
`asset_key` is the number of an asset that all its rows carry; its id is in the table `asset`. Power is in kW, energy in
kWh, prices in EUR; export is positive. A sandbox has tables of its own besides (`platform/database/environment.py`).

| Room | Tables |
|---|---|
"""
FACTS = ("afrr_activation", "afrr_capacity_award", "fcr_award", "net_off", "tolling_contract", "wholesale_trade")
ROOMS = {
    **{name: "settlements" for fact in FACTS for name in (fact, f"{fact}_superseded")},
    "version_start": "settlements",
    "event_head": "platform/events",
    "telemetry_chunk": "monitoring",
    "idempotency": "platform/http",
}
"""Rooms of tables whose statements are put together, or are functions of the database, or stand in another room too."""
_CREATE = re.compile(r"((?:^--[^\n]*\n)*)^create (?:unlogged )?table (?:if not exists )?(\w+) \((.*?)^\)", re.M | re.S)
_ADD = re.compile(r"((?:^--[^\n]*\n)*)^alter table (\w+)\s(.*?);", re.M | re.S)
_COLUMN = re.compile(r"^\s*(?:add column )?(\w+) [^\n]*?,?\s+-- ([^\n]*)$", re.M)
_ADDED = re.compile(r"add column (\w+)")
_WRITES = re.compile(r"\b(?:insert into|update|delete from|copy_records_to_table\()\s*[\"']?([a-z_]+)\b")
_INSERTS = re.compile(r"\b(?:insert into|copy_records_to_table\()\s*[\"']?([a-z_]+)\b")
_TARGETS = re.compile(r"InsertTarget(?:\.of_columns)?\(\s*\"([a-z_]+)\"")

_COLUMNS = """
select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as is_required,
       coalesce(pg_get_expr(d.adbin, d.adrelid), case a.attidentity when '' then '' else 'identity' end) as value
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
order by c.relname, a.attnum
"""
_CONSTRAINTS = """
select c.relname as table, o.conname as name, o.contype::text as kind, pg_get_constraintdef(o.oid) as text
from pg_constraint o join pg_class c on c.oid = o.conrelid
where c.relnamespace = 'public'::regnamespace and not c.relispartition and o.contype <> 'n'
order by c.relname, position(o.contype::text in 'pufxc'), o.conname
"""
_INDEXES = """
select c.relname as table, i.relname as name, pg_get_indexdef(x.indexrelid) as text
from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
where c.relnamespace = 'public'::regnamespace and not c.relispartition
  and not exists (select from pg_constraint o where o.conindid = x.indexrelid)
order by c.relname, i.relname
"""
_FUNCTIONS = """
select p.proname as name, pg_get_functiondef(p.oid) as text from pg_proc p
where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
  and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
order by p.proname
"""


class Remarks(NamedTuple):
    """The comments of migrations, by table and by table and column."""

    tables: dict[str, str]
    columns: dict[tuple[str, str], str]


async def describe_schema(dsn: str) -> dict[str, str]:
    """The text of each page by its name."""
    connection = await asyncpg.connect(dsn)
    try:
        columns, constraints, indexes, functions = [
            await connection.fetch(text) for text in (_COLUMNS, _CONSTRAINTS, _INDEXES, _FUNCTIONS)
        ]
    finally:
        await connection.close()
    remarks, writers = read_remarks(), find_writers()
    tables = dict.fromkeys(row["table"] for row in columns if not row["table"].startswith("sandbox_"))
    rooms: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        rooms[ROOMS.get(table) or _find_room(table, writers)].append(table)
    pages = {"index.md": INDEX}
    for room in sorted(rooms):
        name = room.replace("/", "-")
        pages["index.md"] += f"| [{room}]({name}.md) | {', '.join(f'`{table}`' for table in rooms[room])} |\n"
        sections = [
            _describe_table(
                table,
                remarks,
                [row for row in columns if row["table"] == table],
                [row for row in constraints if row["table"] == table],
                [row for row in indexes if row["table"] == table],
                [
                    *writers.get(table, ()),
                    *(f"{one['name']}()" for one in functions if table in _WRITES.findall(one["text"])),
                ],
            )
            for table in rooms[room]
        ]
        pages[f"{name}.md"] = f"# Tables of {room}\n\n" + "\n".join(sections)
    return pages


def _describe_table(
    table: str,
    remarks: Remarks,
    columns: Sequence[asyncpg.Record],
    constraints: Sequence[asyncpg.Record],
    indexes: Sequence[asyncpg.Record],
    writers: Sequence[str],
) -> str:
    lines = [f"## {table}", ""]
    if remark := remarks.tables.get(table):
        lines += [remark, ""]
    lines += ["| Column | Type | Default | Remark |", "|---|---|---|---|"]
    for row in columns:
        optional = "" if row["is_required"] else ", or null"
        cells = (row["value"] and f"`{row['value']}`", remarks.columns.get((table, row["name"]), ""))
        lines.append(f"| `{row['name']}` | {row['type']}{optional} | {' | '.join(map(_escape, cells))} |")
    lines.append("")
    lines += [f"- `{row['name']}`: {_code(row['text'])}" for row in constraints]
    lines += [f"- index `{row['name']}`: {_code(row['text'].partition(' USING ')[2])}" for row in indexes]
    lines += ["", f"Written by {', '.join(map(_code, writers))}.", ""]
    return "\n".join(lines)


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`"


def _find_room(table: str, writers: dict[str, dict[str, int]]) -> str:
    """The room that inserts into it most often, else that writes it."""
    counts: Counter[str] = Counter()
    for file, weight in writers.get(table, {}).items():
        counts[name_room(file)] += weight
    return counts.most_common(1)[0][0] if counts else "platform/database"


def name_room(file: str) -> str:
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "platform" else parts[0]


def find_writers() -> dict[str, dict[str, int]]:
    """The sources that write each table, those that insert with more weight."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for path in sorted(SOURCES.rglob("*.py")):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(SOURCES).as_posix()
        inserted = {*_INSERTS.findall(text), *_TARGETS.findall(text)}
        for table in {*_WRITES.findall(text), *inserted}:
            found[table][file] = 10 if table in inserted else 1
    return found


def read_remarks() -> Remarks:
    """What stands before a table, before a column that was added, and behind a column."""
    remarks = Remarks({}, {})
    for migration in read_migrations():
        for before, table, body in _CREATE.findall(migration.sql):
            if text := _join_comment(before):
                remarks.tables[table] = text
            remarks.columns.update({(table, name): text.strip() for name, text in _COLUMN.findall(body)})
        for before, table, body in _ADD.findall(migration.sql):
            added = _ADDED.findall(body)
            remarks.columns.update({(table, name): text.strip() for name, text in _COLUMN.findall(body)})
            if len(added) == 1 and (text := _join_comment(before)):
                remarks.columns[table, added[0]] = text
    return remarks


def _join_comment(lines: str) -> str:
    return " ".join(line.removeprefix("--").strip() for line in lines.splitlines())


async def _migrate_and_describe(dsn: str) -> dict[str, str]:
    connection = await asyncpg.connect(dsn)
    await migrate(connection)
    await connection.close()
    return await describe_schema(dsn)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gl-schema-", dir="/tmp") as directory:
        Path(directory).chmod(0o711)
        postgres = EmbeddedPostgres(Path(directory) / "database", settings={"fsync": "off"})
        try:
            pages = asyncio.run(_migrate_and_describe(postgres.start()))
        finally:
            postgres.stop()
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    for name, text in pages.items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
