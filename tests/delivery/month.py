"""A month of a zone, dispatched day by day, and what is true of it; recomputed here in plain Python.

Nothing below `Month.check` uses a function of the service: energies, shares, drift and fairness follow from the
powers that were dispatched, the schedules and the batteries' parameters alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

import numpy as np

from gridloom.delivery.model import BatteryLimits, DispatchInput, StartState, ZoneDispatch
from gridloom.delivery.planning.dispatch_zone import compute_dispatch
from gridloom.delivery.planning.drift import NoonDrift, mean_gain_kwh, place_drift_kw, split_drift_kwh
from gridloom.kernel.market_time import period_count

POWER_KW = (10_000.0, 6_000.0, 4_000.0)
CAPACITY_KWH = (20_000.0, 12_000.0, 8_000.0)
VIRTUAL_EFFICIENCY = 0.943
H = 0.25


@dataclass
class Zone:
    """Three batteries and three virtual assets with unequal shares, drawn from a seed."""

    draw: Random
    charge_efficiency: list[float] = field(default_factory=list)
    discharge_efficiency: list[float] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)
    virtual_kw: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.charge_efficiency = [self.draw.uniform(0.92, 0.97) for _ in POWER_KW]
        self.discharge_efficiency = [self.draw.uniform(0.92, 0.97) for _ in POWER_KW]
        for _ in range(3):
            weights = [self.draw.uniform(0.1, 1.0) for _ in POWER_KW]
            self.shares.append([weight / sum(weights) for weight in weights])
        sizes = [self.draw.uniform(0.5, 1.0) for _ in range(3)]
        loads = [sum(size * shares[b] for size, shares in zip(sizes, self.shares, strict=True)) for b in range(3)]
        scale = min(0.85 * power / load for power, load in zip(POWER_KW, loads, strict=True))
        self.virtual_kw = [size * scale for size in sizes]

    @property
    def promised_kwh(self) -> list[float]:
        return [sum(2 * kw * row[b] for kw, row in zip(self.virtual_kw, self.shares, strict=True)) for b in range(3)]

    def schedule(self, asset: int, energy_kwh: float, periods: int) -> tuple[list[float], float]:
        """A day of a virtual asset: two charges and two discharges, then back to half; and its energy at the end."""
        most_kw, capacity_kwh = self.virtual_kw[asset], 2 * self.virtual_kw[asset]
        mode = [0] * periods
        starts = (self.draw.randrange(4, 18), self.draw.randrange(28, 38), self.draw.randrange(46, 56))
        for sign, start in zip((-1, 1, -1), starts, strict=True):
            for period in range(start, start + self.draw.randrange(4, 12)):
                mode[period] = sign
        powers = []
        for period in range(periods):
            power_kw = mode[period] * most_kw * self.draw.uniform(0.4, 1.0)
            if period >= periods - 24:
                left_kwh = (energy_kwh - capacity_kwh / 2) / (periods - period)
                power_kw = left_kwh / H * (VIRTUAL_EFFICIENCY if left_kwh > 0 else 1 / VIRTUAL_EFFICIENCY)
            power_kw = max(min(power_kw, most_kw, energy_kwh * VIRTUAL_EFFICIENCY / H), -most_kw)
            power_kw = max(power_kw, -(capacity_kwh - energy_kwh) / VIRTUAL_EFFICIENCY / H)
            energy_kwh += stored_kwh(power_kw, VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY)
            powers.append(power_kw)
        return powers, energy_kwh


def stored_kwh(power_kw: float, charge_efficiency: float, discharge_efficiency: float) -> float:
    return -H * (power_kw * charge_efficiency if power_kw < 0 else power_kw / discharge_efficiency)


@dataclass
class Figures:
    """What a month came to; drifts as fractions of promised energy, at midnights."""

    unfairness: float = 0.0
    battery_drifts: list[float] = field(default_factory=list)
    """Of each battery that was available for the day before."""
    zone_drift: float = 0.0
    unserved_kwh: float = 0.0
    opposed_periods: int = 0
    unexplained: float = 0.0
    """Energy of the batteries that no part explains, as a fraction of what they moved."""


class Month:
    def __init__(self, seed: int, first_day: date, days: int = 30) -> None:
        self.draw = Random(seed)
        self.zone = Zone(self.draw)
        self.first_day, self.days = first_day, days
        self.energy_kwh = [capacity / 2 for capacity in CAPACITY_KWH]
        self.share_kwh = list(self.energy_kwh)
        self.virtual_kwh = list(self.zone.virtual_kw)
        self.noons: list[NoonDrift | None] = []
        self.placed_kw = np.zeros((3, 0))

    def play(self) -> Figures:
        figures = Figures()
        discharged, fair = [0.0] * 3, [0.0] * 3
        moved_kwh = lost_track_kwh = 0.0
        for number in range(self.days):
            periods = period_count(self.first_day + timedelta(days=number))
            powers = []
            for asset in range(3):
                row, self.virtual_kwh[asset] = self.zone.schedule(asset, self.virtual_kwh[asset], periods)
                powers.append(row)
            available = [[1.0] * periods for _ in range(3)]
            outage = number % 6 == 3
            if outage:
                for period in range(30, 50):
                    available[number % 3][period] = 0.6
            made = self._dispatch(powers, available, periods)
            before_kwh = list(self.energy_kwh)
            self._follow(made, powers, periods, discharged, fair, figures)
            for b in range(3):
                moved_kwh += H * sum(abs(x) for x in made.batteries.power_kw[b].tolist())
                lost_track_kwh += abs(float(made.batteries.energy_kwh[b, -1]) - self.energy_kwh[b])
                assert abs(float(made.batteries.energy_kwh[b, 0]) - before_kwh[b]) < 1e-6
            if number >= 2:
                self._note_drift(figures, outage)
            self._place_drift(periods)
        figures.unfairness = max(abs(d / f - 1) for d, f in zip(discharged, fair, strict=True))
        figures.unexplained = lost_track_kwh / moved_kwh
        return figures

    def _follow(
        self,
        made: ZoneDispatch,
        powers: list[list[float]],
        periods: int,
        discharged: list[float],
        fair: list[float],
        figures: Figures,
    ) -> None:
        """The batteries after a day, period by period, from what was dispatched."""
        zone = self.zone
        for t in range(periods):
            net_kw = sum(row[t] for row in powers)
            exports = sum(max(row[t], 0.0) for row in powers)
            imports = sum(max(-row[t], 0.0) for row in powers)
            battery_kw = [float(made.batteries.power_kw[b, t]) for b in range(3)]
            virtual_kw = [float(made.batteries.virtual_kw[b, t]) for b in range(3)]
            figures.unserved_kwh += H * abs(net_kw - sum(virtual_kw))
            figures.opposed_periods += max(virtual_kw) > 1e-6 and min(virtual_kw) < -1e-6
            for b in range(3):
                self.energy_kwh[b] += stored_kwh(battery_kw[b], zone.charge_efficiency[b], zone.discharge_efficiency[b])
                for asset, row in enumerate(powers):
                    share = zone.shares[asset][b]
                    self.share_kwh[b] += share * stored_kwh(row[t], VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY)
                    if net_kw > 0 and row[t] > 0:
                        fair[b] += H * share * row[t] * (1 - imports / exports)
                discharged[b] += H * max(virtual_kw[b], 0.0)

    def _note_drift(self, figures: Figures, outage: bool) -> None:
        drift = [e - s for e, s in zip(self.energy_kwh, self.share_kwh, strict=True)]
        promised = self.zone.promised_kwh
        figures.zone_drift = max(figures.zone_drift, abs(sum(drift)) / sum(promised))
        if not outage:
            figures.battery_drifts += [abs(d) / p for d, p in zip(drift, promised, strict=True)]

    # --- the service --------------------------------------------------------------------------------------------------

    def _dispatch(self, powers: list[list[float]], available: list[list[float]], periods: int) -> ZoneDispatch:
        zone = self.zone

        def columns(values: list[float] | tuple[float, ...]) -> np.ndarray:
            return np.repeat(np.array(values)[:, None], periods, axis=1)

        limit_kw = columns(POWER_KW) * np.array(available)
        nothing, unlimited = np.zeros((3, periods)), np.full((3, periods), np.inf)
        drift_kw = self.placed_kw if self.placed_kw.shape[1] == periods else np.zeros((3, periods))
        free_kw = columns([0.1 * power for power in POWER_KW])
        limits = BatteryLimits(
            *(limit_kw, limit_kw, nothing, columns(CAPACITY_KWH)),
            *(columns(zone.charge_efficiency), columns(zone.discharge_efficiency)),
            *(nothing, drift_kw, free_kw, free_kw, columns(zone.promised_kwh), unlimited, unlimited, unlimited),
            *(nothing, nothing, np.ones((3, periods))),
            np.array(self.energy_kwh),
        )
        changes = [
            [
                sum(
                    zone.shares[asset][b] * stored_kwh(row[t], VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY)
                    for asset, row in enumerate(powers)
                )
                for t in range(periods)
            ]
            for b in range(3)
        ]
        path = np.cumsum(np.concatenate([np.array(self.share_kwh)[:, None], np.array(changes)], axis=1), axis=1)
        pairs = np.array([(asset, b) for asset in range(3) for b in range(3)])
        day = np.zeros(periods, dtype=np.int64)
        given = DispatchInput(
            np.array(powers), limits, pairs, np.array(zone.shares).ravel(), path, day, day, StartState.of_rest(3)
        )
        return compute_dispatch(given)

    def _place_drift(self, periods: int) -> None:
        """For the next day, by the drift at its start: the same rule as at noon."""
        drift = np.array(self.energy_kwh) - np.array(self.share_kwh)
        gain_kwh = mean_gain_kwh([*self.noons[-7:], NoonDrift(float(drift.sum()), 0.0)])
        parts = split_drift_kwh(float(drift.sum()) + gain_kwh, np.array(self.zone.promised_kwh), drift)
        next_periods = period_count(self.first_day + timedelta(days=len(self.noons) + 1))
        price = np.array([80 + 40 * (1 if 68 <= t < 84 else -1 if t < 24 else 0) for t in range(next_periods)])
        rows = []
        for b in range(3):
            efficiency = self.zone.discharge_efficiency[b] if parts[b] > 0 else self.zone.charge_efficiency[b]
            free_kw = np.full(next_periods, 0.1 * POWER_KW[b])
            rows.append(place_drift_kw(float(parts[b]), efficiency, free_kw, price))
        self.placed_kw = np.array(rows)
        self.noons.append(NoonDrift(float(drift.sum()), float(parts.sum())))
