"""Whether a battery can run a position, and the same programme with other bounds at the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.optimiser.solving.programme import BatteryProgramme, Floats

_ABSOLUTE_KWH = 1e-7
_RELATIVE = 1e-10
"""A tenth of what schedules are validated with: what is planned must pass there."""


def tolerance_kwh(programme: BatteryProgramme) -> float:
    largest = float(np.abs(programme.highest_kwh[np.isfinite(programme.highest_kwh)]).max(initial=0.0))
    return _ABSOLUTE_KWH + _RELATIVE * largest


def can_run(programme: BatteryProgramme, power_kw: Floats) -> bool:
    """Within its power, its energy and its cycles in every period, at the end too."""
    slack_kwh = tolerance_kwh(programme)
    within = (power_kw >= programme.min_kw - POWER_TOLERANCE_KW) & (power_kw <= programme.max_kw + POWER_TOLERANCE_KW)
    if not within.all():
        return False
    energy_kwh = programme.energy_kwh(power_kw)
    if (energy_kwh < programme.lowest_kwh - slack_kwh).any() or (energy_kwh > programme.highest_kwh + slack_kwh).any():
        return False
    discharged_kwh = np.maximum(power_kw, 0.0) * programme.step_h
    return all(
        (np.bincount(limit.groups, discharged_kwh, minlength=len(limit.left_kwh)) <= limit.left_kwh + slack_kwh).all()
        for limit in programme.cycles
    )


def end_between(programme: BatteryProgramme, least_kwh: float, most_kwh: float) -> BatteryProgramme:
    """The same that ends within these energies too, as far as its own bounds allow."""
    lowest_kwh, highest_kwh = programme.lowest_kwh.copy(), programme.highest_kwh.copy()
    low, high = float(lowest_kwh[-1]), float(highest_kwh[-1])
    lowest_kwh[-1] = min(max(low, least_kwh), high)
    highest_kwh[-1] = max(min(high, most_kwh), lowest_kwh[-1])
    return replace(programme, lowest_kwh=lowest_kwh, highest_kwh=highest_kwh)
