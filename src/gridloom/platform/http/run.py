"""The third stage of a request: a read on the primary or a replica; a change in one transaction with its audit row and
stored response, once for each Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import asyncpg

from gridloom.platform.database.errors import DATABASE_ERRORS, classify_error
from gridloom.platform.database.replicas import Replicas
from gridloom.platform.http.answer.render import EncodedResponse, render
from gridloom.platform.http.idempotency import (
    IdempotencyScope,
    ReplayStored,
    StoredResponse,
    fingerprint_of,
)
from gridloom.platform.http.long_bodies.decoder_process import SUBPROCESS_MIN_BYTES
from gridloom.platform.http.request import Request

POSITION: Final = "Gridloom-Position"
"""Where there are read replicas: up to where a change has written the log, and what a read wants to see at least."""

MAX_ATTEMPTS: Final = 5
_RETRIED: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

ReplayGuard = Callable[[Request], Awaitable[None]]
"""Rejects the repetition of a response that its caller may no longer have."""


async def run(
    request: Request, arguments: dict[str, Any], body: bytes, replicas: Replicas | None, check_replay: ReplayGuard
) -> EncodedResponse:
    if not request.operation.changes_state:
        if replicas is not None and request.operation.replica_read:
            return await _read_from_replica(replicas, request, arguments)
        return render(request, await request.operation.handler(request, **arguments))
    response = await run_in_transaction(request, arguments, body, check_replay)
    if replicas is not None:
        with suppress(*DATABASE_ERRORS):  # the change has happened; without a position reads ask the primary
            response.headers[POSITION] = await replicas.seal_primary_position()
    return response


async def _read_from_replica(replicas: Replicas, request: Request, arguments: dict[str, Any]) -> EncodedResponse:
    """The primary answers where no replica has replayed enough, and where a replica failed."""
    primary = request.pool
    replica = await replicas.find(request.header(POSITION))
    if replica is not None:
        request.pool = replica.pool
        try:
            return render(request, await request.operation.handler(request, **arguments))
        except DATABASE_ERRORS as error:
            failure = classify_error(error)
            if failure is None:
                raise
            replica.record_failed_read(request.operation.operation_id, failure)
            request.pool = primary
    return render(request, await request.operation.handler(request, **arguments))


async def run_in_transaction(
    request: Request, arguments: dict[str, Any], body: bytes, check_replay: ReplayGuard
) -> EncodedResponse:
    """Run a handler in its transaction, from the start again after a serialization failure."""
    key = request.header("idempotency-key") if request.operation.method == "POST" else None
    fingerprint = await _take_fingerprint(request, body) if key is not None else b""
    for attempt in range(MAX_ATTEMPTS):
        if key is not None:
            request.retry = _make_retry(request, key, fingerprint)
        request.audit_details.clear()
        try:
            return await _attempt_change(request, arguments)
        except ReplayStored as known:
            await request.release()
            await check_replay(request)  # what was allowed then may be forbidden now
            stored = known.answer
            return EncodedResponse(stored.status, {**stored.headers, "Idempotency-Replayed": "true"}, stored.body)
        except _RETRIED:
            if attempt == MAX_ATTEMPTS - 1:
                raise
        except asyncpg.InternalClientError:
            request.abandon_connection()
            raise
        finally:
            await request.release()
        await asyncio.sleep(0.005 * 2**attempt)
    raise AssertionError("unreachable")


async def _take_fingerprint(request: Request, body: bytes) -> bytes:
    """Tells a repetition of a request from another one under the same Idempotency-Key."""
    if len(body) <= SUBPROCESS_MIN_BYTES:
        return fingerprint_of(request.operation.method, request.target, body)
    return await asyncio.to_thread(fingerprint_of, request.operation.method, request.target, body)


def _make_retry(request: Request, key: str, fingerprint: bytes) -> IdempotencyScope:
    return IdempotencyScope(
        caller_key=request.caller_if_known.key if request.caller_if_known else f"public:{request.address}",
        operation_id=request.operation.operation_id,
        key=key,
        fingerprint=fingerprint,
        sealed=request.operation.secret_response,
    )


async def _attempt_change(request: Request, arguments: dict[str, Any]) -> EncodedResponse:
    if request.operation.transaction != "manual":
        await request.begin()
    outcome = render(request, await request.operation.handler(request, **arguments))
    if request.in_transaction:
        request.reject_unchecked_if_match()
        if request.operation.audited:
            await request.audit(request.db, request, outcome.status)
        if request.retry is not None:
            await request.retry.finish(request.db, StoredResponse(outcome.status, outcome.headers, outcome.body))
        await request.commit()
    return outcome
