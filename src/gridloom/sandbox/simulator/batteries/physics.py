"""Battery physics: minute by minute over a step, all of them at once. Power in kW (export positive), energy in kWh.

A charge of P at the grid for a time Δt stores P·Δt·η_c, a discharge takes P·Δt/η_d out of the store; at rest a little
is lost for ever. A battery whose store is full or empty stops: that is a trip, the only way not to follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Floats = np.ndarray

MINUTE_H = 1 / 60
REST_LOSS_A_DAY = 0.004
"""Share of the capacity that cells and their cooling take in a day at rest."""
AMBIENT_C, HEATING_C = 21.0, 14.0
"""Of the container, and how much warmer the cells get at full power in the long run."""
COOLING_H = 1.4
CYCLE_AGEING_PERCENT, CALENDAR_AGEING_PERCENT_H = 0.0028, 0.00016
POWER_NOISE, CHARGE_NOISE_PERCENT, TEMPERATURE_NOISE_C = 0.0006, 0.01, 0.05


@dataclass(frozen=True, slots=True)
class BatteryArray:
    """Constants, an element a battery."""

    charge_kw: Floats
    discharge_kw: Floats
    capacity_kwh: Floats
    charge_efficiency: Floats
    discharge_efficiency: Floats


@dataclass(frozen=True, slots=True)
class State:
    """How the batteries stand between two minutes."""

    energy_kwh: Floats
    temperature_c: Floats
    cycles: Floats
    health_percent: Floats


@dataclass(frozen=True, slots=True)
class SimulatedMinutes:
    """The results of a step: [battery][minute]; stores and temperatures as they are at the minute's end."""

    power_kw: Floats
    energy_kwh: Floats
    temperature_c: Floats
    cycles: Floats
    health_percent: Floats
    tripped: Floats
    lost_kwh: Floats
    """[battery]: what was lost at rest"""


def run(cells: BatteryArray, state: State, asked_kw: Floats, available: Floats) -> tuple[State, SimulatedMinutes]:
    """Follow the asked power for some minutes.

    available: [battery][minute] the share of its power that a battery has; what is out of order does nothing.
    """
    minutes = asked_kw.shape[1]
    limited = np.clip(asked_kw, -cells.charge_kw[:, None] * available, cells.discharge_kw[:, None] * available)
    loss = cells.capacity_kwh[:, None] * (REST_LOSS_A_DAY / 1440) * np.ones((1, minutes))
    flow = _store_minute(cells, limited)
    energy = state.energy_kwh[:, None] + np.cumsum(flow - loss, axis=1)
    power, tripped = limited, np.zeros(limited.shape, dtype=bool)
    beyond = np.any((energy < 0) | (energy > cells.capacity_kwh[:, None]), axis=1)
    if beyond.any():
        power, loss, energy, tripped = _stop_at_bounds(cells, state, limited, loss, energy, np.asarray(beyond))
    discharged = np.maximum(power, 0) * MINUTE_H
    cycles = state.cycles[:, None] + np.cumsum(discharged, axis=1) / cells.capacity_kwh[:, None]
    health = state.health_percent[:, None] - CYCLE_AGEING_PERCENT * (cycles - state.cycles[:, None])
    health = health - CALENDAR_AGEING_PERCENT_H * MINUTE_H * np.arange(1, minutes + 1)
    temperature = _warm_cells(cells, state, power)
    after = State(energy[:, -1], temperature[:, -1], cycles[:, -1], health[:, -1])
    return after, SimulatedMinutes(power, energy, temperature, cycles, health, tripped, loss.sum(axis=1))


def _store_minute(cells: BatteryArray, power_kw: Floats) -> Floats:
    """The energy that a minute at this power adds to the store."""
    charge, discharge = np.maximum(-power_kw, 0), np.maximum(power_kw, 0)
    gained = charge * cells.charge_efficiency[:, None] - discharge / cells.discharge_efficiency[:, None]
    return np.asarray(MINUTE_H * gained)


def _stop_at_bounds(
    cells: BatteryArray, state: State, limited: Floats, loss: Floats, energy: Floats, beyond: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    power, loss, energy = limited.copy(), loss.copy(), energy.copy()
    tripped = np.zeros(limited.shape, dtype=bool)
    for row in np.flatnonzero(beyond):
        stored, capacity = float(state.energy_kwh[row]), float(cells.capacity_kwh[row])
        up, down = float(cells.charge_efficiency[row]), float(cells.discharge_efficiency[row])
        for minute in range(limited.shape[1]):
            loss[row, minute] = min(loss[row, minute], stored)
            room, store = capacity - stored + loss[row, minute], stored - loss[row, minute]
            asked = float(limited[row, minute])
            done = min(max(asked, -room / (MINUTE_H * up)), store * down / MINUTE_H)
            tripped[row, minute] = abs(done - asked) > 1e-6
            gained = -done * MINUTE_H * up if done < 0 else -done * MINUTE_H / down
            stored = min(max(stored - loss[row, minute] + gained, 0.0), capacity)
            power[row, minute], energy[row, minute] = done, stored
    return power, loss, energy, tripped


def _warm_cells(cells: BatteryArray, state: State, power_kw: Floats) -> Floats:
    """Cells warm with the square of the load and cool towards the container."""
    load = np.abs(power_kw) / np.maximum(cells.charge_kw, cells.discharge_kw)[:, None]
    keeps = np.exp(-MINUTE_H / COOLING_H)
    target = AMBIENT_C + HEATING_C * load**2
    # T[n] = keeps·T[n−1] + (1−keeps)·target[n], summed up at once; steps are short enough for the powers.
    powers = keeps ** np.arange(1, power_kw.shape[1] + 1)
    return np.asarray(powers * (state.temperature_c[:, None] + np.cumsum((1 - keeps) * target / powers, axis=1)))


def measure(
    cells: BatteryArray, simulated: SimulatedMinutes, available: Floats, chance: np.random.Generator
) -> dict[str, Floats]:
    """Measured values: each signal [battery][minute], with the noise of its instrument."""
    shape = simulated.power_kw.shape
    stored = 100 * simulated.energy_kwh / cells.capacity_kwh[:, None]
    noise = chance.standard_normal((3, *shape))
    return {
        "active_power": np.round(simulated.power_kw * (1 + POWER_NOISE * noise[0]), 1) + 0.0,
        "state_of_charge": np.round(np.clip(stored + CHARGE_NOISE_PERCENT * noise[1], 0, 100), 2),
        "available_energy": np.round(simulated.energy_kwh * cells.discharge_efficiency[:, None], 0),
        "available_charge_power": np.round(cells.charge_kw[:, None] * available, 0),
        "available_discharge_power": np.round(cells.discharge_kw[:, None] * available, 0),
        "temperature": np.round(simulated.temperature_c + TEMPERATURE_NOISE_C * noise[2], 1),
        "cycles": np.round(simulated.cycles, 3),
        "state_of_health": np.round(simulated.health_percent, 2),
    }
