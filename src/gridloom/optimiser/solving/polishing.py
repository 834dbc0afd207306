"""A solver's powers made to hold exactly: bounds of power first, then of energy, period after period."""

from __future__ import annotations

import numpy as np

from gridloom.optimiser.solving.programme import BatteryProgramme, Floats

_NOISE = 1e-9  # of the largest power: less is the solver's way to write zero


def polish(programme: BatteryProgramme, power_kw: Floats) -> Floats:
    """The same schedule without what a solver's tolerances leave outside the bounds."""
    if not len(programme):
        return power_kw
    unit_kw = float(max(np.abs(programme.min_kw).max(), np.abs(programme.max_kw).max()))
    shown_kw = np.where(np.abs(power_kw) <= _NOISE * unit_kw, 0.0, power_kw)
    shown_kw = np.clip(shown_kw, programme.min_kw, programme.max_kw)
    energy_kwh = programme.energy_kwh(shown_kw)
    inside = (energy_kwh <= programme.highest_kwh) & (energy_kwh >= programme.lowest_kwh)
    if inside.all() and (programme.ties is None or programme.ties.hold(energy_kwh)):
        return shown_kw + 0.0
    first = int(np.argmin(inside)) if programme.ties is None else 0
    before_kwh = float(energy_kwh[first - 1]) if first else programme.initial_kwh
    return _walk_energy(programme, shown_kw, first, before_kwh) + 0.0


def _walk_energy(programme: BatteryProgramme, power_kw: Floats, first: int, energy_kwh: float) -> Floats:
    """From the first period on where energies are tied: each bounds those that follow."""
    charged, drawn = programme.charge_efficiency * programme.step_h, programme.step_h / programme.discharge_efficiency
    min_kw, max_kw = programme.min_kw.tolist(), programme.max_kw.tolist()
    lowest_kwh, highest_kwh = programme.lowest_kwh.tolist(), programme.highest_kwh.tolist()
    walked = power_kw.tolist()
    bounded = {} if programme.ties is None else programme.ties.list_by_period()
    stored_kwh: list[float] = []
    for index in range(first, len(walked)):
        power = walked[index]
        after_kwh = energy_kwh - power * (charged if power < 0 else drawn)
        for bound in bounded.get(index, ()):
            low, high = bound.find_bounds(stored_kwh)
            lowest_kwh[index], highest_kwh[index] = max(lowest_kwh[index], low), min(highest_kwh[index], high)
        if not lowest_kwh[index] <= after_kwh <= highest_kwh[index]:
            wanted_kwh = min(max(after_kwh, lowest_kwh[index]), highest_kwh[index]) - energy_kwh
            power = -wanted_kwh / charged if wanted_kwh > 0 else -wanted_kwh / drawn
            power = min(max(power, min_kw[index]), max_kw[index])
            walked[index] = power
            after_kwh = energy_kwh - power * (charged if power < 0 else drawn)
        energy_kwh = after_kwh
        stored_kwh.append(energy_kwh)
    return np.array(walked)
