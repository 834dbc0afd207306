"""A year's cycles, spent where they earn most: by a price of wear or, with little history, in even shares."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import numpy as np

from gridloom.kernel.market_time import market_day_of, period_start
from gridloom.market_calendar import PERIOD_S, market_day_numbers, market_year_periods
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.prices import DAY_AHEAD, load_day_table
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, CycleLimit, Floats
from gridloom.optimiser.trading.wear import MAX_CYCLES_A_DAY, WEAR_DAYS, find_wear_price
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.model import VirtualAsset

_MAX_CACHED: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class CycleSpending:
    """The past days by which wear is priced, for a battery whose yearly cycles last beyond what is planned."""

    table: DayTable
    power_kw: tuple[float, float]
    energy_kwh: float
    efficiency: tuple[float, float]
    days_left: int


async def load_cycle_spending(db: Database, asset: VirtualAsset, first: int, end: int) -> CycleSpending | None:
    """For a plan of the periods [first, end); None without a yearly limit, or where the plan reaches to its end."""
    terms = asset.terms
    day = market_day_of(period_start(first))
    until = min(asset.end, market_year_periods(day.year)[1])
    if terms.annual_cycle_limit is None or end >= until:
        return None
    table = await load_day_table(db, DAY_AHEAD, day, WEAR_DAYS)
    last = market_day_of(period_start(until - 1))
    return CycleSpending(
        table,
        (terms.charge_kw, terms.discharge_kw),
        terms.energy_capacity_kwh,
        (terms.efficiency.charge, terms.efficiency.discharge),
        (last - day).days + 1,
    )


_prices: OrderedDict[tuple[object, ...], float] = OrderedDict()


def spend_cycles(
    programme: BatteryProgramme,
    spending: CycleSpending | None,
    first: int,
    deadline: Deadline,
    committed_kw: Floats | None = None,
) -> BatteryProgramme:
    """The programme with the price of wear and at most three cycles a day; with too few past days, with an even share
    of what is left for each day. What is left of the year bounds it as ever.

    What its first periods are committed to already is no reason to discharge less: a day has room for that.
    """
    if spending is None:
        return programme
    left_kwh = float(programme.cycles[-1].left_kwh[0])  # a yearly limit comes last
    share = max(left_kwh, 0.0) / spending.energy_kwh / spending.days_left
    wear_eur_mwh = _find_price(spending, share, deadline)
    day_kwh = (MAX_CYCLES_A_DAY if wear_eur_mwh is not None else share) * spending.energy_kwh
    days = market_day_numbers(np.arange(first, first + len(programme)) * PERIOD_S)
    groups = days - days[0]
    least_kwh = np.zeros(int(groups[-1]) + 1)
    if committed_kw is not None:
        exported_kwh = np.maximum(committed_kw, 0.0) * programme.step_h
        least_kwh += np.bincount(groups[: len(committed_kw)], exported_kwh, minlength=len(least_kwh))
    by_day = CycleLimit(groups, np.maximum(day_kwh, least_kwh))
    return replace(programme, cycles=(*programme.cycles, by_day), wear_eur_mwh=wear_eur_mwh or 0.0)


def _find_price(spending: CycleSpending, share: float, deadline: Deadline) -> float | None:
    """Cached by the days it was made of: a day's plans ask for the same."""
    table = spending.table
    quarters = float(table.quarters.sum()) if len(table) else 0.0
    shape = (spending.power_kw, spending.energy_kwh, spending.efficiency)
    key = (table.end if len(table) else date.min, len(table), quarters, shape, round(share, 3))
    if key not in _prices:
        found = find_wear_price(table.hours, *shape, round(share, 3), deadline) if len(table) else None
        if found is None:
            return None
        _prices[key] = found
        while len(_prices) > _MAX_CACHED:
            _prices.popitem(last=False)
    return _prices[key]
