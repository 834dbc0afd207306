"""Every command mentions a history that is still being played, beside its answer, and only to people."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from tests.client.script import problem

from gridloom_client import ProblemError
from gridloom_client.answers import Simulator
from gridloom_client.commands.terminal.history import mention_history_to_people

pytestmark = pytest.mark.pure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def client_of(answer: Any) -> Any:
    def simulator() -> Simulator:
        if isinstance(answer, Exception):
            raise answer
        return Simulator(
            running=True, seed=1, speed=1.0, now=datetime(2026, 11, 1, tzinfo=UTC), **answer
        )  # fmt: skip

    return SimpleNamespace(sandbox=SimpleNamespace(simulator=simulator))


PLAYED_IN_PART = {"history_complete": False, "progress": 0.31, "history_seconds_left": 80}


class TestMentioningTheHistory:
    def test_says_how_far_it_is_and_how_long_it_takes(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        mention_history_to_people(client_of(PLAYED_IN_PART))
        assert terminal.getvalue() == "history 31 %, about 80 s left\n"

    def test_is_silent_once_it_is_complete(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        mention_history_to_people(client_of({"history_complete": True, "progress": 1.0}))
        assert terminal.getvalue() == ""

    def test_asks_nothing_where_a_script_reads(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        mention_history_to_people(client_of(AssertionError("it must not be asked")))

    @pytest.mark.parametrize(("seconds", "said"), [(None, "history 31 %\n"), (0, "history 31 %, about 0 s left\n")])
    def test_says_how_long_it_takes_once_that_is_known(
        self, monkeypatch: pytest.MonkeyPatch, seconds: int | None, said: str
    ):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        mention_history_to_people(client_of(PLAYED_IN_PART | {"history_seconds_left": seconds}))
        assert terminal.getvalue() == said

    def test_leaves_a_refusal_to_the_command_itself(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        mention_history_to_people(client_of(ProblemError.of(problem(403))))
        assert terminal.getvalue() == ""
