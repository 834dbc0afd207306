"""The service as a process tree: its PostgreSQL, its workers, and one supervisor that keeps both alive."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import structlog

from gridloom.commands.serving.ports import find_port_fault
from gridloom.commands.serving.supervisor import Supervisor, load_service
from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.migrate import migrate
from gridloom.platform.database.pool import Pool, create_pool
from gridloom.platform.database.sealing import Sealing, SecretUnreadable
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.server.service_role import give_to_service_role
from gridloom.platform.database.service_database import connect_database
from gridloom.platform.release import release_name
from gridloom.settings import Settings, address_of

if TYPE_CHECKING:
    from gridloom.platform.identity.bootstrap import Bootstrap
    from gridloom.sandbox.simulator.credentials import SignIn

# What is heavy is loaded late: a start that is refused says so at once.

MAX_DESCRIPTORS = 131_072

log = structlog.get_logger(__name__)


class StartupError(Exception):
    """The service cannot start, in a sentence that says why."""


@dataclass(frozen=True, slots=True)
class StartupReport:
    """The addresses and sign-in shown once the service answers."""

    address: str
    settings: Settings
    embedded: bool
    migrations: list[str]
    bootstrap: Bootstrap | None
    sign_ins: list[SignIn]
    history: str | None
    """How far the simulated world has played its past, or why there is none; None where it is complete."""
    seconds: float


def serve(settings: Settings, announce: Callable[[StartupReport], None]) -> None:
    """Run the service until SIGTERM or Ctrl-C; what is in flight is finished, and no process stays behind."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, _leave_process)
    _check_ports(settings)
    # A person at the keyboard of a sandbox sees the announcement instead.
    note = log.debug if (settings.environment, settings.log_format) == ("sandbox", "console") else log.info
    note("service.starting", environment=settings.environment, version=release_name(), pid=os.getpid())
    _raise_descriptor_limit()
    with ExitStack() as stack:
        postgres = None
        if settings.database_url is None:
            postgres = EmbeddedPostgres(settings.home)
            stack.callback(postgres.stop)
            postgres.launch()
            load_service()  # while the database comes up
            database_url = asyncio.run(give_to_service_role(postgres.await_ready()))
            settings = replace(settings, database_url=database_url, is_embedded=True)
        migrations, bootstrap = asyncio.run(prepare(settings))
        sign_ins: list[SignIn] = []
        if settings.environment == "sandbox":
            from gridloom.commands.serving.operator_sign_in import recall_operator

            bootstrap = asyncio.run(recall_operator(settings, bootstrap))
            sign_ins = asyncio.run(prepare_simulator(settings))
        settings = replace(settings, workers=min(settings.workers, _count_cores()))

        def on_ready() -> None:
            from gridloom.commands.serving.simulator_process import describe_history, follow_history

            seconds = time.monotonic() - began
            embedded = postgres is not None
            history = asyncio.run(describe_history(settings)) if settings.simulator else None
            note(
                "service.ready",
                address=address_of(settings),
                workers=settings.workers,
                migrations=migrations,
                seconds=round(seconds, 2),
            )
            announce(
                StartupReport(
                    address_of(settings), settings, embedded, migrations, bootstrap, sign_ins, history, seconds
                )
            )
            if history is not None and sign_ins:
                threading.Thread(target=follow_history, args=(settings,), name="history", daemon=True).start()

        failure = Supervisor(settings, postgres, on_ready).run()
    log.info("service.stopped", seconds=round(time.monotonic() - began, 2))
    if failure is not None:
        raise StartupError(failure)


async def prepare(settings: Settings) -> tuple[list[str], Bootstrap | None]:
    """Bring the database up to this release, mark it as this environment's and give it its operator."""
    from gridloom.platform.identity.bootstrap import bootstrap_operator

    assert settings.database_url is not None
    async with connect_database(settings.database_url) as connection:
        await _reject_standby(connection, settings.database_url)
        applied = await migrate(connection)
        await establish_environment(connection, settings.environment)
    sealing = Sealing(settings.secrets_key, settings.former_secrets_keys)
    async with await create_pool(settings.database_url, size=1) as pool:
        bootstrap = await bootstrap_operator(
            pool,
            settings.bootstrap_username,
            settings.bootstrap_password,
            in_production=settings.environment == "production",
            seal=sealing.signing_keys,
        )
        await _check_secrets(pool, settings, sealing)
    return applied, bootstrap


async def _check_secrets(pool: Pool, settings: Settings, sealing: Sealing) -> None:
    """Refuse to serve what could sign no token, and warn where a production's secrets lie open in the database."""
    from gridloom.platform.identity.bootstrap import NO_SECRETS_KEY
    from gridloom.platform.identity.store.signing_keys import list_signing_keys

    try:
        await list_signing_keys(pool, sealing.signing_keys)
    except SecretUnreadable as error:
        raise StartupError(
            f"{error} Set the one that this database was sealed with; a former one goes into "
            "GRIDLOOM_FORMER_SECRETS_KEYS."
        ) from error
    if settings.environment == "production" and settings.secrets_key is None:
        log.warning("secrets.not_sealed", advice=NO_SECRETS_KEY)


async def _reject_standby(connection: asyncpg.Connection[asyncpg.Record], dsn: str) -> None:
    if await connection.fetchval("select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"):
        where = urlsplit(dsn)
        raise StartupError(
            f"The PostgreSQL at {where.hostname or where.path} is a standby or takes no changes. "
            "Set GRIDLOOM_DATABASE_URL to the primary."
        )


async def prepare_simulator(settings: Settings) -> list[SignIn]:
    """Give a sandbox its world and the simulator a way in; the sign-ins of its people, if there is a world."""
    from gridloom.commands.operator import invite_simulator
    from gridloom.sandbox.simulated_clock import prepare_world
    from gridloom.sandbox.simulator_store import read_simulation

    assert settings.database_url is not None
    async with await create_pool(settings.database_url, size=1) as pool, pool.acquire() as connection:
        async with connection.transaction():
            await prepare_world(
                connection,
                is_on=settings.simulator,
                seed=settings.simulator_seed,
                history_days=settings.simulator_days,
            )
        if not settings.simulator:
            return []
        sign_ins = await invite_simulator(connection, settings.home)
        return [] if await read_simulation(connection) is None else sign_ins


def _raise_descriptor_limit() -> None:
    """As many open connections as the system lets this user have; the usual first limit of 1,024 is soon reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MAX_DESCRIPTORS), hard))


def _leave_process(*_: object) -> None:
    raise SystemExit(0)


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_ports(settings: Settings) -> None:
    """Refuse a port that is taken, that of the metrics as well: it is opened only once the service answers."""
    ports = {"GRIDLOOM_PORT": settings.port, "GRIDLOOM_METRICS_PORT": settings.metrics_port}
    for variable, port in ports.items():
        fault = None if port is None else find_port_fault(settings.host, port)
        if fault is not None:
            raise StartupError(
                f"Port {port} on {settings.host} cannot be had ({fault}). "
                f"Stop what uses it, or set {variable} to another."
            )
    if settings.port == settings.metrics_port:
        raise StartupError(f"GRIDLOOM_PORT and GRIDLOOM_METRICS_PORT are both {settings.port}. Set one to another.")
