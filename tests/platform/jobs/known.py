"""Jobs that a test declares and its process runs at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gridloom.platform.jobs import JobRun, job, register_jobs

Handler = Callable[[JobRun], Awaitable[None]]


def known_job(kind: str, **options: Any) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        declared = job(kind, **options)(handler)
        register_jobs(declared.__job__)  # type: ignore[attr-defined]
        return declared

    return declare
