"""Migrations: once, in order, whole, and only those that belong to this release."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from gridloom.platform.database.migrate import MigrationError, migrate, pending_migrations, read_migrations
from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.server.embedded import EmbeddedPostgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gl-", ignore_cleanup_errors=True) as directory:
        server = EmbeddedPostgres(Path(directory) / "home", {"fsync": "off"})
        yield server.start()
        server.stop()


@pytest.fixture
async def dsn(server: str, request: pytest.FixtureRequest) -> str:
    name = f"t{abs(hash(request.node.nodeid))}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"create database {name}")
    await connection.close()
    return server.replace("///gridloom", f"///{name}")


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


def write(directory: Path, **files: str) -> Path:
    for name, sql in files.items():
        (directory / f"{name.removeprefix('n')}.sql").write_text(sql)
    return directory


class TestMigrate:
    async def test_asks_for_no_extension_that_is_there(self, connection, tmp_path) -> None:
        """With Citus a role may not even ask for one that another owns; here no role may ask for any."""
        await connection.execute(
            """
            create function refuse() returns event_trigger language plpgsql as $$
            begin raise exception 'must be owner of extension'; end $$;
            create event trigger refuse on ddl_command_start when tag in ('CREATE EXTENSION') execute function refuse();
            """
        )
        sql = "create extension if not exists plpgsql;\ncreate table t (n int);"
        assert await migrate(connection, write(tmp_path, n0001_one=sql)) == ["0001_one"]
        write(tmp_path, n0002_two="create extension if not exists pg_trgm;")
        with pytest.raises(MigrationError, match="must be owner"):
            await migrate(connection, tmp_path)

    async def test_tells_what_is_pending(self, connection, tmp_path) -> None:
        write(tmp_path, n0001_one="create table t (n int)")
        assert await pending_migrations(connection, tmp_path) == ["0001_one"]
        await migrate(connection, tmp_path)
        assert await pending_migrations(connection, tmp_path) == []

    async def test_undoes_a_file_that_fails_and_keeps_those_before_it(self, connection, tmp_path) -> None:
        write(tmp_path, n0001_one="create table t (n int)", n0002_two="create table u (n int); select 1/0")
        with pytest.raises(MigrationError, match=r"0002_two\.sql failed and was undone: division by zero"):
            await migrate(connection, tmp_path)
        assert await connection.fetchval("select to_regclass('t') is not null and to_regclass('u') is null")

    async def test_applies_once_when_replicas_start_together(self, dsn, tmp_path) -> None:
        write(
            tmp_path, n0001_one="create table t (n int); insert into t values (1)", n0002_two="insert into t values (2)"
        )
        connections = [await asyncpg.connect(dsn) for _ in range(6)]
        applied = await asyncio.gather(*(migrate(connection, tmp_path) for connection in connections))
        assert sorted(name for names in applied for name in names) == ["0001_one", "0002_two"]
        assert await connections[0].fetchval("select count(*) from t") == 2
        for connection in connections:
            await connection.close()

    async def test_refuses_a_file_changed_after_it_was_applied(self, connection, tmp_path) -> None:
        await migrate(connection, write(tmp_path, n0001_one="select 1"))
        write(tmp_path, n0001_one="select 2")
        with pytest.raises(MigrationError, match=r"0001_one\.sql was changed"):
            await migrate(connection, tmp_path)

    async def test_refuses_a_database_of_a_newer_release(self, connection, tmp_path) -> None:
        await migrate(connection, write(tmp_path, n0001_one="select 1", n0002_two="select 1"))
        (tmp_path / "0002_two.sql").unlink()
        with pytest.raises(MigrationError, match="does not know"):
            await migrate(connection, tmp_path)

    def test_refuses_two_files_of_one_number(self, tmp_path) -> None:
        with pytest.raises(MigrationError, match="same number"):
            read_migrations(write(tmp_path, n0001_one="", n0001_other=""))


class TestPool:
    async def test_rolls_back_a_transaction_left_open(self, dsn) -> None:
        async with await create_pool(dsn, size=1) as pool:
            async with pool.acquire() as connection:
                await connection.transaction().start()
                await connection.execute("create table left_open (n int)")
            assert await pool.fetchval("select to_regclass('left_open')") is None
