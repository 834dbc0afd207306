"""A standby that takes over: until it is promoted, changes are refused with 503, afterwards all goes on by itself."""

from __future__ import annotations

import os
import subprocess
import uuid
from dataclasses import replace

import asyncpg
import pytest
from tests.conftest import running
from tests.people import People

from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.libpq import client_environment
from gridloom.platform.database.migrate import migrate
from gridloom.platform.database.server.binaries import find_binaries
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.server.processes import server_account

pytestmark = pytest.mark.slow


@pytest.fixture
def primary(tmp_path):
    server = EmbeddedPostgres(tmp_path / "primary")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def copy_of(tmp_path):
    """Starts a standby that has everything that a server has committed so far, and waits for more."""
    standby = EmbeddedPostgres(tmp_path / "standby")

    def start(server):
        standby.home.mkdir(mode=0o700)
        copy = [find_binaries() / "pg_basebackup", "-D", str(standby.data), "--checkpoint=fast", "--wal-method=stream"]
        environment = client_environment(server.dsn)
        subprocess.run(copy, env=environment, check=True, capture_output=True, timeout=60)
        (standby.data / "standby.signal").touch()
        account = server_account(standby.data)
        for path in (standby.data, *standby.data.rglob("*")):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
        standby.data.chmod(0o700)
        standby.start()
        return standby

    yield start
    standby.stop()


async def prepare(dsn):
    connection = await asyncpg.connect(dsn)
    await migrate(connection)
    await establish_environment(connection, "sandbox")
    await connection.close()


def socket_directory(server):
    return server.dsn.split("host=")[1].split("&")[0]


class TestAStandby:
    async def test_refuses_changes_until_it_is_promoted_and_then_takes_them(
        self, settings, primary, copy_of, tmp_path_factory
    ):
        await prepare(primary.dsn)
        # The address of the database leads to one of the two, as a name or a proxy would.
        address = tmp_path_factory.mktemp("to") / "address"  # the path of a socket has at most 107 characters
        address.symlink_to(socket_directory(primary))
        url = primary.dsn.replace(socket_directory(primary), str(address))
        async with running(replace(settings, database_url=url)) as edge, People(edge) as people:
            operator = (await people.operator()).client

            async def write():
                body = {"name": f"Org {uuid.uuid4().hex}", "kind": "PARTICIPANT"}
                return await operator.post("/organisations", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})

            assert (await write()).status_code == 201
            standby = copy_of(primary)
            address.unlink()
            address.symlink_to(socket_directory(standby))
            primary.stop()
            statuses = set()
            for _ in range(40):
                answer = await write()
                statuses.add(answer.status_code)
                assert int(answer.headers["retry-after"]) >= 1
                assert answer.json()["requestId"]
                statuses.add((await operator.get("/organisations")).status_code)
            assert 503 in statuses
            assert statuses <= {200, 503}
            assert (await operator.get("/health/ready")).status_code == 503
            assert (await operator.get("/health/live")).status_code == 200
            connection = await asyncpg.connect(standby.dsn)
            assert await connection.fetchval("select pg_promote()")
            await connection.close()
            after = [(await write()).status_code for _ in range(20)]
            assert set(after) <= {201, 503}
            assert after[-1] == 201
