"""Whether the service lives, whether it is ready, and what its figures are."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Literal

import asyncpg

from gridloom.database.migrate import MigrationRefused, pending
from gridloom.edge import PUBLIC, Answer, Call, Content, View, operation
from gridloom.edge.metrics import exposition
from gridloom.kernel.problem import NotFound, Unauthenticated
from gridloom.settings import Settings

TAG = "Operations"
CHECK_TIMEOUT_S = 2


class Liveness(View):
    status: Literal["OK"]


class Check(View):
    name: str
    status: Literal["OK", "DEGRADED", "DOWN"]
    detail: str


class Readiness(View):
    status: Literal["OK", "DEGRADED", "DOWN"]
    checks: list[Check]


HealthCheck = Callable[[asyncpg.Pool], Awaitable[Check]]


class HealthChecks:
    """What readiness asks; rooms with something running of their own add to it."""

    def __init__(self) -> None:
        self.checks: list[HealthCheck] = [check_database, check_migrations]

    async def ask(self, pool: asyncpg.Pool) -> Readiness:
        checks = [await self._ask_one(check, pool) for check in self.checks]
        status = max((check.status for check in checks), key=("OK", "DEGRADED", "DOWN").index)
        return Readiness(status=status, checks=checks)

    async def _ask_one(self, check: HealthCheck, pool: asyncpg.Pool) -> Check:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                return await check(pool)
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return Check(name=name, status="DOWN", detail="no answer")


async def check_database(pool: asyncpg.Pool) -> Check:
    version = await pool.fetchval("show server_version")
    return Check(name="database", status="OK", detail=f"PostgreSQL {version}")


async def check_migrations(pool: asyncpg.Pool) -> Check:
    try:
        missing = await pending(pool)
    except (
        MigrationRefused
    ) as refused:  # a newer release has migrated already: this replica works on until it is replaced
        return Check(name="migrations", status="DEGRADED", detail=str(refused))
    if missing:
        return Check(name="migrations", status="DOWN", detail=f"not applied: {', '.join(missing)}")
    return Check(name="migrations", status="OK", detail="all applied")


@operation("GET", "/health/live", summary="Whether the process answers", tag=TAG, access=PUBLIC, rate_limit="public")
async def read_liveness(call: Call) -> Liveness:
    return Liveness(status="OK")


@operation(
    "GET", "/health/ready", summary="Whether the service can do its work", tag=TAG, access=PUBLIC, rate_limit="public"
)
async def read_readiness(call: Call) -> Answer[Readiness]:
    """Asks the database, the migrations and the job runner; 503 while one of them is down."""
    readiness = await call.resources[HealthChecks].ask(call.pool)
    return Answer(readiness, status=503 if readiness.status == "DOWN" else 200)


@operation(
    "GET",
    "/metrics",
    summary="Figures for Prometheus",
    tag=TAG,
    access=PUBLIC,
    rate_limit="public",
    produces=("text/plain",),
    problems=(Unauthenticated, NotFound),
)
async def read_metrics(call: Call) -> Content:
    """Needs the token in `GRIDLOOM_METRICS_TOKEN` as Bearer; without that setting there is nothing here."""
    wanted = call.resources[Settings].metrics_token
    if wanted is None:
        raise NotFound("Metrics are off: GRIDLOOM_METRICS_TOKEN is not set.")
    if not hmac.compare_digest((call.header("authorization") or "").encode(), f"Bearer {wanted}".encode()):
        raise Unauthenticated("Metrics need their own token.")
    body, media_type = exposition()
    return Content(body, media_type)
