"""Optimisations of long windows, made by jobs, and deleted after a day."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

import msgspec

from gridloom.kernel.problem import NotFound, Problem
from gridloom.optimiser.schedules import store
from gridloom.optimiser.schedules.asset_optimisation import load_optimisation
from gridloom.optimiser.schedules.wire import NewOptimisation, OptimisationView
from gridloom.optimiser.solver_queue import run_behind_short_work
from gridloom.optimiser.solving.linear import Deadline
from gridloom.platform.database.clock import real_now
from gridloom.platform.jobs import JobRun, job
from gridloom.virtual_assets import store as asset_store

KIND: Final = "optimisation.solve"
SOLVING_S: Final = 60.0
RETENTION: Final = timedelta(days=1)


@job(KIND, limit=timedelta(minutes=5), for_organisations=True)
async def solve_optimisation(run: JobRun) -> None:
    """A refusal is an answer too: it is kept where the schedule would be."""
    organisation_id, asset_id = UUID(run.payload["organisationID"]), UUID(run.payload["virtualAssetID"])
    stored = await store.read_optimisation(run.db, organisation_id, asset_id, UUID(run.key))
    if stored is None:
        return
    try:
        view: OptimisationView = await _solve_request(run, organisation_id, asset_id, stored.request)
    except Problem as refusal:
        answer: dict[str, Any] = {"status": "FAILED", "problem": refusal.document()}
        await store.finish_optimisation(run.db, organisation_id, stored.id, "FAILED", answer)
        return
    await store.finish_optimisation(run.db, organisation_id, stored.id, "DONE", msgspec.to_builtins(view))


@cache
def _make_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="job solver", initializer=run_behind_short_work)


async def _solve_request(run: JobRun, organisation_id: UUID, asset_id: UUID, request: Any) -> OptimisationView:
    asset = await asset_store.read_asset(run.db, organisation_id, asset_id)
    if asset is None:
        raise NotFound(f"The organisation has no virtual asset {asset_id}.")
    assignment = await load_optimisation(run.db, asset, msgspec.convert(request, NewOptimisation), None)
    deadline = Deadline(SOLVING_S)
    try:
        return await asyncio.get_running_loop().run_in_executor(_make_threads(), assignment.solve, deadline)
    finally:
        deadline.stop()


@job("optimisation.retention", every=timedelta(hours=1))
async def delete_expired_optimisations(run: JobRun) -> None:
    await store.delete_old(run.db, await real_now(run.db) - RETENTION)
