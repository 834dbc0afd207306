"""Random delivery zones for tests: virtual assets on batteries, with outages, reserves and owners' schedules."""

from __future__ import annotations

from datetime import date

import numpy as np
from hypothesis import strategies as st

from gridloom.delivery.model import BatteryLimits, DispatchInput, StartState, sum_rows
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.kernel.market_time import period_count
from gridloom.market_calendar import Floats, Ints

DAYS = (date(2026, 3, 29), date(2026, 7, 1), date(2026, 10, 25))
"""The day that loses an hour, a plain one, and the one that gains an hour."""


def made_zone(
    seed: int, virtual: int, count: int, periods: int, *, alike: bool = False, drifts: bool = False, stress: float = 1.0
) -> DispatchInput:
    """Drawn from a seed: some batteries lose capacity for a while, some hold reserves, some follow their owner."""
    draw = np.random.default_rng(seed)
    power_kw, hours = draw.uniform(500, 5000, count), draw.choice([1.0, 2.0, 4.0], count)
    capacity_kwh = power_kw * hours
    efficiency = np.full((2, count), 0.94) if alike else draw.uniform(0.88, 0.98, (2, count))
    charge_kw, discharge_kw = (np.repeat(part * power_kw[:, None], periods, axis=1) for part in (0.8, 1.0))
    low_kwh = np.repeat((capacity_kwh * draw.choice([0.0, 0.05], count))[:, None], periods, axis=1)
    high_kwh = np.repeat((capacity_kwh * draw.choice([1.0, 0.95], count))[:, None], periods, axis=1)
    own_kw, drift_kw, serves = np.zeros((count, periods)), np.zeros((count, periods)), np.ones((count, periods))
    for battery in range(count):
        first, last = sorted(draw.integers(0, periods + 1, 2))
        trouble = draw.integers(0, 5)
        if trouble == 0:  # an outage of power and energy
            left = draw.uniform(0, 1)
            charge_kw[battery, first:last] *= left
            discharge_kw[battery, first:last] *= left
            high_kwh[battery, first:last] = np.maximum(high_kwh[battery, first:last] * left, low_kwh[battery, 0])
        elif trouble == 1:  # FCR: power both ways and a quarter of an hour of it in store
            reserve_kw = 0.3 * power_kw[battery]
            charge_kw[battery, first:last] -= reserve_kw
            discharge_kw[battery, first:last] -= reserve_kw
            low_kwh[battery, first:last] += reserve_kw * 0.25 / efficiency[1, battery]
            high_kwh[battery, first:last] -= reserve_kw * 0.25 * efficiency[0, battery]
        elif trouble == 2:
            own_kw[battery, first:last] = draw.choice([-1, 1]) * 0.1 * power_kw[battery]
        elif trouble == 3 and count > 1:  # no virtual asset that it backs is alive
            serves[battery, first:last] = 0.0
        elif trouble == 4 and drifts:  # its drift was traded
            drift_kw[battery, first:last] = draw.choice([-1, 1]) * 0.1 * power_kw[battery]
    pairs, shares = [], []
    for asset in range(virtual):
        behind = draw.choice(count, size=min(count, int(draw.integers(1, 4))), replace=False)
        cuts = draw.dirichlet(np.ones(len(behind)))
        pairs += [(asset, int(battery)) for battery in behind]
        shares += cuts.tolist()
    walks = draw.normal(0, 1, (virtual, periods)).cumsum(axis=1) * draw.integers(0, 2, (virtual, 1))
    scale = np.abs(walks).max(initial=1e-9)
    scheduled_kw = np.round(walks / scale * power_kw.sum() / virtual * draw.uniform(0, 1) * stress, 3)
    energy_kwh = np.clip(draw.uniform(0.3, 0.7, count) * capacity_kwh, low_kwh[:, 0], high_kwh[:, 0])
    charge_efficiency, discharge_efficiency = (np.repeat(row[:, None], periods, axis=1) for row in efficiency)
    unlimited = np.full((count, periods), np.inf)
    promised_kwh = np.where(serves > 0, np.zeros(count)[:, None], 0.0)
    for (_, battery), share in zip(pairs, shares, strict=True):
        promised_kwh[battery] += np.where(serves[battery] > 0, share * capacity_kwh.sum() / virtual, 0.0)
    limits = BatteryLimits(
        charge_kw=charge_kw,
        discharge_kw=discharge_kw,
        low_kwh=low_kwh,
        high_kwh=high_kwh,
        charge_efficiency=charge_efficiency,
        discharge_efficiency=discharge_efficiency,
        own_kw=own_kw,
        drift_kw=drift_kw,
        free_charge_kw=charge_kw * 0.1,
        free_discharge_kw=discharge_kw * 0.1,
        promised_kwh=promised_kwh,
        ramp_kw=unlimited,
        daily_export_kwh=unlimited,
        annual_export_kwh=unlimited,
        reserve_stored_kwh=np.zeros((count, periods)),
        reserve_headroom_kwh=np.zeros((count, periods)),
        available_fraction=np.ones((count, periods)),
        energy_kwh=energy_kwh,
    )
    return input_of(scheduled_kw, limits, np.array(pairs), np.array(shares))


def input_of(power_kw: Floats, limits: BatteryLimits, share_of: Ints, shares: Floats) -> DispatchInput:
    """One market day, in which the virtual assets lose 6 % each way."""
    rates = np.full((len(power_kw), 1), 0.94)
    by_asset_kwh = energy_changes_kwh(power_kw, rates, rates)
    changes_kwh = sum_rows(shares[:, None] * by_asset_kwh[share_of[:, 0]], share_of[:, 1], limits.shape[0])
    changes_kwh += energy_changes_kwh(limits.own_kw, limits.charge_efficiency, limits.discharge_efficiency)
    path_kwh = np.concatenate([limits.energy_kwh[:, None], changes_kwh], axis=1).cumsum(axis=1)
    same_day = np.zeros(power_kw.shape[1], dtype=np.int64)
    start = StartState.of_rest(limits.shape[0])
    return DispatchInput(power_kw, limits, share_of, shares, path_kwh, same_day, same_day, start)


def even_limits(
    power_kw: list[float], capacity_kwh: list[float], periods: int, efficiency: list[float] | None = None
) -> BatteryLimits:
    """Batteries that are half full, wholly available and wholly promised, with no other limit."""

    def columns(values: list[float]) -> Floats:
        return np.repeat(np.array(values, dtype=np.float64)[:, None], periods, axis=1)

    count = len(power_kw)
    charging = columns(efficiency or [0.94] * count)
    discharging = charging if efficiency else columns([0.92] * count)
    nothing, unlimited = columns([0.0] * count), columns([np.inf] * count)
    powers, capacities = columns(power_kw), columns(capacity_kwh)
    return BatteryLimits(
        *(powers, powers.copy(), nothing, capacities, charging, discharging, nothing, nothing, nothing, nothing),
        *(capacities, unlimited, unlimited, unlimited, nothing, nothing, nothing + 1, capacities[:, 0] / 2),
    )


@st.composite
def zones(draw: st.DrawFn, most_virtual: int = 200, most_batteries: int = 50) -> DispatchInput:
    return made_zone(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(1, most_virtual)),
        draw(st.integers(1, most_batteries)),
        period_count(draw(st.sampled_from(DAYS))),
        alike=draw(st.booleans()),
        drifts=True,
        stress=draw(st.sampled_from([0.3, 1.0, 3.0])),
    )
