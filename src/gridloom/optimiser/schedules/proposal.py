"""From a solved programme to what is proposed: powers by block, states of charge, shadow prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from gridloom.kernel.figures import kwh, say
from gridloom.kernel.market_time import format_instant, period_start
from gridloom.kernel.problem import Problem
from gridloom.market_calendar import Ints
from gridloom.optimiser.schedules.scope import OptimisationScope
from gridloom.optimiser.schedules.wire import (
    BasedOn,
    CyclePrice,
    ProposedPower,
    ProposedSchedule,
    ProposedStateOfCharge,
    ShadowPriceView,
    StoredEnergyPrice,
)
from gridloom.optimiser.solving.programme import Floats, InfeasibilityRule, InfeasibleError, ShadowPrices
from gridloom.virtual_assets.schedule.points import SchedulePoints, distribute_over_blocks


class NoFeasibleSchedule(Problem, status=422, title="No schedule is feasible"):
    """No schedule of the open periods respects everything that it must.

    `rule` says what leaves no way (`ENERGY_ABOVE`, `ENERGY_BELOW`, `POWER`, `CYCLE_LIMIT`, `END_STATE_OF_CHARGE` or
    `SHARED_LIMIT`), `firstPeriod` where it first does. Free more periods or blocks, or ask for a FREE end.
    """


_SAID = {
    InfeasibilityRule.ENERGY_ABOVE: "more would be in store than fits",
    InfeasibilityRule.ENERGY_BELOW: "less would be in store than is needed",
    InfeasibilityRule.CYCLE_LIMIT: "the cycles that are left do not suffice",
    InfeasibilityRule.END_STATE_OF_CHARGE: "the end that is asked for is out of reach",
    InfeasibilityRule.POWER: "the powers that are fixed exceed what is available",
    InfeasibilityRule.SHARED_LIMIT: "the shared limits leave no way",
}


def no_feasible_schedule(refusal: InfeasibleError, first: int) -> NoFeasibleSchedule:
    instant = format_instant(period_start(first + refusal.position))
    amount = say(", by {}", kwh(refusal.missing_kwh)) if refusal.missing_kwh > 0 else ""
    return NoFeasibleSchedule(
        say("Whatever is scheduled, in the period {} {}{}.", instant, _SAID[refusal.rule], amount),
        rule=refusal.rule.value,
        firstPeriod=instant,
        missing=refusal.missing_kwh,
    )


def proposed_powers(first: int, power_kw: Floats) -> list[ProposedPower]:
    return [
        ProposedPower(time=period_start(first + index), power=power) for index, power in enumerate(power_kw.tolist())
    ]


def proposed_schedules(task: OptimisationScope, total_kw: Floats) -> list[ProposedSchedule]:
    """The parts of the free blocks; kept blocks stay as they are."""
    periods: Ints = np.arange(task.first, task.end)
    points = SchedulePoints(periods, total_kw - task.fixed_kw, periods - task.first)
    return [
        ProposedSchedule(
            block_id=block.id,
            schedule=[
                ProposedPower(time=period_start(period), power=power)
                for period, power in zip(change.periods.tolist(), change.power_kw.tolist(), strict=True)
            ],
        )
        for block, change in distribute_over_blocks(task.blocks, points).items()
    ]


def proposed_states(task: OptimisationScope, total_kw: Floats) -> list[ProposedStateOfCharge]:
    capacity_kwh = task.asset.terms.energy_capacity_kwh
    percentages = np.clip(100 * task.programme.energy_kwh(total_kw) / capacity_kwh, 0.0, 100.0)
    return [
        ProposedStateOfCharge(time=period_start(task.first + index), state_of_charge_percentage=percentage)
        for index, percentage in enumerate(percentages.tolist())
    ]


def shadow_price_view(task: OptimisationScope, shadow: ShadowPrices | None) -> ShadowPriceView | None:
    if shadow is None:
        return None
    cycles = [
        CyclePrice(start=period_start(task.first + int(np.argmax(limit.groups == group))), value=value)
        # A share of the year's cycles for each day comes after the limits themselves.
        for limit, values in zip(
            task.programme.cycles, shadow.cycles_eur_kwh[: len(task.programme.cycles)], strict=True
        )
        for group, value in enumerate(np.maximum(values, 0.0).tolist())
    ]
    return ShadowPriceView(
        charge_power=shadow.charge_eur_kw,
        discharge_power=shadow.discharge_eur_kw,
        energy_capacity=shadow.energy_eur_kwh,
        stored_energy=[
            StoredEnergyPrice(time=period_start(task.first + index), value=value)
            for index, value in enumerate(shadow.stored_eur_mwh.tolist())
        ],
        cycles=cycles,
        end_state_of_charge=max(0.0, -shadow.end_eur_kwh),
    )


def based_on(task: OptimisationScope, prices_until: datetime | None) -> BasedOn:
    return BasedOn(version=task.asset.version, prices_until=prices_until)


def bounded_gap(values: Sequence[float], bound: float) -> float:
    value = sum(values)
    return max(0.0, bound - value) / max(abs(bound), 1e-9)
