"""The optimiser's lifespan in each worker: its solver's queue, and past day values."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gridloom.kernel.shares import Share
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.optimiser.valuations.day_value_cache import DayValueCache
from gridloom.platform.http.application import Application
from gridloom.settings import Settings


@asynccontextmanager
async def optimiser_lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    queue = SolverQueue(settings.shares)
    edge.shares.add_meter(Share.COMPUTATIONS, queue.read_use)
    edge.resources.add(queue)
    edge.resources.add(DayValueCache())
    try:
        yield
    finally:
        queue.close()
