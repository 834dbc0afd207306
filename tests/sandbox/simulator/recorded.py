"""Sessions of a simulated world's members that keep what was asked of them, and answer as told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridloom_client import ConflictError, ProblemError
from gridloom_client.wire import RawResponse

Answer = Callable[[str, Any], Any]


class Session:
    """`answer` is given the target and the body of a request; what it raises is raised."""

    def __init__(self, answer: Answer = lambda target, body: None, organisation_id: str = "") -> None:
        self.organisation_id = organisation_id
        self.got: list[str] = []
        self.posted: list[tuple[str, Any, str]] = []
        self.put_there: list[tuple[str, Any]] = []
        self._answer = answer

    async def get(self, target: str) -> Any:
        self.got.append(target)
        return self._answer(target, None)

    async def post(self, target: str, body: Any, key: str) -> Any:
        self.posted.append((target, body, key))
        return self._answer(target, body)

    async def put(self, target: str, body: Any) -> Any:
        self.put_there.append((target, body))
        return self._answer(target, body)


def refusal(kind: type[ProblemError] = ConflictError) -> ProblemError:
    """Another caller was first, or a rule says no."""
    return kind(RawResponse(409, {}, b"{}"))
