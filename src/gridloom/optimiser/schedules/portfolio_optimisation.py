"""Optimising the assets of a portfolio together, under limits that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import numpy as np

from gridloom.kernel.market_time import PERIOD, period_number
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.optimiser.schedules.asset_optimisation import MAX_OPTIMISED_PERIODS, open_window, reject_too_long
from gridloom.optimiser.schedules.price_input import PriceCurve, load_prices
from gridloom.optimiser.schedules.proposal import (
    based_on,
    bounded_gap,
    no_feasible_schedule,
    proposed_powers,
    proposed_schedules,
    proposed_states,
)
from gridloom.optimiser.schedules.scope import OptimisationScope, load_optimisation_scope
from gridloom.optimiser.schedules.trips import view_trips
from gridloom.optimiser.schedules.wire import (
    AssetOptimisationView,
    NewPortfolioOptimisation,
    PortfolioOptimisationView,
)
from gridloom.optimiser.solving.battery_model import SharedLimit
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    CycleLimit,
    Floats,
    InfeasibleError,
    Solution,
    SolutionStatus,
)
from gridloom.optimiser.solving.solve import solve, solve_together
from gridloom.optimiser.trading.trips import find_trips
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.rules import first_open_period

MAX_ASSET_PERIODS: Final = timedelta(days=50, hours=50) // PERIOD
"""Fifty assets for a day, the long one too."""


@dataclass(frozen=True, slots=True, eq=False)
class PortfolioOptimisation:
    """Everything that the assets' optimisation needs, read: it can be solved in a thread."""

    tasks: Sequence[OptimisationScope]
    prices: PriceCurve
    shared: SharedLimit | None
    exact: bool

    def solve(self, deadline: Deadline) -> PortfolioOptimisationView:
        first, tasks = self.prices.first, self.tasks
        try:
            found = self._find_solutions(deadline)
        except InfeasibleError as refusal:
            raise no_feasible_schedule(refusal, first) from None
        values, bound = [one.value_eur for one in found], sum(one.bound_eur for one in found)
        assets = []
        for task, solution in zip(tasks, found, strict=True):
            power_kw = solution.power_kw[task.first - first : task.end - first]
            priced = task.priced(self.prices.between(task.first, task.end))
            assets.append(
                AssetOptimisationView(
                    virtual_asset_id=task.asset.id,
                    value=solution.value_eur,
                    schedule=proposed_powers(task.first, power_kw),
                    blocks=proposed_schedules(task, power_kw),
                    state_of_charge=proposed_states(task, power_kw),
                    trips=view_trips(find_trips(priced, power_kw, task.reasons), task.first),
                    based_on=based_on(task, self.prices.until),
                )
            )
        is_best = all(one.status is SolutionStatus.OPTIMAL for one in found)
        return PortfolioOptimisationView(
            status="OPTIMAL" if is_best else "TIME_LIMIT",
            value=sum(values),
            bound=bound,
            gap=bounded_gap(values, bound),
            assets=assets,
        )

    def _find_solutions(self, deadline: Deadline) -> list[Solution]:
        programmes = [_pad_programme(task, self.prices.first, self.prices.values) for task in self.tasks]
        if self.shared is None:
            return [solve(programme, deadline, exact=self.exact) for programme in programmes]
        return solve_together(programmes, deadline, exact=self.exact, shared=self.shared)


def _pad_programme(task: OptimisationScope, first: int, price_eur_mwh: Floats) -> BatteryProgramme:
    """The asset's programme over the whole window: at rest where it is not alive or its gates are closed."""
    programme, count = task.programme, len(price_eur_mwh)
    before, inside = task.first - first, slice(task.first - first, task.end - first)

    def around(values: Floats, outside: float) -> Floats:
        padded = np.full(count, outside)
        padded[inside] = values
        return padded

    cycles = []
    for limit in programme.cycles:
        groups = np.zeros(count, dtype=np.int64)
        groups[inside] = limit.groups
        groups[before + len(limit.groups) :] = limit.groups[-1]
        cycles.append(CycleLimit(groups, limit.left_kwh))
    return replace(
        programme,
        price_eur_mwh=price_eur_mwh,
        min_kw=around(programme.min_kw, 0.0),
        max_kw=around(programme.max_kw, 0.0),
        lowest_kwh=around(programme.lowest_kwh, -np.inf),
        highest_kwh=around(programme.highest_kwh, np.inf),
        cycles=tuple(cycles),
        ties=None if programme.ties is None else replace(programme.ties, periods=programme.ties.periods + before),
    )


async def load_shared_assignment(
    db: Database, assets: Sequence[VirtualAsset], body: NewPortfolioOptimisation
) -> PortfolioOptimisation:
    """Reads all assets that live in the window, as they stand."""
    now = await platform_now(db)
    living = [
        asset
        for asset in assets
        if (body.start is None or asset.terms.window.end > body.start)
        and (body.end is None or asset.terms.window.start < body.end)
    ]
    # What is over keeps no other from being planned; where all are, the first says so.
    planned = [one for one in living if first_open_period(now, one.terms.gate_closure_s) < one.end] or living
    windows = [(asset, *open_window(asset, now, body.start, body.end)) for asset in planned]
    if not windows:
        raise BadRequest(
            "No asset of the portfolio lives in the window.", [FieldError("/start", "Expected a time in their lives.")]
        )
    first, latest = min(begins for _, begins, _ in windows), max(asset.end for asset, _, _ in windows)
    stop = None if body.end is None else min(period_number(body.end), latest)
    prices = await load_prices(db, body.prices, first, stop, latest)
    end = first + len(prices.values)
    reject_too_long(end - first, MAX_OPTIMISED_PERIODS)
    tasks = [
        await load_optimisation_scope(
            db, asset, now, begins, min(end, asset.end), ends_on_target=body.end_state_of_charge != "FREE"
        )
        for asset, begins, _ in windows
        if begins < min(end, asset.end)
    ]
    reject_too_long(sum(task.end - task.first for task in tasks), MAX_ASSET_PERIODS)
    return PortfolioOptimisation(tasks, prices, _shared_limit(body, end - first), bool(body.exact))


def _shared_limit(body: NewPortfolioOptimisation, count: int) -> SharedLimit | None:
    if body.import_limit is None and body.export_limit is None:
        return None
    limits = [np.inf if limit is None else limit for limit in (body.import_limit, body.export_limit)]
    return SharedLimit(np.full(count, limits[0]), np.full(count, limits[1]))
