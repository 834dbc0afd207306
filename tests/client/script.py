"""Plays the world for a script of the client: grants its wishes from a list, and notes what it wished."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from gridloom_client import RawResponse, Request, TransportError
from gridloom_client.effects import Emit, Exclusive, Open, Pause, Read, Send, Steps

UNREACHED = TransportError("not reached", is_sent=False)
LOST = TransportError("lost", is_sent=True)


def reply(status: int = 200, body: Any = None, **headers: str) -> RawResponse:
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawResponse(status, {name.replace("_", "-").lower(): value for name, value in headers.items()}, content)


def problem(status: int, name: str = "some-problem", **headers: str) -> RawResponse:
    return reply(status, {"type": f"/docs/problems/{name}", "title": "No", "status": status}, **headers)


@dataclass
class World:
    """Answers to requests and reads, in the order in which they come; None ends a stream."""

    answers: list[RawResponse | TransportError | bytes | None]
    requests: list[Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    emitted: list[Any] = field(default_factory=list)

    def play(self, steps: Steps[Any], emits: int | None = None) -> Any:
        """The script's result; stops early after so many emitted items."""
        granted: Any = None
        loss: TransportError | None = None
        while True:
            try:
                wish = steps.throw(loss) if loss is not None else steps.send(granted)
            except StopIteration as stop:
                return stop.value
            granted = loss = None
            match wish:
                case Send(request) | Open(request):
                    self.requests.append(request)
                    granted = self._next()
                case Read():
                    granted = self._next()
                case Pause(seconds):
                    self.pauses.append(seconds)
                case Exclusive(inner):
                    self.play(inner)
                case Emit(item):
                    self.emitted.append(item)
                    if len(self.emitted) == emits:
                        steps.close()
                        return None
            if isinstance(granted, TransportError):
                granted, loss = None, granted

    def _next(self) -> RawResponse | TransportError | bytes | None:
        assert self.answers, f"nothing left to answer {self.requests[-1]}"
        return self.answers.pop(0)

    @property
    def targets(self) -> list[str]:
        return [request.target for request in self.requests]


def world(*answers: RawResponse | TransportError | bytes | None) -> World:
    return World(list(answers))


ORGANISATION = {
    **{"id": "01890000-0000-7000-8000-000000000001", "name": "A", "kind": "PARTICIPANT", "address": ""},
    **{"createdAt": "2026-01-01T00:00:00Z", "requireSecondFactor": False, "maxKeyAgeDays": 365, "allowedNetworks": []},
}
"""As the service shows one."""
