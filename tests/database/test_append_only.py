"""The audit log, the logbook and issued statements stay: no statement changes them, and the role may not."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pglast
import pytest
from pglast import ast
from tests.conftest import server_url
from tests.database.parse_trees import find_all
from tests.database.statements import gather

from gridloom.database.migrate import migrate

APPEND_ONLY = {"audit_log", "logbook_entry", "statement", "statement_account", "statement_month"}


@pytest.fixture(scope="module")
async def owned_by_a_plain_role() -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A database as docs/operations.md has it made: of a role that owns it and is nothing else."""
    name = f"plain_{uuid.uuid4().hex}"
    server = await asyncpg.connect(server_url())
    await server.execute(f"create role {name}")
    await server.execute(f"create database {name} owner {name}")
    connection = await asyncpg.connect(urlunsplit(urlsplit(server_url())._replace(path=f"/{name}")))
    try:
        await connection.execute(f"set session authorization {name}")
        await migrate(connection)
        yield connection
    finally:
        await connection.close()
        await server.execute(f"drop database {name} with (force)")
        await server.execute(f"drop role {name}")
        await server.close()


async def write_entry(db: asyncpg.Connection[asyncpg.Record], corrects_id: uuid.UUID | None = None) -> uuid.UUID:
    entry_id = uuid.uuid4()
    await db.execute(
        """
        insert into logbook_entry
          (asset_key, id, title, description, type, impact, starts_at, tags, source, corrects_id)
        values (1, $1, 'Fan', 'It hums', 'NOTE', 'NEUTRAL', now(), '{}', 'USER', $2)
        """,
        entry_id,
        corrects_id,
    )
    return entry_id


class TestAnEntry:
    def test_is_changed_and_removed_by_no_statement(self) -> None:
        found, _ = gather()
        for statement in found:
            for change in find_all(pglast.parse_sql(statement.sql), (ast.UpdateStmt, ast.DeleteStmt, ast.MergeStmt)):
                assert change.relation.relname not in APPEND_ONLY, statement

    @pytest.mark.parametrize(
        "statement",
        [
            "update audit_log set actor_name = 'nobody'",
            "delete from audit_log",
            "truncate audit_log",
            "update logbook_entry set title = 'x'",
            "delete from logbook_entry",
            "truncate logbook_entry",
            "update statement set total_cents = 0",
            "delete from statement",
            "truncate statement",
            "update statement_account set body = ''",
            "delete from statement_account",
            "delete from statement_month",
        ],
    )
    async def test_is_out_of_reach_of_the_role_that_owns_the_database(
        self, owned_by_a_plain_role: asyncpg.Connection[asyncpg.Record], statement: str
    ) -> None:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await owned_by_a_plain_role.execute(statement)

    async def test_can_be_corrected_by_another(self, owned_by_a_plain_role: asyncpg.Connection[asyncpg.Record]) -> None:
        db: Any = owned_by_a_plain_role
        organisation_id = uuid.uuid4()
        await db.execute("insert into organisation (id, name, kind) values ($1, 'A', 'OPERATOR')", organisation_id)
        await db.execute(
            "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2)", uuid.uuid4(), organisation_id
        )
        first = await write_entry(db)
        await write_entry(db, corrects_id=first)
        with pytest.raises(asyncpg.GeneratedAlwaysError):
            await db.execute("update logbook_entry set sequence = 7")
