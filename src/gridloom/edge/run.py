"""A change: its handler and what it leaves behind in one transaction, once for each Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

from gridloom.edge.answer.render import EncodedResponse, render
from gridloom.edge.decode.body import take_fingerprint
from gridloom.edge.idempotency import IdempotencyScope, ReplayStored, StoredResponse, is_key_conflict
from gridloom.edge.request import Request

MAX_ATTEMPTS: Final = 5
_RETRIED: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

ReplayGuard = Callable[[Request], Awaitable[None]]
"""Refuses to repeat an answer that its caller may no longer have."""


async def run_in_transaction(
    request: Request, arguments: dict[str, Any], body: bytes, check_replay: ReplayGuard
) -> EncodedResponse:
    """Run a handler in its transaction, from the start again where PostgreSQL asks for it."""
    key = request.header("idempotency-key") if request.operation.method == "POST" else None
    fingerprint = await take_fingerprint(request, body) if key is not None else b""
    single_statement = request.operation.transaction == "single statement"
    for attempt in range(MAX_ATTEMPTS):
        if key is not None:
            request.retry = _make_retry(request, key, fingerprint)
        request.audit_details.clear()
        try:
            return await _attempt_change(request, arguments, single_statement=single_statement)
        except ReplayStored as known:
            await request.release()
            await check_replay(request)  # what was allowed then may be forbidden now
            stored = known.answer
            return EncodedResponse(stored.status, {**stored.headers, "Idempotency-Replayed": "true"}, stored.body)
        except _RETRIED:
            if attempt == MAX_ATTEMPTS - 1:
                raise
        except asyncpg.IntegrityConstraintViolationError as error:
            if not single_statement or not is_key_conflict(error):
                raise
            single_statement = False  # in a transaction the key is asked for first, and says what is known of it
            continue
        except asyncpg.InternalClientError:
            request.abandon_connection()
            raise
        finally:
            await request.release()
        await asyncio.sleep(0.005 * 2**attempt)
    raise AssertionError("unreachable")


def _make_retry(request: Request, key: str, fingerprint: bytes) -> IdempotencyScope:
    return IdempotencyScope(
        caller_key=request.caller_if_known.key if request.caller_if_known else f"public:{request.address}",
        operation_id=request.operation.operation_id,
        key=key,
        fingerprint=fingerprint,
        sealed=request.operation.secret_response,
    )


async def _attempt_change(request: Request, arguments: dict[str, Any], *, single_statement: bool) -> EncodedResponse:
    if single_statement:
        request.begin_single_statement()
    elif request.operation.transaction != "manual":
        await request.begin()
    outcome = render(request, await request.operation.handler(request, **arguments))
    if request.in_transaction:
        request.reject_unchecked_if_match()
        await request.record_audit(outcome.status)
        if request.retry is not None:
            await request.retry.finish(request.rows, StoredResponse(outcome.status, outcome.headers, outcome.body))
        await request.commit()
    return outcome
