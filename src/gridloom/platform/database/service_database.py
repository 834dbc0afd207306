"""The database of this service as a command reaches it, whether the service runs or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlsplit

import asyncpg

from gridloom.platform.database.migrate import pending_migrations
from gridloom.platform.database.server.embedded import DataDirectoryLockedError, EmbeddedPostgres, dsn_of_running
from gridloom.platform.database.server.service_role import give_to_service_role, service_dsn
from gridloom.settings import Settings


class CommandError(Exception):
    """A command cannot do what it was asked, in a sentence."""


@contextmanager
def resolve_dsn(settings: Settings) -> Iterator[str]:
    """The address of this service's database, whether the service runs or not."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    postgres = EmbeddedPostgres(settings.home)
    try:
        yield _start_postgres(postgres)
    finally:
        postgres.stop()


def _start_postgres(postgres: EmbeddedPostgres) -> str:
    """The address as the service's role has it, of this server or of the one that another process runs."""
    try:
        return asyncio.run(give_to_service_role(postgres.start()))
    except DataDirectoryLockedError:
        return service_dsn(dsn_of_running(postgres.home))


@contextmanager
def require_initialised_dsn(settings: Settings, *, of_any_release: bool = False) -> Iterator[str]:
    """The same, for what makes sense only where a service has run: no database is made on the way."""
    if settings.database_url is None and not EmbeddedPostgres(settings.home).data.exists():
        raise CommandError(
            f"There is no database in {settings.home.absolute()}. Run this where `gridloom serve` runs, with its "
            "settings: GRIDLOOM_HOME, or GRIDLOOM_DATABASE_URL."
        )
    with resolve_dsn(settings) as dsn:
        missing = asyncio.run(_missing_migrations(dsn))
        if missing is None or (missing and not of_any_release):
            state = "is empty" if missing is None else f"is not up to date ({', '.join(missing)})"
            raise CommandError(f"The database {state}. Run `gridloom migrate` or `gridloom serve` first.")
        yield dsn


@asynccontextmanager
async def connect_database(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A connection of its own, closed afterwards."""
    try:
        connection = await asyncpg.connect(dsn, timeout=10)
    except (OSError, asyncpg.PostgresError, TimeoutError) as error:
        where = urlsplit(dsn)
        raise CommandError(f"No connection to PostgreSQL at {where.hostname or where.path}: {error}") from error
    try:
        yield connection
    finally:
        await connection.close()


async def _missing_migrations(dsn: str) -> list[str] | None:
    """The migrations that this release would apply; None where there is no schema yet."""
    async with connect_database(dsn) as connection:
        if await connection.fetchval("select to_regclass('schema_migration')") is None:
            return None
        return await pending_migrations(connection)
