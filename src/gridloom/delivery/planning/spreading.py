"""Spreading a zone's net power over its batteries, within all their limits, period after period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.delivery.model import NOISE_KW, Batteries, Floats, Spread
from gridloom.kernel.units import QUARTER_HOUR_H

_ROUNDING_KW: Final = 1e-9
"""What summing up leaves: a target that meets what is asked but for this is met, and nobody is moved for it."""


def settle(net_kw: Floats, target_kw: Floats, batteries: Batteries, own_kw: Floats | None = None) -> Spread:
    """Bring a target into every limit and to the net, in the order of time.

    Each battery keeps its target as far as its power and energy allow; what is missing goes to those with room left, in
    proportion of their room, and what is too much is given back in proportion. A battery outside its bounds is never
    moved further out. The owner's schedule takes what room is left. What finds no room at all is unserved.
    """
    own_kw = batteries.own_kw if own_kw is None else own_kw
    count, periods = batteries.shape
    virtual_kw, owned_kw = np.zeros((count, periods)), np.zeros((count, periods))
    energy_kwh = np.empty((count, periods + 1))
    energy_kwh[:, 0] = batteries.energy_kwh
    unserved_kw = np.zeros(periods)
    for place in range(periods):
        now_kwh = energy_kwh[:, place]
        most_kw, least_kw = _power_range_kw(batteries, now_kwh, place)
        sign = 1.0 if net_kw[place] >= 0 else -1.0
        out_kw, in_kw = most_kw * batteries.serves[:, place], -least_kw * batteries.serves[:, place]
        ahead_kw, behind_kw = (out_kw, in_kw) if sign > 0 else (in_kw, out_kw)
        served_kw, missing_kw = _meet_demand(abs(float(net_kw[place])), sign * target_kw[:, place], ahead_kw, behind_kw)
        virtual_kw[:, place] = sign * served_kw + 0.0
        unserved_kw[place] = sign * missing_kw
        own = np.clip(own_kw[:, place], least_kw - virtual_kw[:, place], most_kw - virtual_kw[:, place])
        owned_kw[:, place] = np.clip(own, np.minimum(own_kw[:, place], 0.0), np.maximum(own_kw[:, place], 0.0))
        total_kw = virtual_kw[:, place] + owned_kw[:, place]
        energy_kwh[:, place + 1] = now_kwh + changes_kwh(
            total_kw, batteries.charge_efficiency[:, place], batteries.discharge_efficiency[:, place]
        )
    return Spread(virtual_kw, owned_kw, energy_kwh, unserved_kw)


def changes_kwh(power_kw: Floats, charge_efficiency: Floats, discharge_efficiency: Floats) -> Floats:
    """The change of the stored energy: `Δt·(charge·η_c − discharge/η_d)`."""
    return np.asarray(-QUARTER_HOUR_H * power_kw * np.where(power_kw < 0, charge_efficiency, 1 / discharge_efficiency))


def _power_range_kw(batteries: Batteries, energy_kwh: Floats, place: int) -> tuple[Floats, Floats]:
    """The most each battery can give in a period and, negative, the most it can take."""
    held_kwh = np.maximum(energy_kwh - batteries.low_kwh[:, place], 0.0)
    room_kwh = np.maximum(batteries.high_kwh[:, place] - energy_kwh, 0.0)
    most_kw = np.minimum(
        batteries.discharge_kw[:, place], held_kwh * batteries.discharge_efficiency[:, place] / QUARTER_HOUR_H
    )
    least_kw = -np.minimum(
        batteries.charge_kw[:, place], room_kwh / batteries.charge_efficiency[:, place] / QUARTER_HOUR_H
    )
    return most_kw, least_kw


def _meet_demand(asked_kw: float, target_kw: Floats, ahead_kw: Floats, behind_kw: Floats) -> tuple[Floats, float]:
    """Powers that sum to what is asked, near the target; and what is missing. Positive is the direction of the net."""
    power_kw = np.clip(target_kw, -behind_kw, ahead_kw)
    missing_kw = asked_kw - float(power_kw.sum())
    if abs(missing_kw) < _ROUNDING_KW:
        return power_kw, 0.0
    if missing_kw < 0:
        giving_kw = np.maximum(power_kw, 0.0)
        return power_kw + giving_kw * (missing_kw / float(giving_kw.sum())), 0.0
    # First those that move with the net; whoever moves against it is turned around only where nothing else is left.
    for turns_around in (False, True):
        room_kw = ahead_kw - power_kw if turns_around else np.where(power_kw < 0, 0.0, ahead_kw - power_kw)
        total_kw = float(room_kw.sum())
        if missing_kw <= 0 or total_kw <= 0:
            continue
        if missing_kw >= total_kw:
            power_kw, missing_kw = power_kw + room_kw, missing_kw - total_kw
        else:
            power_kw, missing_kw = power_kw + room_kw * (missing_kw / total_kw), 0.0
    return power_kw, missing_kw if missing_kw > NOISE_KW else 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What a spread costs: energy nobody could serve, energy outside bounds, and wear; compared in this order."""

    unserved_kwh: float
    outside_kwh: float
    wear_kwh: float

    def is_below(self, other: Cost) -> bool:
        for mine, others in (
            (self.unserved_kwh, other.unserved_kwh),
            (self.outside_kwh, other.outside_kwh),
            (self.wear_kwh, other.wear_kwh),
        ):
            if abs(mine - others) > 1e-6 * max(1.0, abs(others)):
                return mine < others
        return False


OFF_DUE_WEIGHT = 0.1
"""For each kWh that ends in another battery than its shares say: more than one way there could save in losses."""


def cost_of(spread: Spread, batteries: Batteries, due_kwh: Floats) -> Cost:
    """Wear is the energy moved plus the energy lost in moving it, and what ends in another battery than is due."""
    power_kw = spread.power_kw
    wear_kwh = QUARTER_HOUR_H * float((wear_factors(batteries, power_kw) * np.abs(power_kw)).sum())
    off_kwh = float(np.abs(spread.energy_kwh[:, -1] - due_kwh).sum())
    return Cost(
        QUARTER_HOUR_H * float(np.abs(spread.unserved_kw).sum()),
        float(outside_kwh(spread.energy_kwh, batteries).sum()),
        wear_kwh + OFF_DUE_WEIGHT * off_kwh,
    )


def outside_kwh(energy_kwh: Floats, batteries: Batteries) -> Floats:
    """By how much the energy at the end of each period misses its bounds."""
    after_kwh = energy_kwh[:, 1:]
    return np.maximum(batteries.low_kwh - after_kwh, 0.0) + np.maximum(after_kwh - batteries.high_kwh, 0.0)


def wear_factors(batteries: Batteries, direction: Floats) -> Floats:
    """Wear for each kWh at the grid: `1/η_d` discharging, `2 − η_c` charging, so that losses count both ways."""
    return np.where(direction < 0, 2.0 - batteries.charge_efficiency, 1.0 / batteries.discharge_efficiency)


def opposite_periods(power_kw: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """In which periods one battery charges while another discharges."""
    if not len(power_kw):
        return np.zeros(power_kw.shape[1], dtype=bool)
    return (power_kw.max(axis=0) > NOISE_KW) & (power_kw.min(axis=0) < -NOISE_KW)  # type: ignore[no-any-return]
