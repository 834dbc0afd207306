"""A change: its handler and what it leaves behind in one transaction, once for each Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

from gridloom.edge.answering.reply import Reply, render
from gridloom.edge.call import Call
from gridloom.edge.idempotency import Replay, Retry, StoredAnswer, is_taken
from gridloom.edge.receiving.bodies import take_fingerprint

ATTEMPTS: Final = 5
_RETRIED: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

ReplayGuard = Callable[[Call], Awaitable[None]]
"""Refuses to repeat an answer that its caller may no longer have."""


async def carry_out_change(call: Call, arguments: dict[str, Any], body: bytes, check_replay: ReplayGuard) -> Reply:
    """Run a handler in its transaction, from the start again where PostgreSQL asks for it."""
    key = call.header("idempotency-key") if call.operation.method == "POST" else None
    fingerprint = await take_fingerprint(call, body) if key is not None else b""
    at_once = call.operation.writes_at_once
    for attempt in range(ATTEMPTS):
        if key is not None:
            call.retry = _make_retry(call, key, fingerprint)
        call.audit_details.clear()
        try:
            return await _attempt_change(call, arguments, at_once=at_once)
        except Replay as known:
            await call.release()
            await check_replay(call)  # what was allowed then may be forbidden now
            stored = known.answer
            return Reply(stored.status, {**stored.headers, "Idempotency-Replayed": "true"}, stored.body)
        except _RETRIED:
            if attempt == ATTEMPTS - 1:
                raise
        except asyncpg.IntegrityConstraintViolationError as fault:
            if not at_once or not is_taken(fault):
                raise
            at_once = False  # in a transaction the key is asked for first, and says what is known of it
            continue
        except asyncpg.InternalClientError:
            call.abandon_connection()
            raise
        finally:
            await call.release()
        await asyncio.sleep(0.005 * 2**attempt)
    raise AssertionError("unreachable")


def _make_retry(call: Call, key: str, fingerprint: bytes) -> Retry:
    return Retry(
        caller_key=call.known_caller.key if call.known_caller else f"public:{call.address}",
        operation_id=call.operation.operation_id,
        key=key,
        fingerprint=fingerprint,
        sealed=call.operation.secret_answer,
    )


async def _attempt_change(call: Call, arguments: dict[str, Any], *, at_once: bool) -> Reply:
    if at_once:
        call.begin_at_once()
    elif not call.operation.defers_transaction:
        await call.begin()
    outcome = render(call, await call.operation.handler(call, **arguments))
    if call.in_transaction:
        call.refuse_unjudged_condition()
        await call.record_audit(outcome.status)
        if call.retry is not None:
            await call.retry.finish(call.rows, StoredAnswer(outcome.status, outcome.headers, outcome.body))
        await call.commit()
    return outcome
