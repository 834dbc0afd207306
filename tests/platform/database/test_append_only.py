"""The audit log, the logbook and issued statements stay: no statement changes them, and the role may not."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pglast
import pytest
from pglast import ast
from tests.conftest import server_url
from tests.database_server import QUICK
from tests.platform.database.parse_trees import find_all
from tests.platform.database.statements import gather

from gridloom.platform.database.append_only import APPEND_ONLY, revoke_changes
from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.migrate import migrate
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.server.service_role import give_to_service_role
from gridloom.sandbox.store import reset_data

CHANGES = [
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
    "truncate statement_account",
    "update statement_month set issued_at = now()",
    "delete from statement_month",
    "truncate statement_month",
]


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

    @pytest.mark.parametrize("statement", CHANGES)
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
        # As in a database that was restored, of which a dump has no rights.
        await db.execute("grant all on logbook_entry to current_user")
        await db.execute("revoke update (sequence) on logbook_entry from current_user")
        await revoke_changes(db)
        await write_entry(db, corrects_id=first)
        with pytest.raises(asyncpg.GeneratedAlwaysError):
            await db.execute("update logbook_entry set sequence = 7")


@pytest.fixture(scope="module")
async def embedded() -> AsyncIterator[str]:
    """A home of an earlier release, whose service was the superuser itself; the address that the service has today."""
    with tempfile.TemporaryDirectory() as directory:
        server = EmbeddedPostgres(Path(directory) / "home", QUICK)
        try:
            connection = await asyncpg.connect(server.start())
            await migrate(connection)
            await establish_environment(connection, "sandbox")
            await connection.close()
            yield await give_to_service_role(server.dsn)
        finally:
            server.stop()


@pytest.fixture
async def service(embedded: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(embedded)
    yield connection
    await connection.close()


async def issue(db: asyncpg.Connection[asyncpg.Record], organisation_id: uuid.UUID) -> None:
    await db.execute(
        """
        insert into statement
          (organisation_id, id, month, year, number, issued_at, total_cents, body, summary, digest)
        values ($1, $2, '2026-01-01', 2026, 1, now(), 1, '', '', '')
        """,
        organisation_id,
        uuid.uuid4(),
    )


class TestTheServiceOnAnEmbeddedServer:
    async def test_is_no_superuser_and_owns_what_an_earlier_release_made(
        self, service: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        assert not await service.fetchval("select usesuper from pg_user where usename = current_user")
        owners = await service.fetch(
            """
            select distinct pg_get_userbyid(c.relowner) as name from pg_class c
            where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'S')
            """
        )
        assert [row["name"] for row in owners] == [await service.fetchval("select current_user")]
        assert await migrate(service) == []

    async def test_can_change_none_of_them_over_its_own_connection(
        self, service: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        await issue(service, uuid.uuid4())
        for statement in CHANGES:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await service.execute(statement)

    async def test_has_no_more_rights_after_a_restore(self, service: asyncpg.Connection[asyncpg.Record]) -> None:
        """A dump holds no rights: what restores it owns tables without any taken away."""
        for name in APPEND_ONLY:
            await service.execute(f"grant all on {name} to current_user")
        await service.execute("update statement set total_cents = total_cents")
        await migrate(service)
        for statement in CHANGES:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await service.execute(statement)

    async def test_empties_a_sandbox_all_the_same_and_can_change_nothing_afterwards(
        self, service: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        await issue(service, uuid.uuid4())
        async with service.transaction():
            await reset_data(service, uuid.uuid4())
        assert await service.fetchval("select count(*) from statement") == 0
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute("truncate statement")
