"""A log line of a request says who asked, from where and in which trace; a trace is sent back."""

from __future__ import annotations

import time
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from tests.people import client_of

from gridloom.platform.http import application
from gridloom.platform.http.answer import errors
from gridloom.platform.http.answer.render import send_response
from gridloom.platform.http.application import Application

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACE_PARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


class Lines(list[dict[str, Any]]):
    """A logger of every level."""

    def info(self, event: str, **details: Any) -> None:
        self.append({"event": event, **details})

    error = info


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

    async def test_of_a_failure_names_them_too(self, toys: Application):
        _, line = await ask(toys, "/faults/bug")
        assert (line["event"], line["address"]) == ("request.failed", "203.0.113.7")
        assert "user" not in line

    async def test_holds_no_secret(self, toys: Application):
        _, line = await ask(toys, "/toys?names=hunter2&colour=1", "secret-token", cookie="gridloom_session=crumb")
        shown = repr({name: value for name, value in line.items() if name != "user"})
        assert "hunter2" not in shown
        assert "secret-token" not in shown
        assert "crumb" not in shown


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


class TestTheTimeOfARequest:
    @pytest.mark.parametrize(("path", "seconds"), [("/ticks", 0.0), ("/toys", 300.0)])
    async def test_is_that_until_a_stream_begins_or_an_answer_is_sent(
        self, toys: Application, monkeypatch: pytest.MonkeyPatch, path: str, seconds: float
    ):
        """Or every reader of events would be a slow request, in the metrics and in the log."""
        now, observed, lines = [0.0], [], Lines()

        async def send_slowly(*arguments: Any, **options: Any) -> None:
            now[0] += 300
            await send_response(*arguments, **options)

        monkeypatch.setattr(application, "time", SimpleNamespace(perf_counter=lambda: now[0], monotonic=time.monotonic))
        monkeypatch.setattr(application, "send_response", send_slowly)
        monkeypatch.setattr(application, "_observe_request", lambda *values: observed.append(values[-1]))
        monkeypatch.setattr(application, "log", lines)
        async with client_of(toys, "ada") as client:
            await client.get(path)
        assert observed == [seconds]
        assert len(lines) == (1 if seconds else 0)
        assert toys._in_progress == 0, "or its end waits for them"


class TestATraceback:
    def test_is_shown_once_a_minute_for_each_line_that_fails(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(errors, "_last_traceback_at", {})
        now = [100.0]
        monkeypatch.setattr(errors, "time", SimpleNamespace(monotonic=lambda: now[0]))

        def fail(place: int) -> None:
            if place == 1:
                raise ValueError("the first")
            raise ValueError("the second")

        shown = []
        for place, later_s in ((1, 0), (1, 59.9), (2, 0), (2, 0), (1, 0.2), (2, 0)):
            now[0] += later_s
            try:
                fail(place)
            except ValueError as error:
                shown.append(errors._is_due(error))
        assert shown == [True, False, True, False, True, False]

    def test_stands_behind_words_that_are_cut(self):
        assert errors._in_words(ValueError("x" * 301)) == f"ValueError: {'x' * 300}"
