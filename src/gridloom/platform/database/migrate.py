"""The schema's history: numbered SQL files, each applied once, in order, in a transaction of its own."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from gridloom.platform.database.append_only import revoke_changes
from gridloom.platform.database.pool import Database

MIGRATIONS = Path(__file__).parent / "migrations"
MIN_SERVER_VERSION = 150000
LOCK_KEY = 0x6772_6964_6C6F_6F6D  # "gridloom"; one process migrates at a time, the others wait

_ASKS_FOR_EXTENSION = re.compile(r"^create extension if not exists (\w+);$", re.MULTILINE)

HISTORY = """
create table if not exists schema_migration (
  name text primary key,
  sha256 text not null,
  applied_at timestamptz(3) not null default clock_timestamp())
"""


class MigrationError(Exception):
    """The database and the migrations of this release do not belong together."""


@dataclass(frozen=True, slots=True)
class Migration:
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def read_migrations(directory: Path = MIGRATIONS) -> list[Migration]:
    """The files `NNNN_name.sql` in the order of their numbers."""
    found = [Migration(path.stem, path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.sql"))]
    numbers: dict[str, str] = {}
    for migration in found:
        if not re.fullmatch(r"\d{4}_[a-z0-9_]+", migration.name):
            raise MigrationError(f"{migration.name}.sql is not named like 0001_what_it_does.sql.")
        number = migration.name[:4]
        if number in numbers:
            raise MigrationError(f"{numbers[number]}.sql and {migration.name}.sql have the same number.")
        numbers[number] = migration.name
    return found


async def migrate(connection: "asyncpg.Connection[asyncpg.Record]", directory: Path = MIGRATIONS) -> list[str]:
    """Bring the database up to this release and name what was applied; any number of replicas may call it at once."""
    migrations = read_migrations(directory)
    version = int(await connection.fetchval("show server_version_num"))
    if version < MIN_SERVER_VERSION:
        raise MigrationError(f"PostgreSQL 15 or later is needed; this server is {version // 10000}.")
    applied = []
    while (name := await _apply_next(connection, migrations)) is not None:
        applied.append(name)
    return applied


async def pending_migrations(connection: Database, directory: Path = MIGRATIONS) -> list[str]:
    """The migrations that `migrate` would apply; empty when the database is up to date."""
    if await connection.fetchval("select to_regclass('schema_migration')") is None:
        return [migration.name for migration in read_migrations(directory)]
    return [migration.name for migration in await _list_outstanding(connection, read_migrations(directory))]


async def _apply_next(connection: "asyncpg.Connection[asyncpg.Record]", migrations: list[Migration]) -> str | None:
    async with connection.transaction():
        # Of the transaction, not of the session: it also holds behind a pooler, and a crash lets it go.
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK_KEY)
        await connection.execute(HISTORY)
        outstanding = await _list_outstanding(connection, migrations)
        if not outstanding:
            await revoke_changes(connection)
            return None
        migration = outstanding[0]
        try:
            await connection.execute(await _leave_out_known_extensions(connection, migration.sql))
        except asyncpg.PostgresError as error:
            raise MigrationError(f"{migration.name}.sql failed and was undone: {error}") from error
        await connection.execute(
            "insert into schema_migration (name, sha256) values ($1, $2)", migration.name, migration.sha256
        )
        return migration.name


async def _leave_out_known_extensions(connection: Database, sql: str) -> str:
    """The same without asking for extensions that are there: a database with Citus refuses even `if not exists` to
    other roles than their owner, who may be the superuser that prepared it."""
    known = {row["extname"] for row in await connection.fetch("select extname from pg_extension")}
    return _ASKS_FOR_EXTENSION.sub(lambda found: "" if found[1] in known else found[0], sql)


async def _list_outstanding(connection: Database, migrations: list[Migration]) -> list[Migration]:
    rows = await connection.fetch("select name, sha256 from schema_migration")
    applied = {row["name"]: row["sha256"] for row in rows}
    shipped = {migration.name: migration.sha256 for migration in migrations}
    for name, sha256 in sorted(applied.items()):
        if name not in shipped:
            raise MigrationError(
                f"The database has had {name}.sql, which this release does not know: it is from a newer release."
            )
        if shipped[name] != sha256:
            raise MigrationError(
                f"{name}.sql was changed after it had been applied to this database. Put the file back as it was "
                "and write the change as a new migration."
            )
    return [migration for migration in migrations if migration.name not in applied]
