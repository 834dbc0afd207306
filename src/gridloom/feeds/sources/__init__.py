"""The sources: a class each that says what to ask and how to read it; `checking` says when it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gridloom.feeds.model import FeedName, Reading, Topic
from gridloom.feeds.question import Conversation
from gridloom.kernel.window import Window


class Source(Protocol):
    @property
    def feed(self) -> FeedName: ...

    def ask(self, topic: Topic, window: Window) -> Conversation[list[Any]]:
        """Yields the requests for a window, is sent the answers, and returns those that are to be read."""
        ...

    def read(self, topic: Topic, window: Window, answers: Sequence[Any]) -> Reading:
        """The values of the answers and the days that they make complete; pure, and may take a moment."""
        ...
