"""Repairing a schedule: the nearest, or the best, that the PUT accepts and that ends balanced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from msgspec import UNSET

from gridloom.kernel.market_time import period_start
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.optimiser.prices import PricesMissing
from gridloom.optimiser.schedules.price_input import PriceCurve, load_prices
from gridloom.optimiser.schedules.proposal import based_on, no_feasible_schedule, proposed_powers
from gridloom.optimiser.schedules.scope import OptimisationScope, load_optimisation_scope
from gridloom.optimiser.schedules.trips import view_trips
from gridloom.optimiser.schedules.wire import MovedPower, NewRepair, PricesAsked, RepairView
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import Floats, InfeasibleError
from gridloom.optimiser.solving.repair import repair_nearest
from gridloom.optimiser.solving.solve import solve
from gridloom.optimiser.trading.trips import find_trips
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.points import SchedulePoints
from gridloom.virtual_assets.schedule.rules import check_gate


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleRepair:
    """Everything that a repair needs, read: it can be solved in a thread."""

    task: OptimisationScope
    asked_kw: Floats
    is_asked: np.ndarray
    prices: PriceCurve | None
    is_best_value: bool

    def solve(self, deadline: Deadline) -> RepairView:
        task, prices = self.task, self.prices
        programme = task.programme if prices is None else task.priced(prices.values)
        # Periods between those that were sent stay as they stand.
        programme = replace(
            programme,
            min_kw=np.where(self.is_asked, programme.min_kw, task.accepted_kw),
            max_kw=np.where(self.is_asked, programme.max_kw, task.accepted_kw),
        )
        try:
            if self.is_best_value:
                power_kw = solve(programme, deadline).power_kw
            else:
                power_kw = repair_nearest(programme, self.asked_kw, deadline)
        except InfeasibleError as refusal:
            raise no_feasible_schedule(refusal, task.first) from None
        indices = np.flatnonzero(self.is_asked)
        apart_kw = np.abs(power_kw - self.asked_kw)
        moved = indices[apart_kw[indices] > POWER_TOLERANCE_KW]
        end_kwh = float(programme.energy_kwh(power_kw)[-1])
        return RepairView(
            schedule=[
                point
                for index in indices.tolist()
                for point in proposed_powers(task.first + index, power_kw[index : index + 1])
            ],
            moved=[
                MovedPower(
                    time=period_start(task.first + index),
                    asked=float(self.asked_kw[index]),
                    power=float(power_kw[index]),
                )
                for index in moved.tolist()
            ],
            moved_energy=float(apart_kw[indices].sum()) * programme.step_h,
            value=UNSET if prices is None else programme.value_eur(power_kw),
            trips=UNSET if prices is None else view_trips(find_trips(programme, power_kw, task.reasons), task.first),
            end_state_of_charge_percentage=task.end_percentage(end_kwh),
            based_on=based_on(task, None if prices is None else prices.until),
        )


async def load_repair(
    db: Database, asset: VirtualAsset, points: SchedulePoints, body: NewRepair, now: datetime
) -> ScheduleRepair:
    """`points` lie within the asset's life, in the order of time."""
    check_gate(points.first, first_open_period(now, asset.terms.gate_closure_s), f"/schedule/{points.indices[0]}/time")
    first, end = points.first, points.last + 1
    prices = await _load_prices(db, body.prices, first, end, is_needed=body.objective == "BEST_VALUE")
    task = await load_optimisation_scope(db, asset, now, first, end)
    asked_kw, is_asked = task.accepted_kw.copy(), np.zeros(end - first, dtype=bool)
    asked_kw[points.periods - first] = points.power_kw
    is_asked[points.periods - first] = True
    return ScheduleRepair(task, asked_kw, is_asked, prices, body.objective == "BEST_VALUE")


async def _load_prices(
    db: Database, asked: PricesAsked | None, first: int, end: int, *, is_needed: bool
) -> PriceCurve | None:
    """The nearest schedule does without prices where none are known."""
    if asked is not None or is_needed:
        return await load_prices(db, asked or PricesAsked(forecast=True), first, end, end)
    try:
        return await load_prices(db, PricesAsked(forecast=True), first, end, end)
    except PricesMissing:
        return None
