"""The service as one ASGI application over declared operations: from bytes to a handler and back."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, Protocol
from urllib.parse import parse_qsl

import asyncpg
import structlog

from gridloom.database.away import DATABASE_FAULTS, Outage, outage_of
from gridloom.database.pool import Database
from gridloom.database.replicas import Replicas
from gridloom.edge import reply
from gridloom.edge.answers import Answer, Content, EventStream, Page, Stream
from gridloom.edge.backpressure import BodyBudget, HeldBody
from gridloom.edge.call import AuditHook, Call, Resources, quoted
from gridloom.edge.caller import Caller
from gridloom.edge.connections import Connections
from gridloom.edge.departure import Departure
from gridloom.edge.faults import problem_of
from gridloom.edge.idempotency import Replay, Retry, StoredAnswer, fingerprint_of
from gridloom.edge.incidents import report_broken_stream, report_failure
from gridloom.edge.long_bodies import LONG_BYTES, read_apart
from gridloom.edge.metrics import observe_request
from gridloom.edge.negotiation import negotiate
from gridloom.edge.operation import PUBLIC, SIGNED_IN, Operation
from gridloom.edge.paging import next_link
from gridloom.edge.plausibility import refuse_long_numbers
from gridloom.edge.rate_limit import RateLimiter, network_of
from gridloom.edge.router import Router
from gridloom.edge.wire import Decoder, parse_parameter, to_json
from gridloom.kernel.problem import (
    BadRequest,
    FieldError,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    Unauthenticated,
    UnsupportedMediaType,
)

log = structlog.get_logger("gridloom.edge")

ATTEMPTS = 5
BODY_TIMEOUT_S = 60
BODY_PAUSE_S = 10
"""The longest silence in a body: whoever stops sending holds no memory."""
DECODED_AT_ONCE_BYTES = 32 * 1024
"""Longer bodies are decoded in a thread, so that the event loop stays free."""
SLOW_REQUEST_S = 2.0
DRAIN_S = 10.0
"""How long a service that stops waits for the answers that are under way before it takes their database away."""
CALLER_LEFT = 499
"""Counted where nobody was left to answer."""

POSITION = "Gridloom-Position"
"""Where there are read replicas: up to where a change has written the log, and what a read wants to see at least."""

_SANE_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_RETRIED = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

TOKEN_SOURCE = "gridloom.token-source"  # noqa: S105 — a key of the scope
"""Where in a scope something in front of the service, in the same process, says whose call it passes on: a function
that gives the token of this moment. No server puts it there, so nobody can send it."""

Scope = dict[str, Any]
TokenSource = Callable[[], Awaitable[str]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Authenticator(Protocol):
    """Turns a Bearer token into a caller, or refuses it with a 401."""

    def known(self, token: str) -> Caller | None:
        """The caller of a token that was verified before and still holds; no waiting."""

    async def authenticate(self, token: str) -> Caller: ...


class NobodyKnown:
    """Refuses every token: what stands there until identity has moved in."""

    def known(self, token: str) -> Caller | None:
        return None

    async def authenticate(self, token: str) -> Caller:
        raise Unauthenticated("No token is known here.")


async def _skip_audit(db: Database, call: Call, status: int) -> None:
    return None


async def _skip_guard(call: Call) -> None:
    return None


class Edge:
    """Answers every request. Holds no state but what can be lost."""

    def __init__(
        self,
        operations: Sequence[Operation],
        *,
        lifespan: Callable[[Edge], AbstractAsyncContextManager[None]],
        limiter: RateLimiter,
        trusts_proxy: bool = False,
        connections: Connections | None = None,
    ) -> None:
        self.operations = tuple(operations)
        self.resources = Resources()
        self.stopping = asyncio.Event()
        self.pool: asyncpg.Pool
        self.replicas: Replicas | None = None
        self.authenticator: Authenticator = NobodyKnown()
        self._router = Router(operations)
        self._lifespan = lifespan
        self._limiter = limiter
        self.audit: AuditHook = _skip_audit
        self.check_replay: Callable[[Call], Awaitable[None]] = _skip_guard
        self._trusts_proxy = trusts_proxy
        self.bodies = BodyBudget()
        self.connections = connections or Connections(port=0)
        self._under_way = 0
        self._all_answered = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = scope.get("client")
            self.connections.begin(peer)
            self._under_way += 1
            try:
                await self._answer(scope, receive, send)
            finally:
                self.connections.end(peer)
                self._under_way -= 1
                if self._under_way == 0 and self.stopping.is_set():
                    self._all_answered.set()
        elif scope["type"] == "lifespan":
            await self._answer_live(receive, send)

    async def _answer_live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self._lifespan(self):
                await send({"type": "lifespan.startup.complete"})
                await receive()
                self.stopping.set()
                await self._drain_requests()
        except Exception as fault:
            log.exception("lifespan failed")
            await send({"type": "lifespan.startup.failed", "message": str(fault)})
            return
        await send({"type": "lifespan.shutdown.complete"})

    async def _drain_requests(self) -> None:
        """Have everybody answered who has asked: a pool that closes breaks off whoever still waits for a connection."""
        if self._under_way == 0:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._all_answered.wait()

    # --- one request ---------------------------------------------------------------------------------------------

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        asked_id = headers.get(b"x-request-id")
        request_id = asked_id.decode() if asked_id and _SANE_REQUEST_ID.fullmatch(asked_id) else uuid.uuid4().hex
        answer_headers = {"X-Request-Id": request_id}
        method, path = scope["method"], scope["path"]
        operation: Operation | None = None
        outcome: reply.Reply
        failure: Exception | None = None
        departure: Departure | None = None
        try:
            operation, values = self._find(method, path)
            if operation is None:
                outcome = reply.Reply(204, {"Allow": ", ".join(values)}, b"")
            else:
                call = Call(
                    operation,
                    headers,
                    path=path,
                    target=_read_target(scope),
                    address=self._find_address(scope, headers),
                    request_id=request_id,
                    pool=self.pool,
                    resources=self.resources,
                    stopping=self.stopping,
                    audit=self.audit,
                )
                if not operation.changes_state:
                    departure = Departure(receive)
                outcome = await self._carry_out(call, values, scope, receive, answer_headers)
                await reply.begin_stream(outcome)
        except asyncio.CancelledError:
            if departure is None or not departure.has_left or self.stopping.is_set():
                raise
            observe_request(operation, CALLER_LEFT, time.perf_counter() - started)
            return
        except Exception as fault:  # noqa: BLE001  # whatever it is, the caller gets a problem and the log a line
            problem = problem_of(fault)
            if problem.status >= 500:
                failure = fault
            outcome = reply.problem(problem, path, request_id)
        finally:
            if departure is not None:
                departure.work_is_done()
        outcome.headers.update(answer_headers)
        details: dict[str, Any] = {"method": method, "path": path, "request_id": request_id}
        try:
            gone = departure.gone if departure is not None else None
            await reply.send_reply(outcome, headers, send, receive, is_head=method == "HEAD", gone=gone)
        except Exception as fault:  # the status has gone out: all that is left is to break off
            report_broken_stream(operation.operation_id if operation else "none", fault, **details)
            raise
        finally:
            if departure is not None:
                departure.close()
            took = time.perf_counter() - started
            observe_request(operation, outcome.status, took)
            if failure is not None or outcome.status >= 400 or took > SLOW_REQUEST_S:
                details["operation"] = operation.operation_id if operation else None
                details |= {"status": outcome.status, "seconds": round(took, 4)}
                if failure is None:
                    log.info("request", **details)
                else:
                    report_failure("request failed", failure, **details)

    def _find(self, method: str, path: str) -> tuple[Operation | None, list[str]]:
        """The operation and its path's values; None and the allowed methods for OPTIONS."""
        found = self._router.find(path)
        if found is None:
            raise NotFound(f"Nothing stands at {path}.")
        by_method, values = found
        operation = by_method.get("GET" if method == "HEAD" else method)
        if operation is not None:
            return operation, values
        allowed = sorted({*by_method, "OPTIONS", *(("HEAD",) if "GET" in by_method else ())})
        if method == "OPTIONS":
            return None, allowed
        raise MethodNotAllowed(f"{path} answers {', '.join(allowed)}.", allow=allowed)

    async def _carry_out(
        self, call: Call, values: list[str], scope: Scope, receive: Receive, answer_headers: dict[str, str]
    ) -> reply.Reply:
        operation = call.operation
        await self._admit(call, scope.get(TOKEN_SOURCE), answer_headers)
        call.accepts = negotiate(call.header("accept"), operation.produces)
        arguments: dict[str, Any] = {}
        for parameter, text in zip(operation.path_parameters, values, strict=True):
            arguments[parameter.argument] = parse_parameter("path", parameter.name, text, parameter.type)
        call.path_values = arguments.copy()
        query_string = scope["query_string"]
        if operation.read_query is not None:
            arguments["query"] = operation.read_query(_split_query(query_string))
        elif query_string:
            _refuse_query(query_string)
        call.receive = receive
        if operation.body is None:
            return await self._run(call, arguments, b"")
        call.content_type = _content_type(call, operation)
        with self.bodies.hold() as held:
            body = await _read_body(call, receive, operation.body_limit_bytes, held)
            arguments["body"] = await _decode_body(operation, body)
            return await self._run(call, arguments, body)

    async def _run(self, call: Call, arguments: dict[str, Any], body: bytes) -> reply.Reply:
        if not call.operation.changes_state:
            if self.replicas is not None and call.operation.from_replica:
                return await self._read_from_replica(self.replicas, call, arguments)
            return self._reply(call, await call.operation.handler(call, **arguments))
        outcome = await self._change(call, arguments, body)
        if self.replicas is not None:
            with suppress(*DATABASE_FAULTS):  # the change has happened; without a position reads ask the primary
                outcome.headers[POSITION] = await self.replicas.write_primary_position()
        return outcome

    async def _read_from_replica(self, replicas: Replicas, call: Call, arguments: dict[str, Any]) -> reply.Reply:
        """The primary answers where no replica has come far enough, and what one has broken off."""
        primary = call.pool
        replica = await replicas.find(call.header(POSITION))
        if replica is not None:
            call.pool = replica.pool
            try:
                return self._reply(call, await call.operation.handler(call, **arguments))
            except DATABASE_FAULTS as fault:
                if outage_of(fault) is None:
                    raise
                if outage_of(fault) is Outage.AWAY:
                    replica.leave_out("broke off")
                call.pool = primary
        return self._reply(call, await call.operation.handler(call, **arguments))

    async def _admit(self, call: Call, source: TokenSource | None, answer_headers: dict[str, str]) -> None:
        """Who asks, whether it may, and whether it asks too often."""
        access = call.operation.access
        limit = call.operation.rate_limit
        if access == PUBLIC:
            if limit is not None:
                await self._limiter.take(call.pool, limit, network_of(call.address), answer_headers)
            return
        assert limit is not None, "only what is public may be without a limit"
        if source is None:
            token = _read_bearer(call)
            caller = self.authenticator.known(token) or await self.authenticator.authenticate(token)
            call.signed_in_as(caller, partial(self._verify, token))
        else:
            caller = await self._verify_anew(source)
            call.signed_in_as(caller, partial(self._verify_anew, source))
        await self._limiter.take(call.pool, limit, caller.key, answer_headers)
        if access not in (SIGNED_IN, *caller.permissions):
            raise Forbidden(f"This needs the permission {access}, which {caller.role} does not hold.")

    async def _verify(self, token: str) -> Caller:
        return self.authenticator.known(token) or await self.authenticator.authenticate(token)

    async def _verify_anew(self, source: TokenSource) -> Caller:
        """Whoever lends its token keeps it fresh: what runs for long outlives one."""
        return await self._verify(await source())

    async def _change(self, call: Call, arguments: dict[str, Any], body: bytes) -> reply.Reply:
        """Run a handler in its transaction, from the start again where PostgreSQL asks for it."""
        operation = call.operation
        key = call.header("idempotency-key") if operation.method == "POST" else None
        fingerprint = await _take_fingerprint(call, body) if key is not None else b""
        for attempt in range(ATTEMPTS):
            if key is not None:
                call.retry = Retry(
                    caller_key=call.known_caller.key if call.known_caller else f"public:{call.address}",
                    operation_id=operation.operation_id,
                    key=key,
                    fingerprint=fingerprint,
                    sealed=operation.secret_answer,
                )
            call.audit_details.clear()
            try:
                if not operation.defers_transaction:
                    await call.begin()
                outcome = self._reply(call, await operation.handler(call, **arguments))
                if call.in_transaction:
                    call.refuse_unjudged_condition()
                    await call.record_audit(outcome.status)
                    if call.retry is not None:
                        await call.retry.finish(call.db, StoredAnswer(outcome.status, outcome.headers, outcome.body))
                    await call.commit()
                return outcome
            except Replay as known:
                await call.release()
                await self.check_replay(call)  # what was allowed then may be forbidden now
                stored = known.answer
                return reply.Reply(stored.status, {**stored.headers, "Idempotency-Replayed": "true"}, stored.body)
            except _RETRIED:
                if attempt == ATTEMPTS - 1:
                    raise
            except asyncpg.InternalClientError:
                call.abandon_connection()
                raise
            finally:
                await call.release()
            await asyncio.sleep(0.005 * 2**attempt)
        raise AssertionError("unreachable")

    def _reply(self, call: Call, result: Any) -> reply.Reply:
        """What a handler gave back, as status, headers and bytes."""
        status = call.operation.status
        headers: dict[str, str] = {}
        if isinstance(result, Answer):
            status = result.status or status
            headers.update(result.headers)
            if result.etag is not None:
                headers["ETag"] = quoted(result.etag)
            result = result.body
        if call.operation.deprecated is not None:
            headers["Deprecation"] = call.operation.deprecated
            if call.operation.sunset is not None:
                headers["Sunset"] = call.operation.sunset
        if isinstance(result, Page):
            if result.next_cursor is not None:
                headers["Link"] = next_link(call.target, result.next_cursor)
            result = result.items
        if result is None:
            return reply.Reply(status, headers, b"")
        if isinstance(result, Content):
            return reply.Reply(status, {**headers, **result.headers, "Content-Type": result.media_type}, result.body)
        if isinstance(result, Stream):
            kept = {**headers, **result.headers, "Content-Type": result.media_type}
            return reply.Reply(status, kept, b"", stream=result.chunks)
        if isinstance(result, EventStream):
            return reply.events(status, headers, result.frames, self.stopping)
        headers["Content-Type"] = "application/json"
        return reply.Reply(status, headers, to_json(result))

    def _find_address(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        if self._trusts_proxy and b"x-forwarded-for" in headers:
            return headers[b"x-forwarded-for"].decode("latin-1").rsplit(",", 1)[-1].strip()
        client = scope.get("client")
        return client[0] if client else "unknown"


def _read_target(scope: Scope) -> str:
    query = scope["query_string"]
    return f"{scope['path']}?{query.decode('latin-1')}" if query else scope["path"]


def _read_bearer(call: Call) -> str:
    header = call.header("authorization")
    if header is None:
        raise Unauthenticated("Send a token: Authorization: Bearer <ACCESS_TOKEN>.")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("The Authorization header has the form: Bearer <ACCESS_TOKEN>.")
    return token.strip()


def _split_query(query_string: bytes) -> list[tuple[str, str]]:
    if not query_string:
        return []
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=100,
        )
    except ValueError:
        raise BadRequest("The query is not a list of name=value pairs in UTF-8.") from None


def _refuse_query(query_string: bytes) -> None:
    names = sorted({name for name, _ in _split_query(query_string)})
    raise BadRequest(
        f"This operation takes no query parameters, and was given {', '.join(names)}.",
        errors=[FieldError(f"query:{name}", "is not a parameter of this operation") for name in names],
    )


def _content_type(call: Call, operation: Operation) -> str:
    header = call.header("content-type")
    media_type = header.split(";")[0].strip().lower() if header else ""
    if media_type not in operation.consumes:
        raise UnsupportedMediaType(f"The Content-Type is to be {' or '.join(operation.consumes)}.")
    if call.header("content-encoding") not in (None, "identity"):
        raise UnsupportedMediaType("Bodies are taken as they are, without Content-Encoding.")
    return media_type


async def _decode_body(operation: Operation, body: bytes) -> Any:
    if operation.read_body is None:
        return body
    if len(body) <= DECODED_AT_ONCE_BYTES:
        return operation.read_body(body)
    if len(body) <= LONG_BYTES:
        # Field by field where moments and euros are checked: in a thread, others get their turn in between.
        return await asyncio.to_thread(_judge_long, body, operation.read_body)
    # To look for faults takes far longer than to read what has none: that happens elsewhere, and this in slices.
    await read_apart(_judge_apart, body, operation.handler)
    return await asyncio.to_thread(operation.read_body.read_sound, body)


def _judge_long(body: bytes, read_body: Decoder) -> Any:
    refuse_long_numbers(body)
    return read_body(body)


def _judge_apart(body: bytes, handler: Any) -> None:
    """Raises what is wrong with the body of an operation, which goes to another process by its handler's name."""
    _judge_long(body, handler.__operation__.read_body)


async def _take_fingerprint(call: Call, body: bytes) -> bytes:
    if len(body) <= LONG_BYTES:
        return fingerprint_of(call.operation.method, call.target, body)
    return await asyncio.to_thread(fingerprint_of, call.operation.method, call.target, body)


async def _read_body(call: Call, receive: Receive, limit_bytes: int, held: HeldBody) -> bytes:
    announced = call.header("content-length")
    if announced is not None and announced.isdigit():
        if int(announced) > limit_bytes:
            raise PayloadTooLarge(f"The body may have up to {limit_bytes} bytes.")
        held.foresee(int(announced))
    chunks: list[bytes] = []
    size = 0
    now = asyncio.get_running_loop().time
    latest = now() + BODY_TIMEOUT_S
    try:
        async with asyncio.timeout(BODY_PAUSE_S) as pause:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadRequest("The connection closed before the body was complete.")
                chunk = message.get("body", b"")
                size += len(chunk)
                if size > limit_bytes:
                    raise PayloadTooLarge(f"The body may have up to {limit_bytes} bytes.")
                held.reach(size)
                chunks.append(chunk)
                if not message.get("more_body", False):
                    break
                pause.reschedule(min(now() + BODY_PAUSE_S, latest))
    except TimeoutError:
        raise BadRequest("The body came too slowly.") from None
    if len(chunks) == 1:
        return chunks[0]
    return b"".join(chunks) if size <= LONG_BYTES else await asyncio.to_thread(b"".join, chunks)
