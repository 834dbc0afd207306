"""The price of wear: the least that a discharged MWh must earn, so that a year's cycles go where they earn most."""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.linear import Deadline, SolverStatus
from gridloom.optimiser.solving.programme import BatteryProgramme, CancelledError, CycleLimit, Floats

WEAR_DAYS: Final = 364
"""A shorter past misses the seasons."""
MIN_WEAR_DAYS: Final = 28
MAX_CYCLES_A_DAY: Final = 3.0
_SOLVING_S: Final = 60.0


def find_wear_price(
    hours: Floats,
    power_kw: tuple[float, float],
    energy_kwh: float,
    efficiency: tuple[float, float],
    cycles_a_day: float,
    deadline: Deadline | None = None,
) -> float | None:
    """EUR per MWh discharged, from past days (a row of 24 hourly prices each); None where there are too few of them.

    The past year is planned as one programme with so many cycles a day on average and at most three a day: what one
    more MWh of discharge would have earned there is the price. `power_kw` is of charge and discharge.
    """
    days = len(hours)
    if days < MIN_WEAR_DAYS:
        return None
    if cycles_a_day >= MAX_CYCLES_A_DAY:
        return 0.0
    count = 24 * days
    by_day = CycleLimit(np.repeat(np.arange(days), 24), np.full(days, MAX_CYCLES_A_DAY * energy_kwh))
    in_all = CycleLimit(np.zeros(count, dtype=np.int64), np.array([max(cycles_a_day, 0.0) * days * energy_kwh]))
    programme = BatteryProgramme(
        hours.ravel(),
        np.full(count, -power_kw[0]),
        np.full(count, power_kw[1]),
        np.zeros(count),
        np.full(count, energy_kwh),
        energy_kwh / 2,
        *efficiency,
        (by_day, in_all),
        1.0,
    )
    model = BatteryModel([programme])
    # As long as it takes: what hangs on it would otherwise be planned by another rule on a busy machine.
    found = model.run(Deadline(_SOLVING_S) if deadline is None else deadline.renew(_SOLVING_S))
    if found.ended is SolverStatus.STOPPED:
        raise CancelledError
    if found.ended is not SolverStatus.OPTIMAL:
        return None
    return max(0.0, float(found.row_duals[model.columns[0].cycles[1][0]]))
