"""Putting a job into the queue and taking it out again, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from gridloom.kernel.shares import Share, ShareExceeded, ShareLimits
from gridloom.platform.http import Request
from gridloom.platform.http.shares import ShareUse
from gridloom.platform.jobs import store
from gridloom.platform.jobs.declare import KINDS, Clock

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Database

QUEUE_RETRY_S: Final = 10
"""About what a step of a job takes, after which the next one has its turn."""


async def enqueue(
    db: Database,
    kind: str,
    *,
    key: str,
    due: datetime,
    clock: Clock = "real",
    payload: Mapping[str, Any] | None = None,
    restart: bool = True,
    keep_earlier_due: bool = False,
    organisation_id: UUID | None = None,
    size: int = 0,
) -> None:
    """Have `kind` run for `key` at `due`, if and only if the caller's transaction commits.

    There is one job per (kind, key): enqueuing it again moves its due time, replaces its payload and revives a dead
    one. A run that is under way is not waited for; the job then runs once more. With `restart` off a job that has
    failed is left to its rest: for those who ask again and again for what is still to be done. With `keep_earlier_due`
    one that waits for an earlier time keeps that time: for jobs that look at all that has happened since they were due.
    A job that an organisation asks for names it, and its size (about its seconds): smaller ones of it run first.
    """
    assert due.tzinfo is not None, "a due time is an instant"
    known = KINDS.get(kind)
    assert known is None or known.for_organisations == (organisation_id is not None), f"whose job is {kind}?"
    await store.put(db, kind, key, clock, due, payload or {}, restart, keep_earlier_due, organisation_id, size)


async def admit_job(request: Request, db: Database) -> None:
    """Refuse one job more than the caller's organisation may have waiting, on all replicas together.

    Until the transaction ends no other request of the organisation counts.
    """
    if request.holder is None:
        return
    limits, organisation_id = request.shares.limits, request.caller.organisation_id
    await store.lock_count(db, organisation_id)
    _, queued = await store.count_jobs(db, organisation_id)
    if queued >= limits.jobs_queued:
        raise ShareExceeded(
            Share.JOBS,
            limits.jobs_queued,
            f"Your organisation has {queued} jobs waiting; {limits.jobs_running} of it run at a time.",
            QUEUE_RETRY_S,
        )


async def read_job_use(limits: ShareLimits, db: Database, organisation_id: UUID) -> ShareUse:
    running, queued = await store.count_jobs(db, organisation_id)
    return ShareUse(used=running, limit=limits.jobs_running, waiting=queued, max_waiting=limits.jobs_queued)


async def cancel(db: Database, kind: str, key: str) -> bool:
    """Delete a job; False if there is none (any more), which means that its effects are committed.

    A run that is under way when the cancellation commits is undone.
    """
    return await store.remove(db, kind, key)
