"""A schedule for one market day: what to do in each quarter-hour at expected prices, by dynamic programming.

The store is cut into equal levels; from one quarter-hour to the next it moves by whole levels, so every plan ends
exactly where it should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Floats = np.ndarray

LEVELS = 40
SPARE = 1
"""Levels at either end that a plan leaves alone: schedules are rounded, and availability may shrink a little."""
LATE_EUR, CUSTOMER_EUR, OUTSIDE_EUR = 1e7, 1e5, 1e9
"""The cost of a level off the end, of a quarter-hour without customers, and of a level that reserves lack in
a quarter-hour: more than anything that can be earned, so that there is a plan from wherever it begins"""
WEAR_EUR_MWH = (6.0, 15.0, 30.0, 60.0, 120.0, 400.0)
"""The least earning of a discharged MWh beyond its cost; more and more, until the plan keeps to its cycles."""


@dataclass(frozen=True, slots=True)
class Store:
    """The parameters of a virtual battery for the planner, in kW and kWh."""

    charge_kw: Floats
    discharge_kw: Floats
    """[period]"""
    energy_kwh: float
    charge_efficiency: float
    discharge_efficiency: float
    stored_kwh: Floats | None = None
    free_kwh: Floats | None = None
    """[period]: what reserves need in store at its end, and what they need room for"""


@dataclass(frozen=True, slots=True)
class SimulatedPlan:
    power_kw: Floats
    """[period], export positive, to the watt"""
    value_eur: float
    """At the prices it was made for, wear left out"""


def plan_day(
    store: Store,
    prices_eur_mwh: Floats,
    *,
    start: float = 0.5,
    end: float = 0.5,
    most_cycles: float | None = None,
    least_margin_eur_mwh: float = WEAR_EUR_MWH[0],
    delivers: Floats | None = None,
) -> SimulatedPlan:
    """The best way from one state of charge (a ratio) to another within so many cycles, as far as there is one.

    delivers: [period], whether a level of the store is discharged there, for whatever price, as far as power allows
    """
    for wear_eur_mwh in (least_margin_eur_mwh, *(wear for wear in WEAR_EUR_MWH if wear > least_margin_eur_mwh)):
        plan = _plan_at(store, prices_eur_mwh, start, end, wear_eur_mwh, delivers)
        discharged_kwh = float(np.maximum(plan.power_kw, 0).sum()) / 4
        if most_cycles is None or discharged_kwh <= most_cycles * store.energy_kwh:
            break
    return plan


def _plan_at(
    store: Store, prices_eur_mwh: Floats, start: float, end: float, wear_eur_mwh: float, delivers: Floats | None
) -> SimulatedPlan:
    level_kwh = store.energy_kwh / LEVELS
    first, last = round(start * LEVELS), round(end * LEVELS)
    charge_kw = level_kwh / 0.25 / store.charge_efficiency  # of one level in a quarter-hour
    discharge_kw = level_kwh / 0.25 * store.discharge_efficiency
    up = np.floor(store.charge_kw / charge_kw + 1e-9).astype(int)
    down = np.floor(store.discharge_kw / discharge_kw + 1e-9).astype(int)
    moves = np.arange(-int(down.max(initial=0)), int(up.max(initial=0)) + 1)
    power = np.where(moves > 0, -moves * charge_kw, -moves * discharge_kw)
    worth = prices_eur_mwh[:, None] * power / 4000 - wear_eur_mwh * np.maximum(power, 0) / 4000
    worth = np.where((moves > up[:, None]) | (-moves > down[:, None]), -np.inf, worth)
    if delivers is not None:
        worth = worth - CUSTOMER_EUR * ((delivers & (down > 0))[:, None] & (moves != -1))
    least, most = (_count_levels(kwh, level_kwh, len(worth)) for kwh in (store.stored_kwh, store.free_kwh))
    choice = _best_choices(worth, moves, last, SPARE + least, LEVELS - SPARE - most)
    chosen = _follow_choices(choice, moves, first)
    powers = np.round(np.where(chosen > 0, -chosen * charge_kw, -chosen * discharge_kw), 3) + 0.0
    return SimulatedPlan(powers, float(prices_eur_mwh @ powers / 4000))


def _count_levels(kwh: Floats | None, level_kwh: float, periods: int) -> Floats:
    """[period]: levels that hold so much energy."""
    return np.zeros(periods, dtype=int) if kwh is None else np.ceil(kwh / level_kwh - 1e-9).astype(int)


def _best_choices(worth: Floats, moves: Floats, last: int, least: Floats, most: Floats) -> Floats:
    """[period][level]: the index in `moves` of the best move, worked out from the end."""
    periods = len(worth)
    levels = np.arange(LEVELS + 1)
    target = levels[:, None] + moves[None, :]
    ends = np.clip(target, 0, LEVELS)
    is_possible = target == ends
    # Ending elsewhere is worse than anything that can be earned, and worse the further off.
    future = -LATE_EUR * np.abs(levels - last)
    choice = np.empty((periods, LEVELS + 1), dtype=np.intp)
    for period in range(periods - 1, -1, -1):
        if period == periods - 1 or least[period] != least[period + 1] or most[period] != most[period + 1]:
            low, high = min(least[period], last), max(most[period], last)
            outside = np.maximum(np.maximum(low - levels, levels - high), 0)
        options = np.where(is_possible, worth[period] + (future - OUTSIDE_EUR * outside)[ends], -np.inf)
        choice[period] = options.argmax(axis=1)
        future = options[levels, choice[period]]
    return choice


def _follow_choices(choice: Floats, moves: Floats, first: int) -> Floats:
    level, chosen = first, np.empty(len(choice), dtype=int)
    for period in range(len(choice)):
        move = int(moves[choice[period, level]])
        chosen[period] = move
        level = min(max(level + move, 0), LEVELS)
    return chosen
