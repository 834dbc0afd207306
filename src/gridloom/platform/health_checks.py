"""Health checks: their result, and how readiness runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import asyncpg
import structlog

from gridloom.platform.database.errors import DATABASE_ERRORS, classify_error
from gridloom.platform.http.fields import ResponseBody

log = structlog.get_logger("gridloom.platform.health")

CHECK_TIMEOUT_S: Final = 1.5


class Check(ResponseBody):
    name: str
    status: Literal["OK", "DEGRADED", "DOWN"]
    detail: str


class Readiness(ResponseBody):
    status: Literal["OK", "DEGRADED", "DOWN"]
    checks: list[Check]


HealthCheck = Callable[[asyncpg.Pool], Awaitable[Check]]


class HealthChecks:
    """The checks of readiness; a package that runs something of its own appends its check.

    `required` are those without which this replica cannot serve: readiness is DOWN when one of them is. What other
    parts do, other replicas do as well: readiness is DEGRADED when one of those is DOWN.
    """

    def __init__(self, *required: HealthCheck, timeout_s: float = CHECK_TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self.checks: list[HealthCheck] = list(required)
        self._required = required
        self._asked: dict[str, asyncio.Task[Check]] = {}
        self._logged: str = "OK"

    async def ask(self, pool: asyncpg.Pool) -> Readiness:
        """Runs all checks concurrently, for at most `timeout_s`. A check that hangs is not started again.

        Concurrent requests share one run: each check runs once at a time.
        """
        tasks = [self._begin_check(check, pool) for check in self.checks]
        await asyncio.wait(tasks, timeout=self.timeout_s)
        checks = [_outcome_of(check, task) for check, task in zip(self.checks, tasks, strict=True)]
        is_well = all(check.status == "OK" for check in checks)
        cannot_serve = any(check.status == "DOWN" for check in checks[: len(self._required)])
        readiness = Readiness(status="DOWN" if cannot_serve else "OK" if is_well else "DEGRADED", checks=checks)
        self._log_change(readiness)
        return readiness

    def _log_change(self, readiness: Readiness) -> None:
        """One line for each change, however often probes ask."""
        if readiness.status == self._logged:
            return
        self._logged = readiness.status
        write = {"OK": log.info, "DEGRADED": log.warning, "DOWN": log.error}[readiness.status]
        wrong = {check.name: check.detail for check in readiness.checks if check.status != "OK"}
        write("readiness.changed", status=readiness.status, checks=wrong)

    def _begin_check(self, check: HealthCheck, pool: asyncpg.Pool) -> asyncio.Task[Check]:
        name = _name_of(check)
        running = self._asked.get(name)
        if running is None or running.done():
            running = self._asked[name] = asyncio.create_task(_run_check(check, pool), name=f"health: {name}")
        return running


def _name_of(check: HealthCheck) -> str:
    return check.__name__.removeprefix("check_").replace("_", " ")


async def _run_check(check: HealthCheck, pool: asyncpg.Pool) -> Check:
    try:
        return await check(pool)
    except DATABASE_ERRORS as error:
        outage = classify_error(error)
        return Check(name=_name_of(check), status="DOWN", detail=outage.value if outage else "no answer")


def _outcome_of(check: HealthCheck, task: asyncio.Task[Check]) -> Check:
    if not task.done():
        return Check(name=_name_of(check), status="DOWN", detail="no answer")
    return task.result()
