"""Optimising one asset: read its accepted schedule, solve beside the event loop, propose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import UNSET

from gridloom.kernel.market_time import PERIOD, period_number
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.optimiser.cycle_budget import CycleSpending, load_cycle_spending, spend_cycles
from gridloom.optimiser.schedules.capacity import ReserveProducts, load_slots
from gridloom.optimiser.schedules.price_input import PriceCurve, check_asked, load_prices
from gridloom.optimiser.schedules.proposal import (
    based_on,
    bounded_gap,
    no_feasible_schedule,
    proposed_powers,
    proposed_schedules,
    proposed_states,
    shadow_price_view,
)
from gridloom.optimiser.schedules.scope import OptimisationScope, load_optimisation_scope
from gridloom.optimiser.schedules.trips import view_trips
from gridloom.optimiser.schedules.wire import NewOptimisation, NewPortfolioOptimisation, OptimisationView
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import InfeasibleError, SolutionStatus
from gridloom.optimiser.solving.reserves import solve_with_reserves
from gridloom.optimiser.solving.solve import solve
from gridloom.optimiser.trading.trips import find_trips
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.rules import check_window, first_open_period
from gridloom.virtual_assets.schedule.rules import check_gate

MAX_OPTIMISED_PERIODS: Final = timedelta(days=31, hours=1) // PERIOD
"""A month; the one with the long day too. Longer windows are made by a job."""
MAX_PERIODS: Final = timedelta(days=731) // PERIOD


@dataclass(frozen=True, slots=True, eq=False)
class AssetOptimisation:
    """Everything an optimisation needs, read: it can be solved in a thread."""

    task: OptimisationScope
    prices: PriceCurve
    products: ReserveProducts | None
    exact: bool
    spending: CycleSpending | None

    def solve(self, deadline: Deadline) -> OptimisationView:
        task = self.task
        programme = task.priced(self.prices.between(task.first, task.end))
        programme = spend_cycles(programme, self.spending, task.first, deadline, task.fixed_kw)
        try:
            if self.products is None:
                found = solve(programme, deadline, exact=self.exact)
                value, bound, proposed = found.value_eur, found.bound_eur, None
            else:
                reserved = solve_with_reserves(programme, self.products.slots, deadline, exact=self.exact)
                found, bound = reserved.spot, reserved.bound_eur
                proposed = self.products.proposed(reserved.power_kw)
                value = found.value_eur + sum(block.value for block in proposed)
        except InfeasibleError as refusal:
            raise no_feasible_schedule(refusal, task.first) from None
        is_best = found.status is SolutionStatus.OPTIMAL and bounded_gap([value], bound) < 1e-6
        view = OptimisationView(
            status="OPTIMAL" if is_best else "TIME_LIMIT",
            value=value,
            bound=bound,
            gap=bounded_gap([value], bound),
            schedule=proposed_powers(task.first, found.power_kw),
            blocks=proposed_schedules(task, found.power_kw),
            state_of_charge=proposed_states(task, found.power_kw),
            shadow_prices=shadow_price_view(task, found.shadow),
            trips=view_trips(find_trips(programme, found.power_kw, task.reasons), task.first),
            wear_price=UNSET if self.spending is None else programme.wear_eur_mwh,
            based_on=based_on(task, self.prices.until),
        )
        if proposed is not None:
            view.proposed_blocks = proposed
        return view


def check_optimisation(body: NewOptimisation | NewPortfolioOptimisation) -> None:
    check_asked(body.prices)
    if body.start is not None and body.end is not None:
        check_window(body.start, body.end)


async def load_optimisation(
    db: Database, asset: VirtualAsset, body: NewOptimisation, products: ReserveProducts | None
) -> AssetOptimisation:
    keep = set(body.keep or ())
    await _require_blocks(db, asset, keep, body.keep or ())
    now = await platform_now(db)
    first, end = open_window(asset, now, body.start, body.end)
    prices = await load_prices(db, body.prices, first, end, asset.end)
    end = first + len(prices.values)
    reject_too_long(end - first, MAX_PERIODS)
    ends_on_target = body.end_state_of_charge != "FREE"
    task = await load_optimisation_scope(
        *(db, asset, now, first, end), keep=keep, ends_on_target=ends_on_target, is_reach_tied=products is None
    )
    if products is not None:
        products = await load_slots(db, products, task, body.capacity_prices)
    spending = await load_cycle_spending(db, asset, first, end)
    return AssetOptimisation(task, prices, products, bool(body.exact), spending)


def open_window(
    asset: VirtualAsset, now: datetime, start: datetime | None, end: datetime | None
) -> tuple[int, int | None]:
    """The open periods of the window that is asked for; its end is open where none is named."""
    first_open = max(first_open_period(now, asset.terms.gate_closure_s), asset.first)
    for name, instant in (("start", start), ("end", end)):
        if instant is not None and (instant - datetime.fromtimestamp(0, instant.tzinfo)) % PERIOD:
            raise BadRequest(
                "A window is one of quarter-hours.",
                [FieldError(f"/{name}", "Expected a time on a 15-minute boundary.")],
            )
    first = first_open if start is None else max(first_open, period_number(start))
    stop = None if end is None else min(asset.end, period_number(end))
    check_gate((asset.end if stop is None else stop) - 1, first_open, "/end" if end is not None else None)
    if first >= (asset.end if stop is None else stop):
        raise BadRequest(
            "The window lies outside the asset's life.", [FieldError("/start", "Expected a time within its life.")]
        )
    return first, stop


async def _require_blocks(db: Database, asset: VirtualAsset, keep: set[UUID], asked: Sequence[UUID]) -> None:
    known = {block.id for block in await block_store.read_blocks(db, asset.key)} if keep else set()
    strangers = [
        FieldError(f"/keep/{index}", "is no block of the asset") for index, id in enumerate(asked) if id not in known
    ]
    if strangers:
        raise BadRequest("Some blocks to keep are not the asset's.", strangers)


def reject_too_long(periods: int, most: int) -> None:
    if periods > most:
        raise BadRequest(
            f"{periods} quarter-hours are more than the {most} that can be solved at once.",
            [FieldError("/end", "Expected an earlier time.")],
        )
