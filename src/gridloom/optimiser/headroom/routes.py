"""Headroom over HTTP: how far the schedule may move in each quarter-hour by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats
from gridloom.optimiser.headroom.formulas import CLOSED, HeadroomFinder, PeriodHeadroom
from gridloom.optimiser.limits import LimitReason, LimitReasons, find_reasons
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import CancelledError
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import Instant, QueryParameters, Request, Response, ResponseBody, operation
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.asset_lookup import ASSET, etag_of, require_asset
from gridloom.virtual_assets.energy.projection import Projection, ProjectionInput, project
from gridloom.virtual_assets.model import Block, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period, requested_periods
from gridloom.virtual_assets.schedule.change.validation import (
    first_energy_cut,
    first_energy_excess,
    without_cycle_cuts,
)
from gridloom.virtual_assets.schedule.points import SchedulePoints, distribute_over_blocks, group_by_lane
from gridloom.virtual_assets.schedule.projection_input import load_projection_input
from gridloom.virtual_assets.schedule.projection_loading import first_cuttable_period

TAG = "Decisions"
MAX_PERIODS = 7 * 96 + 4


class HeadroomTakesLong(Problem, status=422, title="Headroom of the window takes too long to find"):
    """Where stored points will be cut, moving one of them moves others too, and each quarter-hour is tried out over the
    whole life of the asset. That may take five seconds. Ask for a shorter window.
    """


class HeadroomQuery(QueryParameters):
    """The next 48 hours when left out; a week at most."""

    start: Instant | None = None
    end: Instant | None = None


class HeadroomLimits(ResponseBody):
    up: LimitReason
    down: LimitReason


class HeadroomPoint(ResponseBody):
    """kW by which the schedule of the quarter-hour may move by itself, all else as stored."""

    time: datetime
    up: float
    down: float
    limited_by: HeadroomLimits


@dataclass(frozen=True, slots=True, eq=False)
class _HeadroomTask:
    """The asset's projection from the period `first` on, read: the periods [start, end) are found in a thread."""

    asset: VirtualAsset
    blocks: list[Block]
    lanes: list[int]
    inputs: ProjectionInput
    reasons: LimitReasons
    first: int
    first_open: int
    start: int
    end: int

    def solve(self, deadline: Deadline) -> list[PeriodHeadroom]:
        before = project(self.inputs)
        is_tried = bool(before.cuts) or self.inputs.reach is not None
        finder = HeadroomFinder(
            self.inputs, before, self.reasons, (lambda i, kw: self._accepts(before, i, kw)) if is_tried else None
        )
        found: list[PeriodHeadroom] = []
        for period in range(self.start, self.end):
            if deadline.stopped:
                raise CancelledError
            if not deadline.remaining_s():
                wanted = self.end - self.start
                raise HeadroomTakesLong(f"{len(found)} of {wanted} quarter-hours were found: ask for a shorter window.")
            found.append(CLOSED if period < self.first_open else finder.find(period - self.first))
        return found

    def _accepts(self, before: Projection, index: int, total_kw: float) -> bool:
        """As the schedule's PUT is validated."""
        power_kw, is_changed = self.inputs.power_kw.copy(), np.zeros(len(self.inputs), dtype=np.bool_)
        power_kw[:, index] = self._spread_power(self.first + index, total_kw)
        is_changed[index] = True
        if (power_kw[:, index] > self.inputs.discharge_kw[:, index] + POWER_TOLERANCE_KW).any():
            return False
        if (power_kw[:, index] < -self.inputs.charge_kw[:, index] - POWER_TOLERANCE_KW).any():
            return False
        changed = replace(self.inputs, power_kw=power_kw)
        after = project(without_cycle_cuts(changed, before, is_changed))
        excess = first_energy_cut(changed, before, after, is_changed) or first_energy_excess(changed, before, after)
        return excess is None

    def _spread_power(self, period: int, total_kw: float) -> Floats:
        points = SchedulePoints(np.array([period]), np.array([total_kw]), np.zeros(1, dtype=np.int64))
        spread_kw = np.zeros(len(self.lanes))
        for lane, change in group_by_lane(distribute_over_blocks(self.blocks, points)).items():
            spread_kw[self.lanes.index(lane)] = change.power_kw[0]
        return spread_kw


@operation(
    "GET",
    ASSET + "/headroom",
    summary="See how far a schedule may move",
    access=Permission.READ_VIRTUAL_ASSETS,
    problems=(HeadroomTakesLong,),
)
async def read_headroom(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: HeadroomQuery
) -> Response[list[HeadroomPoint]]:
    """The kW that may still be sold (`up`) or bought (`down`) in each quarter-hour, by itself, and what limits it.

    A PUT of exactly that to the asset's schedule is accepted, of 1 kW more refused; where CYCLES limit, it would be
    accepted and cut. With `If-Match` and the ETag of this answer nothing has changed in between.
    """
    async with request.resources[SolverQueue].turn(request) as turn:
        async with repeatable_read(request.pool) as db:
            asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
            task = await _load_task(db, asset, query)
        found = [] if task is None else await turn.solve(task.solve)
    first = 0 if task is None else task.start
    points = [
        HeadroomPoint(
            time=period_start(first + place),
            up=one.up_kw,
            down=one.down_kw,
            limited_by=HeadroomLimits(up=one.up_limit, down=one.down_limit),
        )
        for place, one in enumerate(found)
    ]
    return Response(points, etag=etag_of(asset))


async def _load_task(db: Database, asset: VirtualAsset, query: HeadroomQuery) -> _HeadroomTask | None:
    """None where the asset does not live in the window."""
    now = await platform_now(db)
    first_open = first_open_period(now, asset.terms.gate_closure_s)
    start, end = asset.clip(*requested_periods(query.start or now, query.end, now))
    if end - start > MAX_PERIODS:
        raise BadRequest("Headroom is of a week at most.", [FieldError("query:end", "Expected an earlier time.")])
    if start >= end:
        return None
    first = min(start, first_cuttable_period(asset, now))
    lanes, inputs = await load_projection_input(
        db, asset, first, asset.end, closed=first_cuttable_period(asset, now), with_holds=True
    )
    blocks = list(await block_store.read_blocks(db, asset.key))
    reasons = find_reasons(asset, blocks, inputs, first)
    return _HeadroomTask(asset, blocks, list(lanes), inputs, reasons, first, first_open, start, end)
