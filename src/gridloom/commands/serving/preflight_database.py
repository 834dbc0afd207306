"""The part of `gridloom check` about the database: the server, the role, and whether its contents fit the settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

import asyncpg

from gridloom.platform.database.migrate import MIN_SERVER_VERSION, MigrationError
from gridloom.platform.database.preflight_store import DatabaseFacts, read_database_facts, read_environment
from gridloom.platform.database.sealing import Sealing, SecretUnreadable
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.identity.bootstrap import NO_SECRETS_KEY, BootstrapError, validate_credentials
from gridloom.platform.identity.store.organisations import is_empty_platform
from gridloom.platform.identity.store.signing_keys import list_signing_keys
from gridloom.settings import MIN_SECRETS_KEY_LENGTH, Settings

MAX_CLOCK_SKEW_S = 2.0
TIMEOUT_S = 10


class Verdict(Enum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    name: str
    verdict: Verdict
    detail: str


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """The contents of a database that decide which settings may serve it; as here where it has no schema yet."""

    environment: str | None = None
    is_empty: bool = True
    unreadable: str | None = None
    """Why the signing keys cannot be read with the keys of the settings."""


def check_database(settings: Settings) -> Iterator[CheckResult]:
    if settings.database_url is None:
        verdict = Verdict.WARNING if settings.environment == "production" else Verdict.OK
        yield CheckResult("database", verdict, f"the embedded server, in {settings.home.absolute()}")
        begins = None if EmbeddedPostgres(settings.home).data.exists() else PlatformFacts()
        if begins is not None:
            yield from validate_platform(settings, begins)
        yield from validate_secrets(settings, begins)
        return
    began = time.time()
    platform: PlatformFacts | None = None
    try:
        facts = asyncio.run(read_database_facts(settings.database_url, TIMEOUT_S))
        found = asyncio.run(_read_platform(settings)) if facts.has_schema else PlatformFacts()
    except MigrationError as error:
        yield CheckResult("database", Verdict.FAILED, str(error))
    except (OSError, asyncpg.PostgresError, TimeoutError) as error:
        detail = f"No connection to PostgreSQL at {_describe_place(settings.database_url)}: {error}"
        yield CheckResult("database", Verdict.FAILED, detail)
    else:
        platform = found
        yield from validate_database(settings, facts)
        yield _compare_clocks(facts.clock, began, time.time())
        yield from validate_platform(settings, found)
    yield from validate_secrets(settings, platform)
    yield from _check_further_servers(settings)


async def _read_platform(settings: Settings) -> PlatformFacts:
    assert settings.database_url is not None
    connection = await asyncpg.connect(settings.database_url, timeout=TIMEOUT_S)
    try:
        unreadable = None
        try:
            seal = Sealing(settings.secrets_key, settings.former_secrets_keys).signing_keys
            await list_signing_keys(connection, seal)
        except SecretUnreadable as error:
            unreadable = str(error)
        return PlatformFacts(await read_environment(connection), await is_empty_platform(connection), unreadable)
    finally:
        await connection.close()


def validate_database(settings: Settings, facts: DatabaseFacts) -> Iterator[CheckResult]:
    """Requirements on a server; pure."""
    if facts.version < MIN_SERVER_VERSION:
        detail = f"PostgreSQL {MIN_SERVER_VERSION // 10000} or later is needed; this is {facts.version // 10000}."
        yield CheckResult("database", Verdict.FAILED, detail)
    elif facts.is_read_only:
        yield CheckResult("database", Verdict.FAILED, "The server is a standby or read-only. Name the primary.")
    else:
        yield CheckResult("database", Verdict.OK, f"PostgreSQL {facts.version // 10000}, {facts.schema_state}")
    if not facts.may_create:
        detail = f"The role {facts.role} may not create tables in the schema public: it must own the database."
        yield CheckResult("rights", Verdict.FAILED, detail)
    elif facts.missing_extensions:
        detail = f"Not installed on the server: {', '.join(facts.missing_extensions)} (they come with PostgreSQL)."
        yield CheckResult("rights", Verdict.FAILED, detail)
    else:
        yield CheckResult("rights", Verdict.OK, f"role {facts.role}")
    needed = settings.workers * (settings.pool_size + 1)
    if needed > facts.free_connections:
        detail = f"This service opens up to {needed} connections; the server has {facts.free_connections} left."
        yield CheckResult("connections", Verdict.WARNING, detail)
    else:
        yield CheckResult("connections", Verdict.OK, f"up to {needed} of {facts.free_connections} that are left")


def _compare_clocks(database_s: float, before_s: float, after_s: float) -> CheckResult:
    """The database's clock decides; a host whose clock differs writes logs and signatures that mislead."""
    skew = max(before_s - database_s, database_s - after_s, 0.0)
    verdict = Verdict.OK if skew <= MAX_CLOCK_SKEW_S else Verdict.WARNING
    return CheckResult("clock", verdict, f"{skew:.1f} s apart from the database's")


def validate_platform(settings: Settings, platform: PlatformFacts) -> Iterator[CheckResult]:
    """Requirements of the contents on the settings; pure."""
    if platform.environment not in (None, settings.environment):
        detail = f"The database belongs to a {platform.environment} service and cannot serve {settings.environment}."
        yield CheckResult("environment", Verdict.FAILED, detail)
    if platform.is_empty and settings.environment == "production":
        try:
            validate_credentials(settings.bootstrap_username, settings.bootstrap_password)
        except BootstrapError as error:
            yield CheckResult("first ADMIN", Verdict.FAILED, str(error))
        else:
            yield CheckResult("first ADMIN", Verdict.OK, f"{settings.bootstrap_username} is created at the first start")


def validate_secrets(settings: Settings, platform: PlatformFacts | None) -> Iterator[CheckResult]:
    """The key that seals secrets; pure. A production that was upgraded may serve without one, no other may."""
    if platform is not None and platform.unreadable is not None:
        detail = f"{platform.unreadable} A former key goes into GRIDLOOM_FORMER_SECRETS_KEYS."
        yield CheckResult("secrets", Verdict.FAILED, detail)
    elif settings.environment != "production":
        return
    elif settings.secrets_key is None:
        is_upgraded = platform is not None and not platform.is_empty
        yield CheckResult("secrets", Verdict.WARNING if is_upgraded else Verdict.FAILED, NO_SECRETS_KEY)
    elif len(settings.secrets_key) >= MIN_SECRETS_KEY_LENGTH:  # a shorter one is named among the settings
        yield CheckResult("secrets", Verdict.OK, "GRIDLOOM_SECRETS_KEY is set")


def _check_further_servers(settings: Settings) -> Iterator[CheckResult]:
    """None of them need be there when the service starts."""
    servers = [("read replica", url) for url in settings.read_database_urls]
    if settings.telemetry_database_url is not None:
        servers.append(("telemetry database", settings.telemetry_database_url))
    for name, url in servers:
        try:
            asyncio.run(_connect_briefly(url))
        except (OSError, asyncpg.PostgresError, TimeoutError) as error:
            yield CheckResult(name, Verdict.WARNING, f"No connection to PostgreSQL at {_describe_place(url)}: {error}")
        else:
            yield CheckResult(name, Verdict.OK, _describe_place(url))


async def _connect_briefly(url: str) -> None:
    await (await asyncpg.connect(url, timeout=TIMEOUT_S)).close()


def _describe_place(url: str) -> str:
    """Without user and password."""
    where = urlsplit(url)
    return where.netloc.rpartition("@")[2] or where.path
