"""How a worker listens for revocations: it tries again, less and less often, and believes nothing meanwhile."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.platform.identity.token_verification import revocations
from gridloom.platform.identity.token_verification.revocations import RevocationListener

pytestmark = pytest.mark.pure


class Line:
    """A connection that answers so many questions and then breaks."""

    def __init__(self, answers: int, *, breaks_at_once: bool = False) -> None:
        self.answers, self.breaks_at_once, self.is_open = answers, breaks_at_once, True

    async def add_listener(self, channel: str, heard: Any) -> None:
        if self.breaks_at_once:
            raise ConnectionError("gone")
        self.say = lambda subject: heard(self, 1, channel, subject)

    async def execute(self, _question: str, *, timeout: float) -> None:
        self.answers -= 1
        if self.answers < 0:
            raise ConnectionError("gone")

    def terminate(self) -> None:
        self.is_open = False


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a listener try the given lines one after the other; what it did, by a clock that stands still.

    Clock and pauses are the genuine ones again before anything else of the event loop has a turn: the listener of a
    service in this process would end for good with a pause that is cancelled.
    """

    async def play(*lines: Line | None) -> list[Any]:
        done, waiting = list[Any](), iter(lines)

        async def connect() -> Line:
            done.append("connect")
            line = next(waiting, None)
            if line is None:
                raise ConnectionError("not reached")
            return line

        async def sleep(seconds: float) -> None:
            done.append((seconds, round(listener.trusted_until, 3)))
            if sum(one == "connect" for one in done) > len(lines):
                raise asyncio.CancelledError

        listener = RevocationListener(connect, heard=done.append, gap=lambda: done.append("gap"))
        with monkeypatch.context() as replaced:
            replaced.setattr(revocations, "time", SimpleNamespace(monotonic=lambda: 100.0))
            replaced.setattr(revocations, "asyncio", SimpleNamespace(sleep=sleep))
            with pytest.raises(asyncio.CancelledError):
                await listener._listen_for_ever()
        return done

    return play


class TestAListener:
    async def test_tries_again_less_and_less_often(self, played: Any) -> None:
        done = await played(*[None] * 7)
        assert [one[0] for one in done if one != "connect"] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]

    async def test_begins_anew_with_short_pauses_after_it_was_heard(self, played: Any) -> None:
        broken = Line(0, breaks_at_once=True)
        done = await played(None, None, Line(0), broken)
        assert [one[0] for one in done if isinstance(one, tuple)] == [0.05, 0.1, 0.05, 0.05, 0.1]
        assert not broken.is_open
