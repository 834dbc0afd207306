"""Requests that were under way while the sandbox was reset."""

from __future__ import annotations

from typing import Final

from gridloom.kernel.problem import Problem, Unavailable
from gridloom.platform.http import Request
from gridloom.sandbox.store import was_reset_within

COMMIT_S: Final = 5.0
"""Between the last statements of a reset and the end of requests that had begun before it."""


async def explain_failure(request: Request, took_s: float) -> Problem | None:
    """A request whose rows a reset has removed fails in ways of its own; sent again, it is answered by what there is,
    and 401 where its caller is gone."""
    if await was_reset_within(request.pool, took_s + COMMIT_S):
        return Unavailable("The sandbox was reset meanwhile. Nothing was changed.", retry_after_s=1)
    return None
