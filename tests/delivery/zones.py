"""Random delivery zones for tests: virtual assets on batteries, with outages, reserves and owners' schedules."""

from __future__ import annotations

from datetime import date

import numpy as np
from hypothesis import strategies as st

from gridloom.delivery.model import Batteries, Situation
from gridloom.delivery.planning.spreading import changes_kwh
from gridloom.kernel.market_time import period_count

DAYS = (date(2026, 3, 29), date(2026, 7, 1), date(2026, 10, 25))
"""The day that loses an hour, a plain one, and the one that gains an hour."""


def made_zone(
    seed: int, virtual: int, count: int, periods: int, *, alike: bool = False, stress: float = 1.0
) -> Situation:
    """Drawn from a seed: some batteries lose capacity for a while, some hold reserves, some follow their owner."""
    draw = np.random.default_rng(seed)
    power_kw, hours = draw.uniform(500, 5000, count), draw.choice([1.0, 2.0, 4.0], count)
    capacity_kwh = power_kw * hours
    efficiency = np.full((2, count), 0.94) if alike else draw.uniform(0.88, 0.98, (2, count))
    charge_kw, discharge_kw = (np.repeat(power_kw[:, None], periods, axis=1) for _ in range(2))
    low_kwh = np.repeat((capacity_kwh * draw.choice([0.0, 0.05], count))[:, None], periods, axis=1)
    high_kwh = np.repeat((capacity_kwh * draw.choice([1.0, 0.95], count))[:, None], periods, axis=1)
    own_kw, serves = np.zeros((count, periods)), np.ones((count, periods))
    for battery in range(count):
        first, last = sorted(draw.integers(0, periods + 1, 2))
        trouble = draw.integers(0, 5)
        if trouble == 0:  # an outage of power and energy
            left = draw.uniform(0, 1)
            charge_kw[battery, first:last] *= left
            discharge_kw[battery, first:last] *= left
            high_kwh[battery, first:last] = np.maximum(high_kwh[battery, first:last] * left, low_kwh[battery, first])
        elif trouble == 1:  # FCR: power both ways and a quarter of an hour of it in store
            reserve_kw = 0.3 * power_kw[battery]
            charge_kw[battery, first:last] -= reserve_kw
            discharge_kw[battery, first:last] -= reserve_kw
            low_kwh[battery, first:last] += reserve_kw * 0.25 / efficiency[1, battery]
            high_kwh[battery, first:last] -= reserve_kw * 0.25 * efficiency[0, battery]
        elif trouble == 2:
            own_kw[battery, first:last] = draw.choice([-1, 1]) * 0.1 * power_kw[battery]
        elif trouble == 3 and count > 1:  # nobody that it backs lives
            serves[battery, first:last] = 0.0
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
    batteries = Batteries(
        charge_kw,
        discharge_kw,
        low_kwh,
        high_kwh,
        charge_efficiency,
        discharge_efficiency,
        own_kw,
        charge_kw * 0.1,
        discharge_kw * 0.1,
        serves,
        energy_kwh,
    )
    situation = Situation(scheduled_kw, batteries, np.array(pairs), np.array(shares), energy_kwh)
    natural_kwh = changes_kwh(situation.by_share(scheduled_kw), charge_efficiency, discharge_efficiency)
    due_kwh = np.clip(energy_kwh + natural_kwh.sum(axis=1), low_kwh[:, -1], high_kwh[:, -1])
    return Situation(scheduled_kw, batteries, np.array(pairs), np.array(shares), due_kwh)


@st.composite
def zones(draw: st.DrawFn, most_virtual: int = 200, most_batteries: int = 50) -> Situation:
    return made_zone(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(1, most_virtual)),
        draw(st.integers(1, most_batteries)),
        period_count(draw(st.sampled_from(DAYS))),
        alike=draw(st.booleans()),
        stress=draw(st.sampled_from([0.3, 1.0, 3.0])),
    )
