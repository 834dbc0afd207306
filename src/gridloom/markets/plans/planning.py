"""Planning one virtual asset at a stage: what is read first, and the plan that is made of it in a solver's thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from msgspec import UNSET

from gridloom.kernel.market_stages import Stage
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.markets.plans.prices import StagePrices
from gridloom.markets.plans.reserves import ReserveTask, plan_reserves
from gridloom.markets.plans.wire import MarketPlanView, PlanBasis, PlannedReserve
from gridloom.markets.position import LOT_KW, MarketState
from gridloom.markets.stage_calendar import OrderGates, tradable_periods
from gridloom.optimiser.cycle_budget import CycleSpending, spend_cycles
from gridloom.optimiser.schedules.proposal import no_feasible_schedule
from gridloom.optimiser.schedules.scope import OptimisationScope, load_optimisation_scope
from gridloom.optimiser.schedules.trips import view_trips
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, Bools, InfeasibleError
from gridloom.optimiser.solving.solve import SOLVING_S
from gridloom.optimiser.trading.day_ahead import bound_energy, cut_periods, plan_day_ahead
from gridloom.optimiser.trading.positions import end_between
from gridloom.optimiser.trading.replanning import HURDLE_EUR_MWH, Replanner
from gridloom.optimiser.trading.trips import Trip, find_trips
from gridloom.optimiser.trading.worth import NOTHING, Worth, value_trades
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.energy.trajectory import energy_changes_kwh
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.rules import check_gate
from gridloom.virtual_assets.schedule.views import ScheduledPower

FEE_EUR_MWH = 0.1


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """The cost of trading, and what it must earn beyond."""

    stage: Stage
    fee_eur_mwh: float = FEE_EUR_MWH
    hurdle_eur_mwh: float = HURDLE_EUR_MWH


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlanTask:
    """Everything that the plan of an asset needs, read.

    `scope` begins with the first period of the day that is still open. `traded` are the periods that the stage trades,
    counted from there; `target_kwh` is the energy that an intraday plan ends the day with. `free_programme` is the
    scope's without a target at the end of life.
    """

    state: MarketState
    terms: PlanTerms
    gate: datetime
    scope: OptimisationScope
    midnight: tuple[float, float]
    traded: slice
    target_kwh: float | None
    prices: StagePrices
    spending: CycleSpending | None
    reserves: ReserveTask | None
    free_programme: BatteryProgramme

    @property
    def day_periods(self) -> int:
        return self.state.end - self.scope.first

    @property
    def before_kw(self) -> Floats:
        return self.state.position_kw[self.scope.first - self.state.first :]

    def solve(self, deadline: Deadline) -> MarketPlanView:
        try:
            return self._plan_stage(deadline)
        except InfeasibleError:
            pass
        # An outage, or lots that are too large, may put the energy of the day's end out of reach.
        freed = replace(self, scope=replace(self.scope, programme=self.free_programme), target_kwh=None)
        try:
            return freed._plan_stage(deadline)
        except InfeasibleError as refusal:
            raise no_feasible_schedule(refusal, self.scope.first) from None

    def _plan_stage(self, deadline: Deadline) -> MarketPlanView:
        if self.reserves is not None:
            return self._plan_reserves(self.reserves, deadline)
        return self._plan_auction(deadline)

    def _price_programme(self, deadline: Deadline) -> BatteryProgramme:
        programme = self.scope.priced(self.prices.expected_from(self.scope.first, self.scope.end))
        programme = spend_cycles(programme, self.spending, self.scope.first, deadline, self.before_kw)
        if self.day_periods < len(programme):
            programme = bound_energy(programme, self.day_periods - 1, *self.midnight)
        return programme

    def _plan_auction(self, deadline: Deadline) -> MarketPlanView:
        programme, before_kw = self._price_programme(deadline), self.before_kw
        day = cut_periods(programme, slice(0, self.day_periods), programme.initial_kwh)
        minimum_eur = 0.0
        if self.terms.stage is Stage.DAY_AHEAD:
            if self.target_kwh is not None:
                slack_kwh = LOT_KW / 4
                bounded = end_between(day, self.target_kwh - slack_kwh, self.target_kwh + slack_kwh)
                programme = bound_energy(
                    programme, self.day_periods - 1, bounded.lowest_kwh[-1], bounded.highest_kwh[-1]
                )
            found = plan_day_ahead(programme, before_kw, self.terms.fee_eur_mwh, LOT_KW)
            power_kw, is_forced = found.power_kw, found.is_forced
            more_kwh = float(day.energy_kwh(power_kw)[-1] - day.energy_kwh(before_kw)[-1])
            minimum_eur = -found.stored_eur_mwh * more_kwh / 1000
        else:
            is_traded = np.zeros(len(day), dtype=bool)
            is_traded[self.traded] = True
            before_kw = np.where(is_traded, before_kw, self.scope.follow(before_kw))
            day = _hold_outside(day, before_kw, is_traded)
            replanned = Replanner(LOT_KW).replan(day, before_kw, self.terms.hurdle_eur_mwh, self.target_kwh)
            power_kw, is_forced = replanned.power_kw, replanned.is_forced
        trips = find_trips(
            day, power_kw, self.scope.reasons.between(0, len(day)), before_kw=before_kw,
            fee_eur_mwh=self.terms.fee_eur_mwh,
        )  # fmt: skip
        traded_kw = (power_kw - before_kw)[self.traded]
        first = self.scope.first + self.traded.start
        band = self.prices.band_from(first, first + len(traded_kw))
        worth = value_trades(band, traded_kw, self.terms.fee_eur_mwh) if len(traded_kw) else NOTHING
        end_kwh = float(day.energy_kwh(power_kw)[-1])
        view = self._describe_plan(worth, end_kwh, programme.wear_eur_mwh, trips)
        view.schedule = _list_powers(first, power_kw[self.traded])
        view.trades = _list_powers(first, traded_kw, only_moved=True)
        view.minimum_surplus = math.floor(100 * minimum_eur + 1e-6) / 100
        if is_forced:
            view.at_any_price = True
            view.forced = view.trades
        return view

    def _plan_reserves(self, task: ReserveTask, deadline: Deadline) -> MarketPlanView:
        programme = self._price_programme(deadline)
        # What the assets of a portfolio before this one took is no less time for it.
        own_deadline = deadline.renew(SOLVING_S)
        offered, worth = plan_reserves(task, programme, self.scope.accepted_kw, self.before_kw, own_deadline)
        before_kw = self.scope.accepted_kw[: self.day_periods]
        day = cut_periods(programme, slice(0, self.day_periods), programme.initial_kwh)
        view = self._describe_plan(worth, float(day.energy_kwh(before_kw)[-1]), programme.wear_eur_mwh, [])
        view.reserves = [
            PlannedReserve(
                product=one.product,
                capacity=one.capacity_kw,
                capacity_price=one.capacity_price,
                energy_price=UNSET if one.energy_price is None else one.energy_price,
            )
            for one in offered
        ]
        return view

    def _describe_plan(
        self, worth: Worth, end_kwh: float, wear_eur_mwh: float, trips: Sequence[Trip]
    ) -> MarketPlanView:
        capacity_kwh = self.state.asset.terms.energy_capacity_kwh
        return MarketPlanView(
            delivery_day=self.state.day,
            stage=self.terms.stage,
            gate=self.gate,
            trades=[],
            schedule=[],
            reserves=[],
            worth=worth.expected,
            p10=worth.p10,
            p90=worth.p90,
            end_state_of_charge=min(max(end_kwh / capacity_kwh, 0.0), 1.0),
            minimum_surplus=0.0,
            wear_price=UNSET if self.spending is None else wear_eur_mwh,
            trips=view_trips(trips, self.scope.first),
            based_on=PlanBasis(
                series=list(self.prices.series), until=self.prices.until, version=self.state.asset.version
            ),
            if_match=self.state.etag,
        )


async def load_plan(
    db: Database,
    state: MarketState,
    terms: PlanTerms,
    gates: OrderGates,
    now: datetime,
    prices: StagePrices,
    spending: CycleSpending | None,
    reserves: ReserveTask | None,
) -> PlanTask:
    """Reads the asset as it stands; that its gate is open and no earlier result is outstanding was checked."""
    asset, stage = state.asset, terms.stage
    own = tradable_periods(asset, stage, state.day)
    first_open = first_open_period(now, asset.terms.gate_closure_s)
    first = max(state.first, first_open)
    check_gate(own[1] - 1, first_open)
    end = plan_end(state, stage)
    scope = await load_optimisation_scope(db, asset, now, first, end, ends_on_target=False, is_reach_tied=False)
    midnight = -np.inf, np.inf
    if end > state.end:
        until_midnight = await load_optimisation_scope(
            *(db, asset, now, first, state.end), ends_on_target=False, is_reach_tied=False
        )
        bounds = until_midnight.programme
        midnight = float(bounds.lowest_kwh[-1]), float(bounds.highest_kwh[-1])
    free_programme = scope.programme
    if end == asset.end:
        scope = replace(scope, programme=_meet_target(scope))
    traded = slice(max(own[0], first) - first, own[1] - first)
    target_kwh = _find_target(state, stage, scope)
    return PlanTask(
        state=state,
        terms=terms,
        gate=gates.gate(stage, state.day),
        scope=scope,
        midnight=midnight,
        traded=traded,
        target_kwh=target_kwh,
        prices=prices,
        spending=spending,
        reserves=reserves,
        free_programme=free_programme,
    )


def plan_end(state: MarketState, stage: Stage) -> int:
    """A plan before the intraday auctions looks at the day after too."""
    if stage.is_intraday:
        return state.end
    return min(state.asset.end, market_day_periods(state.day + timedelta(days=1))[1])


def _meet_target(scope: OptimisationScope) -> BatteryProgramme:
    """The end of life is met within what is tolerated, or within a lot's quarter-hour where that is more."""
    terms = scope.asset.terms
    slack_kwh = max(terms.final_soc_tolerance * terms.energy_capacity_kwh, LOT_KW / 4)
    target_kwh = terms.final_soc_target * terms.energy_capacity_kwh
    return end_between(scope.programme, target_kwh - slack_kwh, target_kwh + slack_kwh)


def _find_target(state: MarketState, stage: Stage, scope: OptimisationScope) -> float | None:
    """The energy at the day's end: at the end of life its target; at intraday auctions that of the position after the
    day-ahead auction or, without trades there, of the schedule.

    The part of the day that is over has moved the energy as the position before the stage has it, and not as the
    day-ahead auction left it: what the two differ by until now is still to come.
    """
    asset = state.asset
    if state.end == asset.end:
        return asset.terms.final_soc_target * asset.terms.energy_capacity_kwh
    if not stage.is_intraday:
        return None
    if any(trade.market == "DAY_AHEAD" for trade in state.trades):
        over = slice(0, scope.first - state.first)
        moved_kwh = energy_changes_kwh(state.position_after_kw({Stage.DAY_AHEAD}), asset.terms.efficiency).sum()
        moved_kwh -= energy_changes_kwh(state.position_kw[over], asset.terms.efficiency).sum()
        return scope.programme.initial_kwh + float(moved_kwh)
    day = cut_periods(scope.programme, slice(0, state.end - scope.first), scope.programme.initial_kwh)
    return float(day.energy_kwh(scope.accepted_kw[: len(day)])[-1])


def _hold_outside(programme: BatteryProgramme, before_kw: Floats, is_traded: Bools) -> BatteryProgramme:
    """Periods that the stage does not trade stay as they are."""
    return replace(
        programme,
        min_kw=np.where(is_traded, programme.min_kw, before_kw),
        max_kw=np.where(is_traded, programme.max_kw, before_kw),
    )


def _list_powers(first: int, power_kw: Floats, *, only_moved: bool = False) -> list[ScheduledPower]:
    return [
        ScheduledPower(time=period_start(first + index), power=power)
        for index, power in enumerate((power_kw + 0.0).tolist())
        if not only_moved or abs(power) > 1e-6
    ]
