"""The share of reads: places for those that cost much, by turns of organisations; small ones never wait for them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Final
from uuid import UUID

from prometheus_client import Gauge

from gridloom.kernel.fair_queue import FairQueue
from gridloom.kernel.shares import Share, ShareLimits
from gridloom.platform.database.pool import Database
from gridloom.platform.http.fields import QueryParameters
from gridloom.platform.http.operation import Operation
from gridloom.platform.http.request import Request
from gridloom.platform.http.responses import plain_type
from gridloom.platform.http.shares import ShareUse
from gridloom.platform.http.windows import estimate_values, has_window

MAX_SMALL_VALUES: Final = 50_000
"""Answered in some milliseconds: up to a week of quarter-hours in fifty columns."""
MAX_MEDIUM_VALUES: Final = 1_000_000

RUNNING: Final = Gauge("gridloom_reads_running", "Reads under way that cost much", multiprocess_mode="livesum")


class ReadShare:
    """Places of a worker for reads that cost much: one organisation fills half of them at most."""

    def __init__(self, limits: ShareLimits) -> None:
        self._limits = limits
        self._queue = FairQueue(
            Share.READS,
            slots=2 * limits.reads_running,
            max_running=limits.reads_running,
            max_waiting=limits.reads_waiting,
        )

    async def take_place(self, request: Request, query: QueryParameters | None) -> None:
        """Wait for a place, which the request holds until its response is sent; at once for a small read."""
        values = count_values(request.operation, query, request.accepts)
        if values > MAX_SMALL_VALUES:
            await request.hold(self._queue.slot(request.holder, is_long=values > MAX_MEDIUM_VALUES))
            await request.hold(_Counted())

    def has_waiting(self) -> bool:
        return self._queue.has_waiting()

    async def read_use(self, db: Database, organisation_id: UUID) -> ShareUse:
        return ShareUse(
            used=self._queue.count_running(organisation_id),
            limit=self._limits.reads_running,
            waiting=self._queue.count_waiting(organisation_id),
            max_waiting=self._limits.reads_waiting,
        )


class _Counted(AbstractAsyncContextManager[None]):
    async def __aenter__(self) -> None:
        RUNNING.inc()

    async def __aexit__(self, *_: object) -> None:
        RUNNING.dec()


def count_values(operation: Operation, query: QueryParameters | None, media_type: str) -> int:
    """Values of a read's answer, which are its cost; 0 for one of a single resource or of a page."""
    if operation.changes_state:
        return 0
    if plain_type(media_type) in operation.costly_as:
        return MAX_SMALL_VALUES + 1
    return estimate_values(query, operation.columns) if query is not None and has_window(type(query)) else 0
