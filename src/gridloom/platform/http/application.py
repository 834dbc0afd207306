"""The service as one ASGI application over declared operations: admit, decode, run, answer."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any, Final

import asyncpg
import structlog
from prometheus_client import Histogram

from gridloom.kernel.networks import network_of
from gridloom.kernel.problem import InternalError, MethodNotAllowed, NotFound, Problem
from gridloom.kernel.shares import Share
from gridloom.platform import tracing
from gridloom.platform.database.errors import DATABASE_ERRORS
from gridloom.platform.database.pool import Database
from gridloom.platform.database.replicas import Replicas
from gridloom.platform.http.admit import (
    Authenticator,
    RejectAllAuthenticator,
    ServedConnections,
    TrustedProxies,
    admit,
    reject_outside_key_assets,
)
from gridloom.platform.http.answer.errors import log_error, problem_of, report_broken_stream
from gridloom.platform.http.answer.render import EncodedResponse, negotiate, prefetch_first_chunk, render_problem
from gridloom.platform.http.answer.sending import UnreadAnswers, send_response
from gridloom.platform.http.decode.body import BodyBudget, decode_body, read_content_type, receive_body, unpack_body
from gridloom.platform.http.decode.parameters import asks_for_excel, parameter_decoder_of, parse_parameter, split_query
from gridloom.platform.http.disconnect import DisconnectWatch, DisconnectWatcher
from gridloom.platform.http.fields import QueryParameters
from gridloom.platform.http.operation import PROBE, Operation, Router
from gridloom.platform.http.reads import ReadShare
from gridloom.platform.http.request import AppState, AuditHook, Receive, Request, Scope, Send
from gridloom.platform.http.responses import CSV
from gridloom.platform.http.run import ReplayGuard, run
from gridloom.platform.http.shares import Shares, TokenBuckets
from gridloom.platform.http.windows import check_window

log = structlog.get_logger("gridloom.platform.http")

SLOW_REQUEST_S: Final = 2.0
DRAIN_S: Final = 10.0
"""How long a service that stops waits for the requests in progress before it closes the pool."""
CLIENT_CLOSED_REQUEST: Final = 499
"""Status in metrics of a request whose client has disconnected."""

_SANE_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_TRACE_PARENT: Final = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")

REQUESTS: Final = Histogram(
    "gridloom_request_seconds",
    "Time to answer a request; of an event stream, until it begins",
    ["operation", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
_children: dict[tuple[str, int], Histogram] = {}


async def _skip_audit(db: Database, request: Request, status: int) -> None:
    return None


async def _skip_guard(request: Request) -> None:
    return None


FailureHook = Callable[[Request, float], Awaitable[Problem | None]]
"""A problem in place of a 500, where something outside the request has made it fail; from how long it took."""


async def _explain_nothing(request: Request, took_s: float) -> Problem | None:
    return None


class Application:
    """Answers every request. Holds no state but what can be lost."""

    def __init__(
        self,
        operations: Sequence[Operation],
        *,
        lifespan: Callable[[Application], AbstractAsyncContextManager[None]],
        public_requests_per_minute: int,
        proxies: TrustedProxies | None = None,
        shares: Shares | None = None,
        logs_every_request: bool = False,
    ) -> None:
        self._logs_every_request = logs_every_request
        self.operations = tuple(operations)
        self.resources = AppState()
        self.stopping = asyncio.Event()
        self.pool: asyncpg.Pool
        self.replicas: Replicas | None = None
        self.authenticator: Authenticator = RejectAllAuthenticator()
        self.audit: AuditHook = _skip_audit
        self.check_replay: ReplayGuard = _skip_guard
        self.explain_failure: FailureHook = _explain_nothing
        self.shares = shares or Shares()
        self.bodies = BodyBudget.of(self.shares.limits)
        self.reads = ReadShare(self.shares.limits)
        self.unread = UnreadAnswers(self.shares.limits)
        self.unread.others_wait = self.reads.has_waiting
        self.connections = ServedConnections()
        self._router = Router(operations)
        self._lifespan = lifespan
        self._proxies = proxies or TrustedProxies()
        limits = self.shares.limits
        self._by_organisation = TokenBuckets(
            Share.REQUESTS,
            per_minute=limits.requests_per_minute,
            burst=limits.request_burst,
            scope=self.shares.replica,
        )
        per_minute = public_requests_per_minute
        self._by_network = TokenBuckets("public", per_minute=per_minute, burst=per_minute, scope="public")
        self.shares.add_meter(Share.REQUESTS, self._by_organisation.read_use)
        self.shares.add_meter(Share.BODY_BYTES, self.bodies.read_use)
        self.shares.add_meter(Share.READS, self.reads.read_use)
        self.shares.add_meter(Share.UNREAD_ANSWERS, self.unread.read_use)
        self._disconnects = DisconnectWatcher()
        self._in_progress = 0
        self._all_answered = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = self.connections.begin(scope.get("client"))
            self._in_progress += 1
            try:
                async with AsyncExitStack() as places:
                    if tracing.is_active():
                        with tracing.trace_request(scope["method"], dict(scope["headers"])):
                            await self._handle_request(scope, receive, send, places)
                    else:
                        await self._handle_request(scope, receive, send, places)
            finally:
                self.connections.end(peer)
                self._in_progress -= 1
                if self._in_progress == 0 and self.stopping.is_set():
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
        """Requests in progress are answered first: a pool that closes fails those that wait for a connection."""
        if self._in_progress:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await self._all_answered.wait()

    # --- one request ---------------------------------------------------------------------------------------------

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send, places: AsyncExitStack) -> None:
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        response_headers, trace_id = _identify_request(headers)
        operation: Operation | None = None
        request: Request | None = None
        failure: Exception | None = None
        watch: DisconnectWatch | None = None
        try:
            operation, values = self._find_operation(scope["method"], scope["path"])
            if operation is None:
                response = EncodedResponse(204, {"Allow": ", ".join(values)}, b"")
            else:
                request = self._make_request(operation, scope, headers, response_headers["X-Request-Id"])
                request.places = places
                if not operation.changes_state:
                    watch = self._disconnects.expect(receive)
                response = await self._admit_decode_run(request, values, scope, receive, response_headers)
                self.unread.check_room(request.holder, response)
                if response.stream is not None:
                    await prefetch_first_chunk(response)
        except asyncio.CancelledError:
            if watch is None or not watch.has_left or self.stopping.is_set():
                raise
            _observe_request(operation, CLIENT_CLOSED_REQUEST, time.perf_counter() - started)
            return
        except Exception as error:  # noqa: BLE001  # whatever it is, the caller gets a problem and the log a line
            problem = await self._find_problem(error, request, time.perf_counter() - started)
            if problem.status >= 500:
                failure = error
            response = render_problem(problem, scope["path"], response_headers["X-Request-Id"])
        finally:
            if watch is not None:
                self._disconnects.work_is_done(watch)
        response.headers.update(response_headers)
        began_s = time.perf_counter() - started
        if tracing.is_active():
            _describe_trace(operation, response, response_headers["X-Request-Id"])
        try:
            gone = watch.gone if watch is not None else None
            if response.stream is None:
                await places.aclose()
            with self.unread.hold(None if request is None else request.holder) as answer:
                is_head = scope["method"] == "HEAD"
                await send_response(response, headers, send, receive, is_head=is_head, gone=gone, answer=answer)
            if answer.is_evicted:
                self.connections.evict(scope.get("client"))
        except Exception as error:  # the status has been sent: all that is left is to abort
            details = self._describe_request(scope, request, response_headers["X-Request-Id"], trace_id)
            report_broken_stream(details.pop("operation", "none"), error, **details)
            raise
        finally:
            if watch is not None:
                watch.close()
            took_s = began_s if response.is_live else time.perf_counter() - started
            _observe_request(operation, response.status, took_s)
            if self._logs_every_request or response.status >= 400 or took_s > SLOW_REQUEST_S:
                details = self._describe_request(scope, request, response_headers["X-Request-Id"], trace_id)
                details |= {"status": response.status, "seconds": round(took_s, 4)}
                self._log_request(request, failure, details)

    async def _find_problem(self, error: Exception, request: Request | None, took_s: float) -> Problem:
        problem = problem_of(error)
        if isinstance(problem, InternalError) and request is not None:
            with suppress(*DATABASE_ERRORS):
                return await self.explain_failure(request, took_s) or problem
        return problem

    def _make_request(
        self, operation: Operation, scope: Scope, headers: dict[bytes, bytes], request_id: str
    ) -> Request:
        path, query = scope["path"], scope["query_string"]
        return Request(
            operation=operation,
            headers=headers,
            path=path,
            target=f"{path}?{query.decode('latin-1')}" if query else path,
            address=self._proxies.find_client(scope),
            request_id=request_id,
            pool=self.pool,
            resources=self.resources,
            shares=self.shares,
            stopping=self.stopping,
            audit=self.audit,
            accepts=operation.produces[0],
        )

    def _describe_request(
        self, scope: Scope, request: Request | None, request_id: str, trace_id: str | None
    ) -> dict[str, Any]:
        """A request's fields in a log line: never a header, a query or a body, which may hold secrets."""
        details: dict[str, Any] = {"method": scope["method"], "path": scope["path"], "request_id": request_id}
        details["address"] = self._proxies.find_client(scope)
        if trace_id is not None:
            details["trace_id"] = trace_id
        if request is not None:
            details["operation"] = request.operation.operation_id
            if (caller := request.caller_if_known) is not None:
                details |= {"user": caller.username, "organisation": str(caller.organisation_id)}
        return details

    def _log_request(self, request: Request | None, failure: Exception | None, details: dict[str, Any]) -> None:
        caller = None if request is None else request.caller_if_known
        if failure is not None:
            log_error("request.failed", failure, **details)
        elif caller is not None and self.shares.holder_of(caller) is None:
            # The sandbox's own simulator is rejected as a matter of course, which would hide others in the log.
            log.debug("request", **details)
        elif details["status"] >= 500 and (request is None or request.operation.access is not PROBE):
            log.error("request.failed", **details)
        else:
            log.info("request", **details)

    def _find_operation(self, method: str, path: str) -> tuple[Operation | None, list[str]]:
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

    async def _admit_decode_run(
        self, request: Request, values: list[str], scope: Scope, receive: Receive, response_headers: dict[str, str]
    ) -> EncodedResponse:
        operation = request.operation
        await admit(request, scope, self.authenticator, self._by_network, self._by_organisation, response_headers)
        answers_csv = CSV in operation.produces
        asked = split_query(scope["query_string"])
        for_excel = answers_csv and asks_for_excel(asked)
        request.accepts = negotiate(request.header("accept"), operation.produces, for_excel=for_excel)
        arguments: dict[str, Any] = {}
        for parameter, text in zip(operation.path_parameters, values, strict=True):
            arguments[parameter.argument] = parse_parameter("path", parameter.name, text, parameter.type)
        request.path_values = arguments.copy()
        caller = request.caller_if_known
        if caller is not None and caller.physical_asset_ids is not None:
            reject_outside_key_assets(request)
        query = parameter_decoder_of(operation.query or QueryParameters, answers_csv=answers_csv)(asked)
        if operation.query is not None:
            arguments["query"] = query
        if not operation.changes_state:
            check_window(query)
            await self.reads.take_place(request, query)
        request.receive = receive
        if operation.body is None:
            return await run(request, arguments, b"", self.replicas, self.check_replay)
        request.content_type = read_content_type(request)
        holder = network_of(request.address) if caller is None else request.holder
        with self.bodies.hold(holder) as held:
            body = await unpack_body(request, await receive_body(request, receive, held), held)
            arguments["body"] = await decode_body(request, body, holder)
            return await run(request, arguments, body, self.replicas, self.check_replay)


def _identify_request(headers: dict[bytes, bytes]) -> tuple[dict[str, str], str | None]:
    """The response's headers that name the request, and its trace: the client's own where they are well-formed."""
    asked = headers.get(b"x-request-id")
    request_id = asked.decode() if asked and _SANE_REQUEST_ID.fullmatch(asked) else os.urandom(16).hex()
    parent = headers.get(b"traceparent")
    trace = _TRACE_PARENT.fullmatch(parent) if parent else None
    if trace is None:
        return {"X-Request-Id": request_id}, None
    return {"X-Request-Id": request_id, "traceparent": trace[0].decode()}, trace[1].decode()


def _describe_trace(operation: Operation | None, response: EncodedResponse, request_id: str) -> None:
    """The span of a live stream ends where the stream begins: it may last for hours."""
    route, name = (None, None) if operation is None else (operation.path, operation.operation_id)
    tracing.describe_request(route, name, response.status, request_id, ends=response.is_live)


def _observe_request(operation: Operation | None, status: int, seconds: float) -> None:
    name = operation.operation_id if operation is not None else "none"
    child = _children.get((name, status))
    if child is None:
        child = _children[name, status] = REQUESTS.labels(name, str(status))
    child.observe(seconds)
