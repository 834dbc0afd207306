"""The service as one ASGI application over declared operations: from bytes to a handler and back."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg
import structlog

from gridloom.database.away import DATABASE_FAULTS, outage_of
from gridloom.database.replicas import Replicas
from gridloom.edge.answering import reply
from gridloom.edge.answering.faults import problem_of
from gridloom.edge.answering.incidents import report_broken_stream, report_failure
from gridloom.edge.answering.negotiation import negotiate
from gridloom.edge.asgi import Receive, Scope, Send
from gridloom.edge.call import AuditHook, Call, Resources
from gridloom.edge.changes import ReplayGuard, carry_out_change
from gridloom.edge.guarding.admission import Authenticator, NobodyKnown, admit, refuse_outside_key_assets
from gridloom.edge.guarding.client_address import TrustedProxies
from gridloom.edge.guarding.connections import Connections
from gridloom.edge.guarding.departure import Departure, Departures
from gridloom.edge.guarding.rate_limit import RateLimiter, RequestBuckets, network_of
from gridloom.edge.metrics import observe_request
from gridloom.edge.operation import Operation
from gridloom.edge.query import refuse_query, split_query
from gridloom.edge.receiving.backpressure import BodyBudget
from gridloom.edge.receiving.bodies import decode_body, read_content_type, receive_body
from gridloom.edge.receiving.waiting import Wait
from gridloom.edge.router import Router
from gridloom.edge.shares import Shares
from gridloom.edge.slow_ones import SlowOnes
from gridloom.edge.wire import parse_parameter
from gridloom.kernel.problem import MethodNotAllowed, NotFound
from gridloom.kernel.shares import Share

if TYPE_CHECKING:
    from gridloom.database.committing.at_once import WriteOnly

log = structlog.get_logger("gridloom.edge")

SLOW_REQUEST_S = 2.0
DRAIN_S = 10.0
"""How long a service that stops waits for the answers that are under way before it takes their database away."""
CALLER_LEFT = 499
"""Counted where nobody was left to answer."""

POSITION = "Gridloom-Position"
"""Where there are read replicas: up to where a change has written the log, and what a read wants to see at least."""

_SANE_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")


async def _skip_audit(db: WriteOnly, call: Call, status: int) -> None:
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
        proxies: TrustedProxies | None = None,
        connections: Connections | None = None,
        shares: Shares | None = None,
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
        self.check_replay: ReplayGuard = _skip_guard
        self._proxies = proxies or TrustedProxies()
        self.shares = shares or Shares()
        self._buckets = RequestBuckets(self.shares)
        self.bodies = BodyBudget.of(self.shares.limits)
        self.shares.add_meter(Share.REQUESTS, self._buckets.read_use)
        self.shares.add_meter(Share.BODY_BYTES, self.bodies.read_use)
        self.connections = connections or Connections(port=0)
        self._departures = Departures()
        self._slow_bodies: SlowOnes[Wait] = SlowOnes()
        self._under_way = 0
        self._all_answered = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = self.connections.begin(scope.get("client"))
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
        request_id = asked_id.decode() if asked_id and _SANE_REQUEST_ID.fullmatch(asked_id) else os.urandom(16).hex()
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
                    address=self._proxies.find_client(scope),
                    request_id=request_id,
                    pool=self.pool,
                    resources=self.resources,
                    stopping=self.stopping,
                    audit=self.audit,
                    shares=self.shares,
                )
                if not operation.changes_state:
                    departure = self._departures.expect(receive)
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
                self._departures.work_is_done(departure)
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
        await admit(call, scope, self.authenticator, self._limiter, self._buckets, answer_headers)
        call.accepts = negotiate(call.header("accept"), operation.produces)
        arguments: dict[str, Any] = {}
        for parameter, text in zip(operation.path_parameters, values, strict=True):
            arguments[parameter.argument] = parse_parameter("path", parameter.name, text, parameter.type)
        call.path_values = arguments.copy()
        if call.known_caller is not None:
            refuse_outside_key_assets(call)
        query_string = scope["query_string"]
        if operation.read_query is not None:
            arguments["query"] = operation.read_query(split_query(query_string))
        elif query_string:
            refuse_query(query_string)
        call.receive = receive
        if operation.body is None:
            return await self._run(call, arguments, b"")
        call.content_type = read_content_type(call)
        holder = network_of(call.address) if call.known_caller is None else call.holder
        with self.bodies.hold(holder) as held:
            body = await receive_body(call, receive, held, self._slow_bodies)
            arguments["body"] = await decode_body(operation, body, holder)
            return await self._run(call, arguments, body)

    async def _run(self, call: Call, arguments: dict[str, Any], body: bytes) -> reply.Reply:
        if not call.operation.changes_state:
            if self.replicas is not None and call.operation.from_replica:
                return await self._read_from_replica(self.replicas, call, arguments)
            return reply.render(call, await call.operation.handler(call, **arguments))
        outcome = await carry_out_change(call, arguments, body, self.check_replay)
        if self.replicas is not None:
            with suppress(*DATABASE_FAULTS):  # the change has happened; without a position reads ask the primary
                outcome.headers[POSITION] = await self.replicas.seal_primary_position()
        return outcome

    async def _read_from_replica(self, replicas: Replicas, call: Call, arguments: dict[str, Any]) -> reply.Reply:
        """The primary answers where no replica has come far enough, and what one has broken off."""
        primary = call.pool
        replica = await replicas.find(call.header(POSITION))
        if replica is not None:
            call.pool = replica.pool
            try:
                return reply.render(call, await call.operation.handler(call, **arguments))
            except DATABASE_FAULTS as fault:
                outage = outage_of(fault)
                if outage is None:
                    raise
                replica.note_broken_read(call.operation.operation_id, outage)
                call.pool = primary
        return reply.render(call, await call.operation.handler(call, **arguments))


def _read_target(scope: Scope) -> str:
    query = scope["query_string"]
    return f"{scope['path']}?{query.decode('latin-1')}" if query else scope["path"]
