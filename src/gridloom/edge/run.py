"""A change: its handler and what it leaves behind in one transaction, once for each Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

from gridloom.edge.answer.render import EncodedResponse, render
from gridloom.edge.call import Call
from gridloom.edge.decode.body import take_fingerprint
from gridloom.edge.idempotency import IdempotencyScope, ReplayStored, StoredResponse, is_key_conflict

MAX_ATTEMPTS: Final = 5
_RETRIED: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

ReplayGuard = Callable[[Call], Awaitable[None]]
"""Refuses to repeat an answer that its caller may no longer have."""


async def run_in_transaction(
    call: Call, arguments: dict[str, Any], body: bytes, check_replay: ReplayGuard
) -> EncodedResponse:
    """Run a handler in its transaction, from the start again where PostgreSQL asks for it."""
    key = call.header("idempotency-key") if call.operation.method == "POST" else None
    fingerprint = await take_fingerprint(call, body) if key is not None else b""
    single_statement = call.operation.single_statement
    for attempt in range(MAX_ATTEMPTS):
        if key is not None:
            call.retry = _make_retry(call, key, fingerprint)
        call.audit_details.clear()
        try:
            return await _attempt_change(call, arguments, single_statement=single_statement)
        except ReplayStored as known:
            await call.release()
            await check_replay(call)  # what was allowed then may be forbidden now
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
            call.abandon_connection()
            raise
        finally:
            await call.release()
        await asyncio.sleep(0.005 * 2**attempt)
    raise AssertionError("unreachable")


def _make_retry(call: Call, key: str, fingerprint: bytes) -> IdempotencyScope:
    return IdempotencyScope(
        caller_key=call.caller_if_known.key if call.caller_if_known else f"public:{call.address}",
        operation_id=call.operation.operation_id,
        key=key,
        fingerprint=fingerprint,
        sealed=call.operation.secret_answer,
    )


async def _attempt_change(call: Call, arguments: dict[str, Any], *, single_statement: bool) -> EncodedResponse:
    if single_statement:
        call.begin_single_statement()
    elif not call.operation.defers_transaction:
        await call.begin()
    outcome = render(call, await call.operation.handler(call, **arguments))
    if call.in_transaction:
        call.reject_unchecked_if_match()
        await call.record_audit(outcome.status)
        if call.retry is not None:
            await call.retry.finish(call.rows, StoredResponse(outcome.status, outcome.headers, outcome.body))
        await call.commit()
    return outcome
