"""Server-sent events, from bytes as they arrive to events (the WHATWG's event stream format)."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event; `id` is what to resume after."""

    data: str
    event: str = "message"
    id: str = ""

    def json(self) -> Any:
        return msgspec.json.decode(self.data)


class EventParser:
    """Feed it chunks, cut anywhere; it gives the events that are complete.

    `last_event_id` is where to resume: it moves with complete events, and with an id that stands alone.
    """

    def __init__(self) -> None:
        self.last_event_id = ""
        self._id = ""
        self.retry_s: float | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._data: list[str] = []
        self._event = ""

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        text = self._rest + self._decode(chunk)
        if text.endswith("\r"):  # its line feed may come with the next chunk
            text, self._rest = text[:-1], "\r"
        else:
            self._rest = ""
        *lines, unfinished = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = unfinished + self._rest
        return [event for event in map(self._take_line, lines) if event is not None]

    def _take_line(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch_event()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_s = int(value) / 1000
        return None

    def _dispatch_event(self) -> ServerSentEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self.last_event_id = [], "", self._id
        if not data:
            return None
        return ServerSentEvent("\n".join(data), event or "message", self.last_event_id)
