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

from gridloom.database.errors import DATABASE_ERRORS, classify_error
from gridloom.database.replicas import Replicas
from gridloom.edge.admit.authentication import Authenticator, RejectAllAuthenticator, admit, reject_outside_key_assets
from gridloom.edge.admit.client_address import TrustedProxies
from gridloom.edge.admit.connection_reaper import ConnectionReaper
from gridloom.edge.admit.disconnect import DisconnectWatch, DisconnectWatcher
from gridloom.edge.admit.rate_limiter import RateLimiter, RequestBuckets, network_of
from gridloom.edge.answer import render
from gridloom.edge.answer.errors import problem_of
from gridloom.edge.answer.incidents import log_error, report_broken_stream
from gridloom.edge.answer.negotiation import negotiate
from gridloom.edge.asgi import Receive, Scope, Send
from gridloom.edge.decode.backpressure import BodyBudget
from gridloom.edge.decode.body import decode_body, read_content_type, receive_body
from gridloom.edge.decode.body_timeout import BodyReadTimeout
from gridloom.edge.fields import parse_parameter
from gridloom.edge.metrics import observe_request
from gridloom.edge.operation import Operation
from gridloom.edge.parameters import reject_query, split_query
from gridloom.edge.request import AppState, AuditHook, Request
from gridloom.edge.router import Router
from gridloom.edge.run import ReplayGuard, run_in_transaction
from gridloom.edge.shares import Shares
from gridloom.edge.watchdog import SlowRequestWatchdog
from gridloom.kernel.problem import MethodNotAllowed, NotFound
from gridloom.kernel.shares import Share

if TYPE_CHECKING:
    from gridloom.database.commit.single_statement import RowSink

log = structlog.get_logger("gridloom.edge")

SLOW_REQUEST_S = 2.0
DRAIN_S = 10.0
"""How long a service that stops waits for the answers that are under way before it takes their database away."""
CLIENT_CLOSED_REQUEST = 499
"""Status in metrics of a request whose client has disconnected."""

POSITION = "Gridloom-Position"
"""Where there are read replicas: up to where a change has written the log, and what a read wants to see at least."""

_SANE_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")


async def _skip_audit(db: RowSink, request: Request, status: int) -> None:
    return None


async def _skip_guard(request: Request) -> None:
    return None


class Application:
    """Answers every request. Holds no state but what can be lost."""

    def __init__(
        self,
        operations: Sequence[Operation],
        *,
        lifespan: Callable[[Application], AbstractAsyncContextManager[None]],
        limiter: RateLimiter,
        proxies: TrustedProxies | None = None,
        connections: ConnectionReaper | None = None,
        shares: Shares | None = None,
    ) -> None:
        self.operations = tuple(operations)
        self.resources = AppState()
        self.stopping = asyncio.Event()
        self.pool: asyncpg.Pool
        self.replicas: Replicas | None = None
        self.authenticator: Authenticator = RejectAllAuthenticator()
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
        self.connections = connections or ConnectionReaper(port=0)
        self._departures = DisconnectWatcher()
        self._slow_bodies: SlowRequestWatchdog[BodyReadTimeout] = SlowRequestWatchdog()
        self._under_way = 0
        self._all_answered = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = self.connections.begin(scope.get("client"))
            self._under_way += 1
            try:
                await self._handle(scope, receive, send)
            finally:
                self.connections.end(peer)
                self._under_way -= 1
                if self._under_way == 0 and self.stopping.is_set():
                    self._all_answered.set()
        elif scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self._lifespan(self):
                await send({"type": "lifespan.startup.complete"})
                await receive()
                self.stopping.set()
                await self._drain_requests()
        except Exception as error:
            log.exception("lifespan.failed")
            await send({"type": "lifespan.startup.failed", "message": str(error)})
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

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        asked_id = headers.get(b"x-request-id")
        request_id = asked_id.decode() if asked_id and _SANE_REQUEST_ID.fullmatch(asked_id) else os.urandom(16).hex()
        answer_headers = {"X-Request-Id": request_id}
        method, path = scope["method"], scope["path"]
        operation: Operation | None = None
        outcome: render.EncodedResponse
        failure: Exception | None = None
        departure: DisconnectWatch | None = None
        request: Request | None = None
        try:
            operation, values = self._find(method, path)
            if operation is None:
                outcome = render.EncodedResponse(204, {"Allow": ", ".join(values)}, b"")
            else:
                request = Request(
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
                outcome = await self._decode_and_run(request, values, scope, receive, answer_headers)
                await render.prefetch_first_chunk(outcome)
        except asyncio.CancelledError:
            if departure is None or not departure.has_left or self.stopping.is_set():
                raise
            observe_request(operation, CLIENT_CLOSED_REQUEST, time.perf_counter() - started)
            return
        except Exception as error:  # noqa: BLE001  # whatever it is, the caller gets a problem and the log a line
            problem = problem_of(error)
            if problem.status >= 500:
                failure = error
            outcome = render.problem(problem, path, request_id)
        finally:
            if departure is not None:
                self._departures.work_is_done(departure)
        outcome.headers.update(answer_headers)
        details: dict[str, Any] = {"method": method, "path": path, "request_id": request_id}
        try:
            gone = departure.gone if departure is not None else None
            await render.send_response(outcome, headers, send, receive, is_head=method == "HEAD", gone=gone)
        except Exception as error:  # the status has gone out: all that is left is to break off
            report_broken_stream(operation.operation_id if operation else "none", error, **details)
            raise
        finally:
            if departure is not None:
                departure.close()
            took = time.perf_counter() - started
            observe_request(operation, outcome.status, took)
            if failure is not None or outcome.status >= 400 or took > SLOW_REQUEST_S:
                details["operation"] = operation.operation_id if operation else None
                details |= {"status": outcome.status, "seconds": round(took, 4)}
                if failure is None and not self._is_simulator(request):
                    log.info("request", **details)
                elif failure is None:
                    log.debug("request", **details)
                else:
                    log_error("request.failed", failure, **details)

    def _is_simulator(self, request: Request | None) -> bool:
        """Whether the sandbox's own simulator asked: it waits for its steps and is refused as a matter of course, which
        would hide what people do from the log."""
        caller = None if request is None else request.caller_if_known
        return caller is not None and self.shares.holder_of(caller) is None

    def _find(self, method: str, path: str) -> tuple[Operation | None, list[str]]:
        """The operation and its path's values; None and the allowed methods for OPTIONS."""
        found = self._router.find(path)
        if found is None:
            raise NotFound(f"No operation has the path {path}. GET /docs lists them.")
        by_method, values = found
        operation = by_method.get("GET" if method == "HEAD" else method)
        if operation is not None:
            return operation, values
        allowed = sorted({*by_method, "OPTIONS", *(("HEAD",) if "GET" in by_method else ())})
        if method == "OPTIONS":
            return None, allowed
        raise MethodNotAllowed(f"{path} answers {', '.join(allowed)}.", allow=allowed)

    async def _decode_and_run(
        self, request: Request, values: list[str], scope: Scope, receive: Receive, answer_headers: dict[str, str]
    ) -> render.EncodedResponse:
        operation = request.operation
        await admit(request, scope, self.authenticator, self._limiter, self._buckets, answer_headers)
        request.accepts = negotiate(request.header("accept"), operation.produces)
        arguments: dict[str, Any] = {}
        for parameter, text in zip(operation.path_parameters, values, strict=True):
            arguments[parameter.argument] = parse_parameter("path", parameter.name, text, parameter.type)
        request.path_values = arguments.copy()
        if request.caller_if_known is not None:
            reject_outside_key_assets(request)
        query_string = scope["query_string"]
        if operation.read_query is not None:
            arguments["query"] = operation.read_query(split_query(query_string))
        elif query_string:
            reject_query(query_string)
        request.receive = receive
        if operation.body is None:
            return await self._run(request, arguments, b"")
        request.content_type = read_content_type(request)
        holder = network_of(request.address) if request.caller_if_known is None else request.holder
        with self.bodies.hold(holder) as held:
            body = await receive_body(request, receive, held, self._slow_bodies)
            arguments["body"] = await decode_body(operation, body, holder)
            return await self._run(request, arguments, body)

    async def _run(self, request: Request, arguments: dict[str, Any], body: bytes) -> render.EncodedResponse:
        if not request.operation.changes_state:
            if self.replicas is not None and request.operation.replica_read:
                return await self._read_from_replica(self.replicas, request, arguments)
            return render.render(request, await request.operation.handler(request, **arguments))
        outcome = await run_in_transaction(request, arguments, body, self.check_replay)
        if self.replicas is not None:
            with suppress(*DATABASE_ERRORS):  # the change has happened; without a position reads ask the primary
                outcome.headers[POSITION] = await self.replicas.seal_primary_position()
        return outcome

    async def _read_from_replica(
        self, replicas: Replicas, request: Request, arguments: dict[str, Any]
    ) -> render.EncodedResponse:
        """The primary answers where no replica has come far enough, and what one has broken off."""
        primary = request.pool
        replica = await replicas.find(request.header(POSITION))
        if replica is not None:
            request.pool = replica.pool
            try:
                return render.render(request, await request.operation.handler(request, **arguments))
            except DATABASE_ERRORS as error:
                outage = classify_error(error)
                if outage is None:
                    raise
                replica.record_failed_read(request.operation.operation_id, outage)
                request.pool = primary
        return render.render(request, await request.operation.handler(request, **arguments))


def _read_target(scope: Scope) -> str:
    query = scope["query_string"]
    return f"{scope['path']}?{query.decode('latin-1')}" if query else scope["path"]
