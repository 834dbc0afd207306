"""A job: a kind declared beside its handler, and one run of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    from gridloom.platform.database.pool import Database

Clock = Literal["real", "platform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One attempt.

    `db` is in the transaction that also ends the job: what the run writes counts exactly once, or not at all.
    """

    db: PoolConnectionProxy[asyncpg.Record]
    kind: str
    key: str
    payload: Mapping[str, Any]
    due: datetime
    attempt: int


Handler = Callable[[JobRun], Awaitable[None]]
Postpone = Callable[["Database", datetime, datetime], Awaitable[datetime]]
"""When to run a job that is due at the first instant, where nothing else falls due before the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    name: str
    handler: Handler
    limit: timedelta
    every: timedelta | None
    clock: Clock
    bulk: bool
    for_organisations: bool
    postpone: Postpone | None


KINDS: dict[str, JobKind] = {}
"""Every kind this process knows, by name; a runner leaves jobs of other kinds to the replicas that know them."""


def register_jobs(*kinds: JobKind) -> None:
    """Have this process run jobs of these kinds."""
    for kind in kinds:
        known = KINDS.get(kind.name)
        assert known is None or known.handler.__qualname__ == kind.handler.__qualname__, f"two handlers for {kind.name}"
        KINDS[kind.name] = kind


def jobs_of(*modules: ModuleType) -> tuple[JobKind, ...]:
    """The jobs declared in these modules."""
    return tuple(
        value.__job__
        for module in modules
        for value in vars(module).values()
        if hasattr(value, "__job__") and value.__module__ == module.__name__
    )


def job(
    kind: str,
    *,
    limit: timedelta = timedelta(minutes=1),
    every: timedelta | None = None,
    clock: Clock = "real",
    bulk: bool = False,
    for_organisations: bool = False,
    postpone: Postpone | None = None,
) -> Callable[[Handler], Handler]:
    """Declare the handler of a kind of job. It runs in processes that `register_jobs` it, as the wiring has them do.

    `limit`: how long one attempt may take. `every`: makes it a recurring job that needs no enqueue, on `clock`.
    `bulk`: long work of which a worker does one at a time, so that it never delays what must happen on
    the second. `for_organisations`: organisations ask for it; it runs at slots of their own, by turns.
    `postpone`: while a sandbox's clock leaps, for a job that is due again and again, mostly with nothing to do.
    """
    assert not (for_organisations and every is not None), "what recurs is the platform's"
    assert every is None or every > timedelta()

    def declare(handler: Handler) -> Handler:
        declared = JobKind(
            name=kind,
            handler=handler,
            limit=limit,
            every=every,
            clock=clock,
            bulk=bulk,
            for_organisations=for_organisations,
            postpone=postpone,
        )
        handler.__job__ = declared  # type: ignore[attr-defined]
        return handler

    return declare
