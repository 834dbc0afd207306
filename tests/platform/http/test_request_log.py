"""A log line of a request says who asked, from where and in which trace; a trace is sent back."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.conftest import running_edge
from tests.people import client_of
from tests.platform.http.conftest import toy_service

from gridloom.platform.http import application
from gridloom.platform.http.answer import errors
from gridloom.platform.http.application import Application

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACE_PARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


class Lines(list[dict[str, Any]]):
    """A logger of every level."""

    def info(self, event: str, **details: Any) -> None:
        self.append({"event": event, **details})

    def error(self, event: str, **details: Any) -> None:
        self.info(event, **details, level="error")


async def ask(toys: Application, path: str, token: str | None = None, **headers: str) -> tuple[Any, dict[str, Any]]:
    """The response, and the line that the request left in the log."""
    lines = Lines()
    with pytest.MonkeyPatch.context() as patched:
        for module in (application, errors):
            patched.setattr(module, "log", lines)
        async with client_of(toys, token, address="203.0.113.7") as client:
            response = await client.get(path, headers=headers)
    [line] = lines
    return response, line


class TestALine:
    async def test_names_the_user_the_organisation_and_the_address(self, toys: Application):
        _, line = await ask(toys, "/toys/1", "ada+Read:auctions")
        assert (line["user"], line["address"]) == ("ada", "203.0.113.7")
        assert line["organisation"] == str(uuid.uuid5(uuid.NAMESPACE_DNS, "organisation of ada"))
        assert (line["operation"], line["status"]) == ("readToy", 400)

    async def test_holds_no_secret(self, toys: Application):
        _, line = await ask(toys, "/toys?names=hunter2&colour=1", "secret-token", cookie="gridloom_session=crumb")
        shown = repr({name: value for name, value in line.items() if name != "user"})
        assert "hunter2" not in shown
        assert "secret-token" not in shown
        assert "crumb" not in shown

    @pytest.mark.parametrize("path", ["/faults/broken", "/unready"])
    async def test_is_an_error_where_the_service_failed(self, toys: Application, path: str):
        _, line = await ask(toys, path)
        assert (line["event"], line["level"], line["status"] >= 500) == ("request.failed", "error", True)

    async def test_is_there_for_every_request_where_that_is_asked_for(self, database_url: str):
        async with running_edge(toy_service(database_url, logs_every_request=True)) as edge:
            _, line = await ask(edge, "/faults/large")
        assert (line["event"], line["operation"], line["status"]) == ("request", "goWrong", 200)


class TestATrace:
    async def test_is_logged_and_sent_back(self, toys: Application):
        response, line = await ask(toys, "/nowhere-known/1", traceparent=TRACE_PARENT)
        assert response.headers["traceparent"] == TRACE_PARENT
        assert line["trace_id"] == TRACE_ID

    @pytest.mark.parametrize(
        "malformed",
        [
            "x",
            TRACE_PARENT.upper(),
            f"ff{TRACE_PARENT[2:]}",
            TRACE_PARENT.replace(TRACE_ID, "0" * 32),
            f"{TRACE_PARENT}\t-",
        ],
    )
    async def test_that_is_malformed_is_ignored(self, toys: Application, malformed: str):
        response, line = await ask(toys, "/toys/1", "ada", traceparent=malformed)
        assert "traceparent" not in response.headers
        assert "trace_id" not in line
