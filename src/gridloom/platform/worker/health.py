"""Liveness, readiness and metrics of the service."""

from __future__ import annotations

import asyncio
import hmac
import os
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import asyncpg
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest, multiprocess

from gridloom.kernel.problem import NotFound, Unauthenticated
from gridloom.platform.database.errors import DATABASE_ERRORS, DatabaseFailure, RefusedWrites, classify_error
from gridloom.platform.database.migrate import MigrationError, pending_migrations
from gridloom.platform.database.nodes import WorkerNode, read_worker_nodes, record_write_probe, try_space
from gridloom.platform.database.replicas import Replicas
from gridloom.platform.health_checks import Check, HealthCheck, HealthChecks, Readiness
from gridloom.platform.http import PROBE, PUBLIC, Content, Request, Response, ResponseBody, operation
from gridloom.platform.identity.permissions import OrganisationKind
from gridloom.platform.identity.token_verification.verification import TokenAuthenticator
from gridloom.settings import Settings

TAG = "Operations"
CALLER_TIMEOUT_S: Final = 0.3
PROBE_EVERY_S: Final = 1.0
NODES_EVERY_S: Final = 2.0
MEBIBYTE: Final = 1024 * 1024
MIN_FREE_BYTES: Final = 512 * MEBIBYTE
MIN_FREE_RATIO: Final = 0.05


class Liveness(ResponseBody):
    status: Literal["OK"]


def standard_checks(*more: HealthCheck) -> HealthChecks:
    """Without the database, a write to it and its migrations no worker can serve; then `more`."""
    checks = HealthChecks(check_database, WriteProbe().check_writes, check_migrations)
    checks.checks.extend(more)
    return checks


async def check_database(pool: asyncpg.Pool) -> Check:
    version = await pool.fetchval("show server_version")
    return Check(name="database", status="OK", detail=f"PostgreSQL {version}")


class WriteProbe:
    """Whether a row can be written, tried at most once a second however often it is asked.

    A small row is still written to a full disk. Once a request was refused for want of space, a row as large as those
    that need room is tried, until it succeeds.
    """

    def __init__(self) -> None:
        self._written_at = -PROBE_EVERY_S
        self._room_found_at = float("-inf")

    async def check_writes(self, pool: asyncpg.Pool) -> Check:
        if time.monotonic() - self._written_at >= PROBE_EVERY_S:
            try:
                await self._try_writing(pool)
            except DATABASE_ERRORS as error:
                failure = classify_error(error)
                if failure not in (DatabaseFailure.OUT_OF_SPACE, DatabaseFailure.READ_ONLY):
                    raise
                effect = "Changes and telemetry are refused; reads are answered."
                return Check(name="writes", status="DOWN", detail=f"{failure.value} {effect}")
            self._written_at = time.monotonic()
        return Check(name="writes", status="OK", detail="a row was written")

    async def _try_writing(self, pool: asyncpg.Pool) -> None:
        asked_at = time.monotonic()
        if RefusedWrites.last_at > self._room_found_at:
            await try_space(pool, MEBIBYTE)
            self._room_found_at = asked_at
        await record_write_probe(pool)


class DiskSpaceCheck:
    """How full the disk is on which the embedded database and the figures live."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def check_disk(self, pool: asyncpg.Pool) -> Check:
        usage = await asyncio.to_thread(shutil.disk_usage, self._home)
        is_scarce = usage.free < MIN_FREE_BYTES or usage.free < MIN_FREE_RATIO * usage.total
        detail = f"{100 * usage.free / usage.total:.0f} % free"
        if is_scarce:
            detail = f"nearly full: {usage.free // MEBIBYTE} MiB free"
        return Check(name="disk", status="DEGRADED" if is_scarce else "OK", detail=detail)


class ReplicaCheck:
    """Which read replicas are left out, and why; the primary answers for them meanwhile."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    async def check_replicas(self, pool: asyncpg.Pool) -> Check:
        left_out = [one for one in self._replicas.all if one.disabled_because is not None]
        detail = f"{len(self._replicas.all) - len(left_out)} of {len(self._replicas.all)} answer reads"
        if left_out:
            detail += "; left out: " + ", ".join(f"{one.name} ({one.disabled_because})" for one in left_out)
        return Check(name="replicas", status="DEGRADED" if left_out else "OK", detail=detail)


class NodeCheck:
    """Which worker nodes of a distributed database do not answer, and what lies on them; asked every few seconds."""

    def __init__(self) -> None:
        self._asked_at = -NODES_EVERY_S
        self._last: Check

    async def check_nodes(self, pool: asyncpg.Pool) -> Check:
        if time.monotonic() - self._asked_at >= NODES_EVERY_S:
            self._last = describe_nodes(await read_worker_nodes(pool))
            self._asked_at = time.monotonic()
        return self._last


def describe_nodes(nodes: Sequence[WorkerNode]) -> Check:
    lost = [node for node in nodes if not node.answers]
    if not lost:
        detail = f"{len(nodes)} worker nodes answer" if nodes else "a single server"
        return Check(name="nodes", status="OK", detail=detail)
    total = Counter[str]()
    for node in nodes:
        total.update(node.shards)
    gone = Counter[str]()
    for node in lost:
        gone.update(node.shards)
    parts = ", ".join(f"{count} of {total[group]} shards by {group}" for group, count in sorted(gone.items()))
    detail = f"{len(lost)} of {len(nodes)} worker nodes do not answer; lost until they are back: {parts or 'no shards'}"
    return Check(name="nodes", status="DEGRADED", detail=f"{detail} ({', '.join(node.address for node in lost)})")


async def check_migrations(pool: asyncpg.Pool) -> Check:
    try:
        missing = await pending_migrations(pool)
    except MigrationError as refused:
        # A newer release has migrated already: this replica works on until it is replaced.
        return Check(name="migrations", status="DEGRADED", detail=str(refused))
    if missing:
        return Check(name="migrations", status="DOWN", detail=f"not applied: {', '.join(missing)}")
    return Check(name="migrations", status="OK", detail="all applied")


@operation("GET", "/health/live", summary="Whether the process answers", access=PROBE)
async def read_liveness(request: Request) -> Liveness:
    """Uses no dependency: it answers whatever the state of the database."""
    return Liveness(status="OK")


@operation("GET", "/health/ready", summary="Whether the service can do its work", access=PROBE)
async def read_readiness(request: Request) -> Response[Readiness]:
    """One check for each part, with what is wrong with it. 503 only while this replica cannot serve: the database does
    not answer, nothing can be written, migrations are missing, or the replica is stopping. Anything else that is wrong
    (job runner, event sequencer, webhooks, disk, read replicas, worker nodes, revocations) is `DEGRADED` with a 200.

    It answers within two seconds, whatever hangs. Which release of PostgreSQL runs, and at which addresses worker nodes
    are missing, is shown to the operator only.
    """
    readiness = await request.resources[HealthChecks].ask(request.pool)
    if request.stopping.is_set():
        stopping = Check(name="service", status="DOWN", detail="is stopping")
        readiness = Readiness(status="DOWN", checks=[stopping, *readiness.checks])
    if readiness.status == "DOWN" or not await _is_operator(request):
        readiness = Readiness(status=readiness.status, checks=[_without_internals(check) for check in readiness.checks])
    return Response(readiness, status=503 if readiness.status == "DOWN" else 200)


async def _is_operator(request: Request) -> bool:
    """Whether the request carries a token of the operator; a token that is none makes no difference here."""
    scheme, _, token = (request.header("authorization") or "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    # Waited for, never cancelled: to cancel a question to a database that hangs takes until it answers.
    asked = asyncio.create_task(_organisation_kind_of(request, token.strip()))
    await asyncio.wait({asked}, timeout=CALLER_TIMEOUT_S)
    return asked.done() and asked.result() == OrganisationKind.OPERATOR


async def _organisation_kind_of(request: Request, token: str) -> str | None:
    try:
        return (await request.resources[TokenAuthenticator].authenticate(token)).organisation_kind
    except (Unauthenticated, *DATABASE_ERRORS):
        return None


def _without_internals(check: Check) -> Check:
    if check.name == "database" and check.status == "OK":
        return Check(name=check.name, status=check.status, detail="answers")
    if check.name == "nodes":
        return Check(name=check.name, status=check.status, detail=check.detail.partition(" (")[0])
    return check


@operation(
    "GET",
    "/metrics",
    summary="Figures for Prometheus",
    access=PUBLIC,
    produces=("text/plain",),
    problems=(Unauthenticated, NotFound),
)
async def read_metrics(request: Request) -> Content:
    """Needs the token in `GRIDLOOM_METRICS_TOKEN` as Bearer; without that setting there is nothing here."""
    wanted = request.resources[Settings].metrics_token
    if wanted is None:
        raise NotFound("Metrics are off: GRIDLOOM_METRICS_TOKEN is not set.")
    if not hmac.compare_digest((request.header("authorization") or "").encode(), f"Bearer {wanted}".encode()):
        raise Unauthenticated("Metrics need their own token.")
    return Content(generate_latest(_find_registry()), CONTENT_TYPE_LATEST)


def _find_registry() -> CollectorRegistry:
    """All workers' metrics where they share a directory, else this process's."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
