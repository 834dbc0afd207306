"""A dump restores on the server version it came from and on later ones; `--verify` notices a copy that is not one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.conftest import execute

from gridloom.platform.backups import dump
from gridloom.platform.backups.contents_store import Contents, read_contents
from gridloom.platform.backups.dump import back_up, restore
from gridloom.platform.database.libpq import client_environment
from gridloom.platform.database.migrate import migrate
from gridloom.platform.database.server import embedded
from gridloom.platform.database.server.binaries import find_binaries, find_binaries_of
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.service_database import CommandError

OLDEST = 15
ANOTHER_SERVER = {
    "PGHOST": "elsewhere.invalid",
    "PGHOSTADDR": "127.0.0.1",
    "PGPORT": "1",
    "PGUSER": "stranger",
    "PGDATABASE": "nowhere",
    "PGSERVICE": "absent",
}
ORGANISATION = "insert into organisation (id, name, kind) values (gen_random_uuid(), $1, 'PARTICIPANT')"


class Servers:
    """One of each major version that tests ask for; what they fill is migrated once and copied."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._running: dict[int, EmbeddedPostgres] = {}
        self._filled: dict[int, Contents] = {}

    def new_database(self, major: int) -> str:
        """The address of an empty one."""
        return self._create(major, "")

    def filled_database(self, major: int) -> tuple[str, Contents]:
        """The address of one with the schema and two organisations, and what it holds."""
        if major not in self._filled:
            dsn = self._create(major, "", name="filled")
            asyncio.run(migrate_database(dsn))
            self._filled[major] = run(dsn, (ORGANISATION, "Rhine Storage"), (ORGANISATION, "Küste & Söhne"))
        return self._create(major, "template filled"), self._filled[major]

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()

    def _create(self, major: int, options: str, name: str | None = None) -> str:
        server, name = self._start(major), name or f"database_{uuid.uuid4().hex}"
        asyncio.run(execute(server.dsn, f"create database {name} {options}"))
        assert "/gridloom?" in server.dsn
        return server.dsn.replace("/gridloom?", f"/{name}?", 1)

    def _start(self, major: int) -> EmbeddedPostgres:
        if major not in self._running:
            binaries = find_binaries_of(major)
            if binaries is None:
                sentence = f"PostgreSQL {major} is not installed (Debian: apt-get install postgresql-{major})."
                if os.environ.get("GRIDLOOM_NEVER_SKIP"):
                    pytest.fail(sentence)
                pytest.skip(sentence)
            server = EmbeddedPostgres(self._place / str(major), settings={"fsync": "off"})
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(embedded, "find_binaries", lambda: binaries)
                server.start()
            self._running[major] = server
        return self._running[major]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    made = Servers(tmp_path_factory.mktemp("servers"))
    yield made
    made.stop()


def run(dsn, *statements):
    async def execute_all():
        connection = await asyncpg.connect(dsn)
        try:
            for statement, *arguments in statements:
                await connection.execute(statement, *arguments)
            return await read_contents(connection)
        finally:
            await connection.close()

    return asyncio.run(execute_all())


async def migrate_database(dsn):
    connection = await asyncpg.connect(dsn)
    await migrate(connection)
    await connection.close()


class TestADump:
    @pytest.mark.slow
    def test_of_the_oldest_server_restores_there_and_on_the_newest(self, settings, servers, tmp_path):
        other, new = servers.new_database(OLDEST), servers.new_database(find_binaries().major)
        old, expected = servers.filled_database(OLDEST)
        back_up(replace(settings, database_url=old), tmp_path / "dump", verify=True)
        for target in (other, new):
            restore(replace(settings, database_url=target), tmp_path / "dump")
            assert run(target) == expected

    @pytest.mark.slow
    def test_by_the_newest_client_restores_on_the_oldest_server(self, settings, servers, tmp_path, monkeypatch):
        other, (old, expected) = servers.new_database(OLDEST), servers.filled_database(OLDEST)
        monkeypatch.setattr(dump, "find_binaries_of", lambda major: None)  # as where only the wheel is installed
        back_up(replace(settings, database_url=old), tmp_path / "dump")
        restore(replace(settings, database_url=other), tmp_path / "dump")
        assert run(other) == expected

    @pytest.mark.slow
    def test_of_the_oldest_server_is_read_by_that_server_s_own_tool(self, settings, servers, tmp_path):
        other, (old, expected) = servers.new_database(OLDEST), servers.filled_database(OLDEST)
        back_up(replace(settings, database_url=old), tmp_path / "dump")
        binaries = find_binaries_of(OLDEST)
        assert binaries is not None
        tool = binaries / "pg_restore"
        name = urlsplit(other).path.removeprefix("/")
        command = [tool, "--dbname", name, "--no-owner", "--single-transaction", str(tmp_path / "dump")]
        done = subprocess.run(command, env=client_environment(other), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert run(other) == expected


class TestARestore:
    def test_of_part_of_a_file_changes_nothing_and_says_so(self, settings, servers, tmp_path):
        """Of two thirds not even the list of contents is whole; where only the end is missing, it has made tables."""
        newest = find_binaries().major
        target, (source, _) = servers.new_database(newest), servers.filled_database(newest)
        back_up(replace(settings, database_url=source), tmp_path / "dump")
        content = (tmp_path / "dump").read_bytes()
        for size in (len(content) * 2 // 3, len(content) - 10):
            (tmp_path / "dump").write_bytes(content[:size])
            with pytest.raises(CommandError, match="nothing was changed"):
                restore(replace(settings, database_url=target), tmp_path / "dump")
            assert run(target) == {}

    def test_is_refused_where_there_is_a_schema_already(self, settings, servers, tmp_path):
        source, _ = servers.filled_database(find_binaries().major)
        back_up(replace(settings, database_url=source), tmp_path / "dump")
        with pytest.raises(CommandError, match="not empty"):
            restore(replace(settings, database_url=source), tmp_path / "dump")


class TestAnEnvironmentThatNamesAnotherServer:
    def test_changes_nothing_of_backup_verification_and_restore(self, settings, servers, tmp_path, monkeypatch):
        newest = find_binaries().major
        target, (source, expected) = servers.new_database(newest), servers.filled_database(newest)
        for name, value in ANOTHER_SERVER.items():
            monkeypatch.setenv(name, value)
        back_up(replace(settings, database_url=source), tmp_path / "dump", verify=True)
        restore(replace(settings, database_url=target), tmp_path / "dump")
        assert run(target) == expected


class TestVerification:
    def test_finds_a_copy_that_holds_other_values(self, settings, servers, tmp_path, monkeypatch):
        source, _ = servers.filled_database(find_binaries().major)
        restore_as_it_is = dump.run_restore

        def restore_and_change(dsn, file):
            restore_as_it_is(dsn, file)
            run(dsn, ("update organisation set name = 'Another' where name = 'Rhine Storage'",))

        monkeypatch.setattr(dump, "run_restore", restore_and_change)
        with pytest.raises(CommandError, match="organisation has other values"):
            back_up(replace(settings, database_url=source), tmp_path / "dump", verify=True)
        assert list(tmp_path.glob("*dump*")) == []
