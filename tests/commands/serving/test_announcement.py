"""What a person is shown once the service answers, and what a command does with the settings before."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from gridloom.commands.serving.command import announce_start
from gridloom.commands.serving.ports import find_port_fault
from gridloom.commands.serving.serve import StartupReport
from gridloom.kernel.ids import OrganisationID, UserID
from gridloom.platform.identity.bootstrap import Bootstrap
from gridloom.settings import Settings

pytestmark = pytest.mark.pure

OPERATOR = Bootstrap(OrganisationID(UUID(int=1)), UserID(UUID(int=2)), "ada", "made-up-words", is_made_up=True)
REPORT = StartupReport(
    address="http://127.0.0.1:8123",
    settings=Settings(environment="sandbox", workers=3, home=Path("/somewhere")),
    embedded=True,
    migrations=[],
    bootstrap=OPERATOR,
    sign_ins=[],
    history=None,
    seconds=1.26,
)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Any:
    def show(**changes: Any) -> dict[str, str]:
        """What is shown, by the word before it."""
        announce_start(replace(REPORT, **changes))
        said = capsys.readouterr().out
        rows = re.findall(r"^│\s+(\S.*?)(?:\s{2,}(.*?))?\s*│$", said, re.MULTILINE)
        return {**dict(rows), "title": said.splitlines()[0], "hint": " ".join(re.findall(r"^No ADMIN.*$", said, re.M))}

    return show


class TestAnAnnouncement:
    def test_says_where_the_service_is_and_how_to_sign_in(self, show: Any) -> None:
        shown = show()
        assert "Gridloom sandbox, ready in 1.3 s" in shown.pop("title")
        assert shown == {
            "Address": "http://127.0.0.1:8123",
            "Docs": "http://127.0.0.1:8123/docs",
            "Database": "/somewhere",
            "Workers": "3",
            "Username": "ada",
            "Password": "made-up-words",
            "hint": "",
        }

    def test_repeats_no_password_that_was_given(self, show: Any) -> None:
        shown = show(bootstrap=replace(OPERATOR, is_made_up=False), embedded=False)
        assert (shown["Username"], "Password" in shown, shown["Database"]) == ("ada", False, "your PostgreSQL")

    def test_tells_who_else_there_is_and_how_far_the_world_has_come(self, show: Any) -> None:
        sign_in = SimpleNamespace(username="rhine", password="words", shown_as="Rhine Storage")
        shown = show(sign_ins=[sign_in], history="history 31 %", bootstrap=None)
        assert re.fullmatch(r"words +\(Rhine Storage\)", shown["Or as rhine"])
        assert (shown["World"], "Username" in shown) == ("history 31 %", False)
        assert shown["hint"].startswith("No ADMIN can sign in? gridloom let-in EMAIL")

    def test_is_for_a_person_and_left_out_of_a_production(self, capsys: pytest.CaptureFixture[str]) -> None:
        announce_start(replace(REPORT, settings=replace(REPORT.settings, environment="production")))
        assert capsys.readouterr().out == ""


class TestAPort:
    def test_is_free_or_has_a_fault_in_words(self) -> None:
        import socket

        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            assert "in use" in str(find_port_fault("127.0.0.1", port)).lower()
        assert find_port_fault("127.0.0.1", port) is None
        assert find_port_fault("203.0.113.7", port) is not None, "no address of this machine"
