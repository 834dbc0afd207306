"""Traces reach a collector over OTLP where that is turned on, and cost nothing where it is not."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.conftest import migrated_database, running
from tests.people import OrganisationUnderTest, People
from tests.platform.events.happening import happen
from tests.platform.events.sse import Reader
from tests.platform.jobs.known import known_job

from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.platform.jobs import JobRun, enqueue
from gridloom.settings import VARIABLES, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@dataclass
class Collector:
    """Takes what an OTLP collector takes, and keeps the spans."""

    url: str = ""
    services: set[str] = field(default_factory=set)
    spans: list[Any] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        asked = ExportTraceServiceRequest.FromString(body)
        for resource in asked.resource_spans:
            self.services |= {
                one.value.string_value for one in resource.resource.attributes if one.key == "service.name"
            }
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def attributes_of(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert (self.path, self.headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
            collector.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
async def collected() -> AsyncIterator[Collector]:
    """What a service sent from its start to its end: some requests, a stream, a job that fails."""
    with collecting() as collector:
        async with migrated_database() as url:
            settings = Settings(environment="sandbox", database_url=url, traces_url=collector.url)
            async with running(settings) as edge, People(edge) as people:
                await people.operator()
                await work(edge, await people.new_organisation())
        yield collector


async def work(edge: Application, ours: OrganisationUnderTest) -> None:
    known = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
    assert (await ours.admin.get("/physical-assets?limit=7", headers=known)).status_code == 200
    assert (await ours.admin.get("/nowhere")).status_code == 404
    async with Reader(edge, ours.people[Role.ADMIN].tokens.access) as stream:
        await happen(edge.pool, ours.id)
        assert await stream.next()
    ended = asyncio.Event()

    @known_job("traced")
    async def traced(run: JobRun) -> None:
        await run.db.execute("select $1::text, 'of a job'", "a value")
        ended.set()
        raise ValueError("not this time")

    await enqueue(edge.pool, "traced", key="a", due=datetime.now(UTC))
    await asyncio.wait_for(ended.wait(), 60)


class TestATrace:
    async def test_has_a_request_within_its_callers_trace_and_its_statements_below(self, collected: Collector):
        (request,) = [span for span in collected.named("GET /physical-assets") if span.trace_id.hex() == TRACE]
        assert collected.services == {"gridloom"}
        assert request.parent_span_id.hex() == PARENT
        seen = attributes_of(request)
        assert seen.pop("gridloom.request_id")
        assert seen == {
            "http.request.method": "GET",
            "http.route": "/physical-assets",
            "http.response.status_code": 200,
            "gridloom.operation": "listPhysicalAssets",
        }
        below = [span for span in collected.spans if span.parent_span_id == request.span_id]
        texts = [attributes_of(span)["db.query.text"] for span in below]
        assert any("from asset" in text or "physical_asset" in text for text in texts), texts
        for span in below:
            assert span.trace_id == request.trace_id
            assert request.start_time_unix_nano <= span.end_time_unix_nano <= request.end_time_unix_nano + 10**9

    async def test_has_a_job_with_its_outcome_and_no_value_of_a_statement(self, collected: Collector):
        (job,) = collected.named("job traced")
        assert attributes_of(job) == {"gridloom.job": "traced", "gridloom.attempt": 1, "gridloom.outcome": "failed"}
        assert job.status.code == 2
        below = [attributes_of(span) for span in collected.spans if span.parent_span_id == job.span_id]
        assert "select $1::text, 'of a job'" in [one["db.query.text"] for one in below]
        assert "a value" not in str(below)

    async def test_of_a_live_stream_ends_where_the_stream_begins(self, collected: Collector):
        (stream,) = collected.named("GET /events")
        below = [attributes_of(span) for span in collected.spans if span.parent_span_id == stream.span_id]
        assert below
        assert not any("from event e" in one["db.query.text"] for one in below)

    async def test_of_what_has_no_route_names_the_method_alone(self, collected: Collector):
        (missed,) = collected.named("GET")
        assert attributes_of(missed)["http.response.status_code"] == 404


class TestTracesThatAreOff:
    def test_import_nothing_of_opentelemetry(self):
        program = "import sys, gridloom.app; sys.exit('opentelemetry' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class TestThePage:
    def test_names_the_settings_there_are(self):
        assert set(re.findall(r"`(GRIDLOOM_TRACES_\w+)`", PAGE)) == {name for name in VARIABLES if "TRACES" in name}

    def test_names_the_attributes_that_are_sent(self, collected: Collector):
        sent = {name for span in collected.spans for name in attributes_of(span)}
        assert set(re.findall(r"^\| `([a-z_.]+)`", PAGE, re.MULTILINE)) == sent | {"error.type"}
