"""A dump restores on the server version it came from and on later ones; `--verify` notices a copy that is not one."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import replace

import asyncpg
import pytest

from gridloom.backups import dump
from gridloom.backups.contents_store import read_contents
from gridloom.backups.dump import back_up, restore
from gridloom.database.migrate import migrate
from gridloom.database.server import embedded
from gridloom.database.server.binaries import find_binaries, find_binaries_of
from gridloom.database.server.embedded import EmbeddedPostgres
from gridloom.operator_commands import CommandError, libpq_environment

OLDEST = 15
ORGANISATION = "insert into organisation (id, name, kind) values (gen_random_uuid(), $1, 'PARTICIPANT')"


@pytest.fixture
def start_server(tmp_path, monkeypatch):
    """Starts servers of any major version this machine has."""
    started: list[EmbeddedPostgres] = []

    def start(name: str, major: int) -> str:
        binaries = find_binaries_of(major)
        if binaries is None:
            sentence = f"PostgreSQL {major} is not installed (Debian: apt-get install postgresql-{major})."
            if os.environ.get("GRIDLOOM_NEVER_SKIP"):
                pytest.fail(sentence)
            pytest.skip(sentence)
        monkeypatch.setattr(embedded, "find_binaries", lambda: binaries)
        server = EmbeddedPostgres(tmp_path / name, settings={"fsync": "off"})
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.stop()


def run(dsn, *statements):
    async def execute():
        connection = await asyncpg.connect(dsn)
        try:
            for statement, *arguments in statements:
                await connection.execute(statement, *arguments)
            return await read_contents(connection)
        finally:
            await connection.close()

    return asyncio.run(execute())


def fill(dsn):
    async def migrated():
        connection = await asyncpg.connect(dsn)
        await migrate(connection)
        await connection.close()

    asyncio.run(migrated())
    return run(dsn, (ORGANISATION, "Rhine Storage"), (ORGANISATION, "Küste & Söhne"))


class TestADump:
    @pytest.mark.slow
    def test_of_the_oldest_server_restores_there_and_on_the_newest(self, settings, start_server, tmp_path):
        old, other = start_server("old", OLDEST), start_server("other", OLDEST)
        new = start_server("new", find_binaries().major)
        expected = fill(old)
        back_up(replace(settings, database_url=old), tmp_path / "dump", verify=True)
        for target in (other, new):
            restore(replace(settings, database_url=target), tmp_path / "dump")
            assert run(target) == expected

    @pytest.mark.slow
    def test_by_the_newest_client_restores_on_the_oldest_server(self, settings, start_server, tmp_path, monkeypatch):
        old, other = start_server("old", OLDEST), start_server("other", OLDEST)
        expected = fill(old)
        monkeypatch.setattr(dump, "find_binaries_of", lambda major: None)  # as where only the wheel is installed
        back_up(replace(settings, database_url=old), tmp_path / "dump")
        restore(replace(settings, database_url=other), tmp_path / "dump")
        assert run(other) == expected

    @pytest.mark.slow
    def test_of_the_oldest_server_is_read_by_that_server_s_own_tool(self, settings, start_server, tmp_path):
        old, other = start_server("old", OLDEST), start_server("other", OLDEST)
        expected = fill(old)
        back_up(replace(settings, database_url=old), tmp_path / "dump")
        binaries = find_binaries_of(OLDEST)
        assert binaries is not None
        tool = binaries / "pg_restore"
        command = [tool, "--dbname", "gridloom", "--no-owner", "--single-transaction", str(tmp_path / "dump")]
        done = subprocess.run(command, env={**os.environ, **libpq_environment(other)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert run(other) == expected


class TestARestore:
    def test_of_half_a_file_changes_nothing_and_says_so(self, settings, start_server, tmp_path):
        newest = find_binaries().major
        source, target = start_server("source", newest), start_server("target", newest)
        fill(source)
        back_up(replace(settings, database_url=source), tmp_path / "dump")
        content = (tmp_path / "dump").read_bytes()
        (tmp_path / "dump").write_bytes(content[: len(content) * 2 // 3])
        with pytest.raises(CommandError, match="nothing was changed"):
            restore(replace(settings, database_url=target), tmp_path / "dump")
        assert run(target) == {}

    def test_is_refused_where_there_is_a_schema_already(self, settings, start_server, tmp_path):
        source = start_server("source", find_binaries().major)
        fill(source)
        back_up(replace(settings, database_url=source), tmp_path / "dump")
        with pytest.raises(CommandError, match="not empty"):
            restore(replace(settings, database_url=source), tmp_path / "dump")


class TestVerification:
    def test_finds_a_copy_that_holds_other_values(self, settings, start_server, tmp_path, monkeypatch):
        source = start_server("source", find_binaries().major)
        fill(source)
        restore_as_it_is = dump.run_restore

        def restore_and_change(dsn, file):
            restore_as_it_is(dsn, file)
            run(dsn, ("update organisation set name = 'Another' where name = 'Rhine Storage'",))

        monkeypatch.setattr(dump, "run_restore", restore_and_change)
        with pytest.raises(CommandError, match="organisation has other values"):
            back_up(replace(settings, database_url=source), tmp_path / "dump", verify=True)
        assert list(tmp_path.glob("*dump*")) == []
