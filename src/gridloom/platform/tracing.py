"""Traces by OpenTelemetry: requests, jobs and their statements, sent over OTLP. An extra, off by default.

While it is off a request costs a comparison more and a statement nothing: nothing of OpenTelemetry is imported, and no
connection is watched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

MAX_STATEMENT_CHARS: Final = 2000

_tracer: Tracer | None = None
_provider: TracerProvider | None = None


def is_active() -> bool:
    return _tracer is not None


def start_tracing(url: str, percent: int, version: str) -> None:
    """Send traces to a collector from now on; what cannot be sent is dropped, and no request waits for it."""
    global _tracer, _provider
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    # A caller's `traceparent` names the trace; whether it is recorded is not for the caller to say.
    chosen = TraceIdRatioBased(percent / 100)
    sampler = ParentBased(chosen, remote_parent_sampled=chosen, remote_parent_not_sampled=chosen)
    resource = Resource.create({"service.name": "gridloom", "service.version": version})
    _provider = TracerProvider(sampler=sampler, resource=resource)
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    _tracer = _provider.get_tracer("gridloom")


async def stop_tracing() -> None:
    """Send what is left, and no more."""
    global _tracer, _provider
    provider, _tracer, _provider = _provider, None, None
    if provider is not None:
        await asyncio.to_thread(provider.shutdown)


@contextmanager
def trace_request(method: str, headers: Mapping[bytes, bytes]) -> Iterator[None]:
    """A span of a request that is being handled, within the caller's trace where it names one."""
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    assert _tracer is not None
    parent = headers.get(b"traceparent")
    carrier = {"traceparent": parent.decode("latin-1")} if parent else {}
    context = TraceContextTextMapPropagator().extract(carrier)
    with _tracer.start_as_current_span(
        method,
        context=context,
        kind=SpanKind.SERVER,
        attributes={"http.request.method": method},
        record_exception=False,
    ):
        yield


def describe_request(route: str | None, operation: str | None, status: int, request_id: str, *, ends: bool) -> None:
    """Say what became of the request of the span at hand. Never its path, query, headers or body: they hold secrets.

    `ends` it here, and what the request does from now on is in no trace.
    """
    from opentelemetry.context import Context, attach
    from opentelemetry.trace import StatusCode, get_current_span

    span = get_current_span()
    known = {"http.route": route, "gridloom.operation": operation, "gridloom.request_id": request_id}
    span.set_attributes({name: value for name, value in known.items() if value is not None})
    span.set_attribute("http.response.status_code", status)
    if route is not None:
        method = getattr(span, "name", "")
        span.update_name(f"{method} {route}")
    if status >= 500:
        span.set_status(StatusCode.ERROR)
    if ends:
        span.end()
        attach(Context())


@contextmanager
def trace_job(kind: str, attempt: int) -> Iterator[None]:
    """A span of an attempt at a job, a trace of its own; nothing while tracing is off."""
    if _tracer is None:
        yield
        return
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind

    attributes: dict[str, str | int] = {"gridloom.job": kind, "gridloom.attempt": attempt}
    with _tracer.start_as_current_span(
        f"job {kind}", context=Context(), kind=SpanKind.CONSUMER, attributes=attributes, record_exception=False
    ):
        yield


def describe_job(outcome: str) -> None:
    if _tracer is not None:
        from opentelemetry.trace import StatusCode, get_current_span

        get_current_span().set_attribute("gridloom.outcome", outcome)
        if outcome == "failed":
            get_current_span().set_status(StatusCode.ERROR)


def watch_statements(connection: Any) -> None:
    """Have a connection's statements in the traces, if there are any."""
    if _tracer is not None:
        connection.add_query_logger(_trace_statement)


def _trace_statement(logged: Any) -> None:
    """A statement that has ended, within the request or job at hand; its text without the values."""
    from opentelemetry.trace import SpanKind, StatusCode, get_current_span

    # The driver tells it a moment later, when the span above may have ended.
    if _tracer is None or not get_current_span().get_span_context().trace_flags.sampled:
        return
    end_ns = time.time_ns()
    text = " ".join(logged.query.split())[:MAX_STATEMENT_CHARS]
    span = _tracer.start_span(
        text.partition(" ")[0],
        kind=SpanKind.CLIENT,
        start_time=end_ns - int(logged.elapsed * 1e9),
        attributes={"db.system.name": "postgresql", "db.query.text": text},
    )
    if logged.exception is not None:
        span.set_attribute("error.type", type(logged.exception).__name__)
        span.set_status(StatusCode.ERROR)
    span.end(end_ns)
