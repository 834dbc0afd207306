"""Putting a job into the queue and taking it out again, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gridloom.jobs import store
from gridloom.jobs.declare import Clock

if TYPE_CHECKING:
    from gridloom.database.pool import Database


async def enqueue(
    db: Database,
    kind: str,
    *,
    key: str,
    due: datetime,
    clock: Clock = "real",
    payload: Mapping[str, Any] | None = None,
    restart: bool = True,
    at_latest: bool = False,
) -> None:
    """Have `kind` run for `key` at `due`, if and only if the caller's transaction commits.

    There is one job per (kind, key): enqueuing it again moves its due time, replaces its payload and revives a dead
    one. A run that is under way is not waited for; the job then runs once more. With `restart` off a job that has
    failed is left to its rest: for those who ask again and again for what is still to be done. With `at_latest` one
    that waits for an earlier time keeps that time: for jobs that look at all that has happened since they were due.
    """
    assert due.tzinfo is not None, "a due time is an instant"
    await store.put(db, kind, key, clock, due, payload or {}, restart, at_latest)


async def cancel(db: Database, kind: str, key: str) -> bool:
    """Forget a job; False if there is none (any more), which means that its effects stand.

    A run that is under way when the cancellation commits is undone.
    """
    return await store.remove(db, kind, key)
