"""Databases of one's own: a server per test process, a fresh migrated database per caller."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg

from gridloom.database.embedded import EmbeddedPostgres
from gridloom.database.migrate import migrate

STANDING_CLOCK = """
create table if not exists test_clock (shift interval not null);
insert into test_clock values ('0');
create or replace function platform_now() returns timestamptz language sql stable as
  $$ select clock_timestamp() + (select shift from test_clock limit 1) $$;
"""


@functools.cache
def server() -> str:
    """Its folder and process end with this process."""
    folder = tempfile.TemporaryDirectory(prefix="gl-", ignore_cleanup_errors=True)
    embedded = EmbeddedPostgres(Path(folder.name) / "home", {"fsync": "off"})
    dsn = embedded.start()
    server.__dict__["kept"] = (folder, embedded)
    return dsn


@asynccontextmanager
async def fresh_database(*, movable_clock: bool = False) -> AsyncIterator[str]:
    name = f"t{uuid4().hex}"
    admin = await asyncpg.connect(server())
    try:
        await admin.execute(f"create database {name}")
        dsn = server().replace("///gridloom", f"///{name}")
        connection = await asyncpg.connect(dsn)
        try:
            await migrate(connection)
            if movable_clock or await connection.fetchval("select to_regproc('platform_now') is null"):
                await connection.execute(STANDING_CLOCK)
        finally:
            await connection.close()
        yield dsn
        await admin.execute(f"drop database {name} with (force)")
    finally:
        await admin.close()
