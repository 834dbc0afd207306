"""Traders see the same past and plan differently: each by its own strategy, and so that it pays."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from gridloom.simulator.market.market_data import MarketData
from gridloom.simulator.participants.planning import Store, plan_day
from gridloom.simulator.participants.strategies import NORMALS, PATIENT, SHARP, STRATEGIES, Strategy, see_prices
from gridloom.simulator.random_streams import stream
from gridloom.simulator.scenario import TRADERS

pytestmark = pytest.mark.pure

FIRST_DAY = date(2026, 10, 20)
DAYS = 28
ZONES = 3


def plan_of(strategy: Strategy, board: MarketData, day: date, name: str, zone: int) -> np.ndarray:
    expected = board.expected(day, day - timedelta(days=1), strategy.weights)
    hunch = stream(1, f"view of {name}", zone, day.toordinal()).standard_normal(NORMALS)
    seen = see_prices(strategy, expected, hunch)
    flat = np.full(len(expected), 10_000.0)
    store = Store(flat, flat, 20_000, 0.943, 0.943)
    return plan_day(
        store, seen, most_cycles=strategy.most_cycles, least_margin_eur_mwh=strategy.least_margin_eur_mwh
    ).power_kw


@pytest.fixture(scope="module")
def plans() -> dict[str, list[np.ndarray]]:
    board = MarketData(lambda _: 1)
    days = [FIRST_DAY + timedelta(days=n) for n in range(DAYS)]
    return {
        name: [plan_of(one, board, day, name, zone) for day in days for zone in range(ZONES)]
        for name, one in STRATEGIES.items()
    }


class TestStrategies:
    def test_has_every_trader_one(self):
        assert STRATEGIES.keys() == {trader.slug for trader in TRADERS}

    def test_meet_on_opposite_sides_every_week(self, plans: dict[str, list[np.ndarray]]):
        """Where one charges and the other discharges, the smaller of the two is netted."""
        netted, moved = np.zeros(DAYS), np.zeros(DAYS)
        for n, (one, other) in enumerate(zip(*plans.values(), strict=True)):
            opposite = np.where(one * other < 0, np.minimum(np.abs(one), np.abs(other)), 0)
            netted[n // ZONES] += 2 * opposite.sum()
            moved[n // ZONES] += (np.abs(one) + np.abs(other)).sum()
        assert (netted.reshape(4, 7).sum(axis=1) > 0).all()
        assert 0.01 < netted.sum() / moved.sum() < 0.5

    def test_earn_a_good_part_of_what_foresight_would(self, plans: dict[str, list[np.ndarray]]):
        board = MarketData(lambda _: 1)
        flat = np.full(96, 10_000.0)
        for name, mine in plans.items():
            best = earned = 0.0
            for n, power in enumerate(mine):
                prices = board.day_ahead(FIRST_DAY + timedelta(days=n // ZONES))
                if len(prices) != 96:
                    continue
                best += plan_day(Store(flat, flat, 20_000, 0.943, 0.943), prices, most_cycles=2.0).value_eur
                earned += float(prices @ power) / 4000
            assert earned > 0.35 * best, name

    def test_see_the_course_of_a_day_each_at_its_own_time(self):
        prices = np.zeros(96)
        prices[40:48] = 100.0
        still = np.zeros(NORMALS)
        sharp, patient = (see_prices(one, prices, still) for one in (SHARP, PATIENT))
        assert sharp.argmax() == 40 + SHARP.later, "as it was"
        assert patient.reshape(24, 4).std(axis=1).max() == 0, "hours, not quarters"
        assert patient @ np.arange(96) > sharp @ np.arange(96)
