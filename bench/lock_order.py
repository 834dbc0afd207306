"""The order in which transactions lock rows of reference tables, as the log of a PostgreSQL has it.

A distributed database locks the only shard of such a table with each of its rows, and those of the tables that it
points to. Two transactions that come to two of these tables in opposite orders wait for each other there; so each that
comes to one locks its organisation first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncpg

from gridloom.platform.database.citus import PLACEMENTS, TableKind

FIRST: Final = "organisation"
_PRICES: Final = frozenset({"reference_price", "reference_price_superseded", "price_forecast", "computed_forecast"})
"""No organisation's, and written under one lock."""
_ATTEMPTS: Final = frozenset({"single_sign_on_attempt", "single_sign_on_code"})
"""Whose they are is known only once they are spent."""
_REFERENCE: Final = frozenset(one.table for one in PLACEMENTS if one.kind is TableKind.REFERENCE) - _PRICES - _ATTEMPTS
_SCHEMA: Final = re.compile(r"^\s*(?:alter|create)\s+table\b", re.MULTILINE)
_LINE: Final = re.compile(r"^\S+ \S+ \S+ \[(\d+)\] .*?LOG:  (?:statement|execute [^:]*): (.*)", re.DOTALL)
_CHANGED: Final = re.compile(r"\b(?:insert\s+into|update|delete\s+from)\s+(?:only\s+)?([a-z_]+)")
_LOCKED: Final = re.compile(
    r"\bfrom\s+([a-z_]+)\b(?:(?!\bfrom\b).)*?\bfor\s+(?:no\s+key\s+update|update|share|key\s+share)"
)


async def log_statements(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("alter system set log_statement = 'all'")
        await connection.execute("select pg_reload_conf()")
    finally:
        await connection.close()


def find_out_of_order(log: Path) -> list[str]:
    """A sentence for each order of tables that transactions came to without their organisation first, with one of
    the statements that came to each."""
    under_way: dict[str, dict[str, str] | None] = {}
    found: dict[tuple[str, ...], dict[str, str]] = {}

    def judge(locked: dict[str, str] | None) -> None:
        if locked and next(iter(locked)) != FIRST:
            found[tuple(locked)] = locked

    for session, statement in _read_statements(log):
        word = statement.split(maxsplit=1)[0].rstrip(";").lower() if statement.strip() else ""
        if word == "begin":
            under_way[session] = {}
        elif word in ("commit", "rollback"):
            judge(under_way.pop(session, {}))
        elif word == "lock" or _SCHEMA.search(statement):  # a reset, which takes all tables or none, or a migration
            under_way[session] = None
        elif under_way.get(session, {}) is not None:
            locked = under_way.get(session) or {}
            for table in list_locked(statement):
                locked.setdefault(table, " ".join(statement.split())[:90])
            if session in under_way:
                under_way[session] = locked
            else:
                judge(locked)
    return [
        "rows are locked without their organisation first: "
        + ", then ".join(f"{table} ({one})" for table, one in locked.items())
        for _, locked in sorted(found.items())
    ]


def list_locked(statement: str) -> list[str]:
    """The reference tables whose rows it changes or locks, in the order of its text."""
    text = " ".join(statement.lower().split())
    places = [(one.start(), one[1]) for pattern in (_CHANGED, _LOCKED) for one in pattern.finditer(text)]
    return [table for _, table in sorted(places) if table in _REFERENCE]


def _read_statements(log: Path) -> Iterator[tuple[str, str]]:
    """Each with the process of its session; lines that go on begin with a tab."""
    with log.open(errors="replace") as lines:
        whole = ""
        for line in lines:
            if line.startswith("\t"):
                whole += line
                continue
            if found := _LINE.match(whole):
                yield found[1], found[2]
            whole = line
        if found := _LINE.match(whole):
            yield found[1], found[2]
