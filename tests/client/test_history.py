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


class TestMentioningTheHistory:
    def test_leaves_a_refusal_to_the_command_itself(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        mention_history_to_people(client_of(ProblemError.of(problem(403))))
        assert terminal.getvalue() == ""
