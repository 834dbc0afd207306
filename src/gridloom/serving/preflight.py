"""`gridloom check`: whether a service with these settings could start and serve, found out without starting it."""

from __future__ import annotations

import asyncio
import shutil
import smtplib
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

import asyncpg

from gridloom.database.migrate import MIN_SERVER_VERSION
from gridloom.database.preflight_store import DatabaseFacts, read_database_facts
from gridloom.settings import (
    Settings,
    SettingsError,
    describe_unknown_variable,
    find_unknown_variables,
    read_settings,
)

MIN_FREE_BYTES = 1 << 30
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


def run_checks() -> list[CheckResult]:
    """Every check of the settings that this process would start with; a failed one does not hide the others."""
    results = [
        CheckResult("settings", Verdict.FAILED, describe_unknown_variable(name, nearest))
        for name, nearest in find_unknown_variables().items()
    ]
    try:
        settings = read_settings()
    except SettingsError as error:
        return [*results, *(CheckResult("settings", Verdict.FAILED, line) for line in str(error).splitlines())]
    if not results:
        results.append(CheckResult("settings", Verdict.OK, f"{settings.environment}, {settings.base_url}"))
    return [
        *results,
        *_check_database(settings),
        *_check_disk(settings),
        *_check_secrets(settings),
        *_check_proxy(settings),
        *_check_mail(settings),
    ]


def _check_database(settings: Settings) -> Iterator[CheckResult]:
    if settings.database_url is None:
        verdict = Verdict.WARNING if settings.environment == "production" else Verdict.OK
        yield CheckResult("database", verdict, f"the embedded server, in {settings.home.absolute()}")
        return
    where = urlsplit(settings.database_url)
    place = where.hostname or where.path
    began = time.time()
    try:
        facts = asyncio.run(read_database_facts(settings.database_url, TIMEOUT_S))
    except (OSError, asyncpg.PostgresError, TimeoutError) as error:
        yield CheckResult("database", Verdict.FAILED, f"No connection to PostgreSQL at {place}: {error}")
        return
    yield from validate_database(settings, facts)
    yield _compare_clocks(facts.clock, began, time.time())


def validate_database(settings: Settings, facts: DatabaseFacts) -> Iterator[CheckResult]:
    """What a server must be and allow; pure."""
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


def _check_disk(settings: Settings) -> Iterator[CheckResult]:
    place = settings.home.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    verdict = Verdict.OK if free >= MIN_FREE_BYTES else Verdict.FAILED
    yield CheckResult("disk", verdict, f"{free / 1e9:.1f} GB free at {place}")


def _check_secrets(settings: Settings) -> Iterator[CheckResult]:
    if settings.environment != "production":
        return
    if settings.secrets_key is None:
        yield CheckResult("secrets", Verdict.FAILED, "Set GRIDLOOM_SECRETS_KEY: it encrypts secrets in the database.")
    else:
        yield CheckResult("secrets", Verdict.OK, "GRIDLOOM_SECRETS_KEY is set")
    if settings.metrics_token is None and settings.metrics_port is None:
        detail = "GET /metrics is closed: set GRIDLOOM_METRICS_TOKEN or GRIDLOOM_METRICS_PORT to monitor the service."
        yield CheckResult("metrics", Verdict.WARNING, detail)


def _check_proxy(settings: Settings) -> Iterator[CheckResult]:
    if settings.environment != "production":
        return
    if not settings.base_url.startswith("https://"):
        detail = f"GRIDLOOM_BASE_URL is {settings.base_url}; sessions of the console need https."
        yield CheckResult("proxy", Verdict.FAILED, detail)
    else:
        yield CheckResult("proxy", Verdict.OK, settings.base_url)


def _check_mail(settings: Settings) -> Iterator[CheckResult]:
    if settings.smtp_url is None:
        return
    address = urlsplit(settings.smtp_url)
    host = address.hostname or ""
    try:
        is_tls = address.scheme == "smtps"
        connect = smtplib.SMTP_SSL if is_tls else smtplib.SMTP
        with connect(host, address.port or (465 if is_tls else 25), timeout=TIMEOUT_S) as server:
            server.ehlo()
            with suppress(smtplib.SMTPException):
                server.quit()
    except (OSError, smtplib.SMTPException) as error:
        yield CheckResult("mail", Verdict.FAILED, f"{host} does not answer: {error}")
    else:
        yield CheckResult("mail", Verdict.OK, host)
