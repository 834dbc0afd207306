"""A primary and a standby of it, of the embedded binaries, for tests of replicas and of failover."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from bench.standby import StandbyPostgres

from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.migrate import migrate
from gridloom.platform.database.server.embedded import EmbeddedPostgres

QUICK = {"shared_buffers": "32MB", "max_connections": "100"}


@dataclass
class Pair:
    primary: EmbeddedPostgres
    standby: StandbyPostgres

    @property
    def url_of_both(self) -> str:
        """Whichever of the two takes writes."""
        return self.name_both("read-write")

    def name_both(self, role: str) -> str:
        hosts = [server.dsn.partition("host=")[2].partition("&")[0] for server in (self.primary, self.standby)]
        return f"postgresql:///gridloom?host={','.join(hosts)}&user=gridloom&target_session_attrs={role}"

    def exchange_roles(self) -> None:
        """After the standby's promotion: the server that was the primary is copied from it anew, and follows."""
        home = self.primary.home
        self.primary.stop()
        shutil.rmtree(home / "postgres")
        self.standby.home.chmod(0o711)
        follower = StandbyPostgres(home, self.standby.dsn, "second", QUICK)
        follower.start()
        home.chmod(0o711)
        self.primary, self.standby = self.standby, follower

    async def set_on_standby(self, name: str, value: str) -> None:
        await execute(self.standby.dsn, f"alter system set {name} = '{value}'")
        await execute(self.standby.dsn, "select pg_reload_conf()")

    async def caught_up(self) -> None:
        primary = await asyncpg.connect(self.primary.dsn)
        standby = await asyncpg.connect(self.standby.dsn)
        try:
            position = await primary.fetchval("select pg_current_wal_insert_lsn()::text")
            async with asyncio.timeout(120):
                while not await standby.fetchval("select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position):
                    await asyncio.sleep(0.05)
        finally:
            await primary.close()
            await standby.close()


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def primary_and_standby(*, is_synchronous: bool = False) -> AsyncIterator[Pair]:
    home = Path(tempfile.mkdtemp(prefix="gl-pair-"))
    home.chmod(0o711)  # the account that the servers run as passes through
    primary = EmbeddedPostgres(home / "1", QUICK)
    standby, pair = None, None
    try:
        dsn = primary.start()
        (home / "1").chmod(0o711)
        connection = await asyncpg.connect(dsn)
        await migrate(connection)
        await establish_environment(connection, "sandbox")
        await connection.close()
        standby = StandbyPostgres(home / "2", dsn, "second", QUICK)
        standby.start()
        if is_synchronous:
            await execute(dsn, "alter system set synchronous_standby_names = 'second'")
            await execute(dsn, "select pg_reload_conf()")
        pair = Pair(primary, standby)
        yield pair
    finally:
        for server in (standby, primary) if pair is None else (pair.standby, pair.primary):
            if server is not None:
                server.stop()
        shutil.rmtree(home, ignore_errors=True)
