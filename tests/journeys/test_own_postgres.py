"""GRIDLOOM_DATABASE_URL: any PostgreSQL 15 or later, over TCP, with a password, as a user without special rights."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
from tests.journeys.service import a_service
from tests.ports import free_port

from gridloom.platform.database.server import embedded
from gridloom.platform.database.server.binaries import NoPostgresBinaries, find_binaries
from gridloom.platform.database.server.embedded import EmbeddedPostgres

pytestmark = pytest.mark.slow


@pytest.fixture
def database_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """On the oldest PostgreSQL there is: the machine's own, else the embedded one."""
    with suppress(NoPostgresBinaries), monkeypatch.context() as without_wheel:
        without_wheel.setattr("importlib.util.find_spec", lambda name: None)
        found = find_binaries()
        monkeypatch.setattr(embedded, "find_binaries", lambda: found)
    port = str(free_port())
    with tempfile.TemporaryDirectory(prefix="gl-", ignore_cleanup_errors=True) as directory:
        server = EmbeddedPostgres(Path(directory) / "home", {"listen_addresses": "127.0.0.1", "port": port})
        dsn = server.start()
        try:
            with (server.data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 127.0.0.1/32 scram-sha-256\n")
            asyncio.run(_make_owner(f"{dsn}&port={port}"))
            yield f"postgresql://app:a%20secret@127.0.0.1:{port}/own"
        finally:
            server.stop()


async def _make_owner(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("select pg_reload_conf()")
    await connection.execute("create role app login password 'a secret'")
    await connection.execute("create database own owner app")
    await connection.close()


class TestOwnPostgres:
    def test_is_migrated_and_served(self, database_url: str) -> None:
        with a_service(GRIDLOOM_DATABASE_URL=database_url) as service:
            service.start()
            assert service.operator_token()
            assert not service.home.exists()
            assert not any(child.name() == "postgres" for child in service.supervisor.children())
            assert service.stop() == 0

    def test_that_is_not_there_is_said_so_without_the_password(self) -> None:
        with a_service(GRIDLOOM_DATABASE_URL="postgresql://app:hunter2@127.0.0.1:1/own") as service:
            assert service.launch().wait(60) == 1
            said = service.log.read_text()
            assert "No connection to PostgreSQL" in said
            assert "hunter2" not in said
            assert "Traceback" not in said
