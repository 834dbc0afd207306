"""Generated prices: the same for a seed and a day, and such as the market makes them."""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from bench.price_calibration import PRICES, YEAR, hourly_days, read_prices, trial_figures, yearly_figures

from gridloom.kernel.balancing import AFRR_DIRECTIONS, Direction
from gridloom.sandbox.simulator.market.balancing import (
    afrr_activation,
    afrr_energy_prices,
    fcr_prices_eur_mw,
    frequency_hz,
    frequency_response,
)
from gridloom.sandbox.simulator.market.calendar import DayType, day_type
from gridloom.sandbox.simulator.market.coefficients import coefficients
from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.market.intraday import (
    IntradayAuction,
    periods_of_third,
)
from gridloom.sandbox.simulator.market.market_data import MarketData, Weights

pytestmark = pytest.mark.pure

FOLDER = Path(os.environ.get("GRIDLOOM_PRICES") or Path(__file__).parents[3] / "../shared/data")
SUNDAY_IN_MARCH, SUNDAY_IN_OCTOBER, THURSDAY = date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 12)


@pytest.fixture(scope="module")
def real_year() -> dict[str, float]:
    if not (FOLDER / PRICES).is_file():
        pytest.skip(f"The published prices ({PRICES}) are not on this machine; GRIDLOOM_PRICES says where they are.")
    return yearly_figures(list(hourly_days(read_prices(FOLDER), YEAR).values()))


class TestAGeneratedYear:
    def test_has_the_real_one_s_figures_within_a_tenth(self, real_year: dict[str, float]):
        generated = trial_figures(coefficients())
        assert {name: generated[name] / real for name, real in real_year.items()} == pytest.approx(
            dict.fromkeys(real_year, 1.0), rel=0.1
        )

    @pytest.mark.parametrize("seed", [1, 2, 4])
    def test_has_them_for_a_single_seed_too(self, real_year: dict[str, float], seed: int):
        generated = yearly_figures(DayAhead(seed).hourly(date(2026, 1, 1), 365))
        ratios = {name: generated[name] / real for name, real in real_year.items()}
        negative = ratios.pop("negative share")
        assert ratios == pytest.approx(dict.fromkeys(ratios, 1.0), rel=0.1)
        assert 0.6 < negative < 1.6, "some years are windier than others"


class TestDayAheadPrices:
    def test_of_the_hour_that_the_wall_clock_has_twice_are_the_same(self):
        [hours] = DayAhead(1).hourly(SUNDAY_IN_OCTOBER, 1)
        assert (np.diff(hours) == 0).nonzero()[0].tolist() == [2]

    def test_move_from_month_to_month_without_a_jump(self):
        """A week takes means a quarter of the way from the middle of a month to that of the next."""
        market, usual = DayAhead(1), np.zeros(24)
        weeks = np.array([market.raw_hours(THURSDAY + timedelta(weeks=number), usual) for number in range(53)])
        weeks = weeks[[day_type(THURSDAY + timedelta(weeks=number)) is day_type(THURSDAY) for number in range(53)]]
        middles = np.array([market.raw_hours(date(2026, month, 15), usual) for month in range(1, 13)])
        assert abs(np.diff(weeks, axis=0)).max() < 0.5 * np.ptp(middles, axis=0).max()

    def test_are_within_what_the_exchange_allows(self):
        prices = np.concatenate(DayAhead(3).many_days(date(2026, 1, 1), 365))
        assert prices.min() >= -500
        assert prices.max() <= 4000
        assert np.array_equal(prices, np.round(prices, 2))


class TestAnExpectation:
    @pytest.mark.parametrize("days_ahead", [1, 2])
    def test_looks_at_the_latest_day_known_and_at_the_same_day_of_the_week_before(self, days_ahead: int):
        market, known_until = MarketData(lambda _: 1), THURSDAY - timedelta(days=days_ahead)
        for weights, day in (((1, 0, 0), known_until), ((0, 0, 1), THURSDAY - timedelta(days=7))):
            expected = market.expected(THURSDAY, known_until, Weights(*weights))
            assert expected.tolist() == pytest.approx(market.day_ahead(day).tolist())


class TestTheCalendar:
    def test_knows_the_mondays_of_easter(self):
        """Of ten years in three centuries: early ones and late ones."""
        mondays = {date(1999, 4, 5), date(2008, 3, 24), date(2024, 4, 1), date(2025, 4, 21), date(2027, 3, 29)}
        mondays |= {date(2035, 3, 26), date(2038, 4, 26), date(2049, 4, 19), date(2076, 4, 20), date(2106, 4, 19)}
        spring = [date(monday.year, 3, 1) + timedelta(days=n) for monday in mondays for n in range(60)]
        assert {day for day in spring if day.weekday() == 0 and day_type(day) is DayType.SUNDAY} == mondays


class TestIntradayAndImbalancePrices:
    def test_lie_as_far_apart_as_the_markets_of_a_real_year(self):
        """EUR/MWh: mean absolute difference, and the width from the tenth to the ninetieth percentile."""
        market_data = MarketData(lambda _: 1)
        apart: dict[str, list[np.ndarray]] = defaultdict(list)
        for n in range(0, 365, 2):
            day = date(2026, 1, 1) + timedelta(days=n)
            spot, index, afternoon = market_data.day_ahead(day), market_data.intraday(day), periods_of_third(day)
            first, second, third = (market_data.auction(day, auction) for auction in IntradayAuction)
            apart["first"].append(first - spot)
            apart["second"] += [second - spot, second - first]
            apart["third"] += [(third - spot)[afternoon], (third - second)[afternoon]]
            apart["continuous"].append(index - second)
        wanted = {"first": (4.8, 14.5), "second": (6.1, 19.0), "third": (8.9, 28.0), "continuous": (11.6, 36.0)}
        for name, (mean_absolute, width) in wanted.items():
            moves = np.concatenate(apart[name])
            low, high = np.quantile(moves, [0.1, 0.9])
            assert np.abs(moves).mean() == pytest.approx(mean_absolute, rel=0.1), name
            assert high - low == pytest.approx(width, rel=0.1), name
            assert abs(moves.mean()) < 1, name

    def test_of_the_third_auction_begin_at_noon(self):
        assert periods_of_third(THURSDAY) == slice(48, 96)
        assert periods_of_third(SUNDAY_IN_MARCH) == slice(44, 92)
        assert periods_of_third(SUNDAY_IN_OCTOBER) == slice(52, 100)

    def test_imbalance_prices_stray_further(self):
        market_data, days = MarketData(lambda _: 1), [THURSDAY + timedelta(days=n) for n in range(60)]
        apart = np.concatenate([market_data.imbalance(day) - market_data.intraday(day) for day in days])
        assert 40 < apart.std() < 150


class TestBalancingPower:
    @pytest.mark.parametrize(("day", "hours"), [(SUNDAY_IN_MARCH, 3), (SUNDAY_IN_OCTOBER, 5)])
    def test_is_paid_for_the_hours_of_the_block_when_clocks_change(self, day: date, hours: int):
        change, usual = (sum(fcr_prices_eur_mw(seed, one)[0] for seed in range(100)) for one in (day, THURSDAY))
        assert change / usual == pytest.approx(hours / 4, rel=0.1)

    def test_calls_one_direction_at_a_time_and_seldom_all(self):
        up, down = (afrr_activation(1, THURSDAY, direction) for direction in AFRR_DIRECTIONS)
        assert not (up * down).any()
        assert 0 < (up + down).mean() < 0.5
        assert (afrr_energy_prices(1, THURSDAY, Direction.POS, np.zeros(96)) > 0).all()

    def test_frequency_stays_near_50_hz_and_response_pulls_it_back(self):
        frequency = frequency_hz(1, THURSDAY)
        assert len(frequency) == 1440
        assert abs(frequency - 50).max() < 0.2
        month = np.concatenate([frequency_hz(1, THURSDAY + timedelta(days=ahead)) for ahead in range(30)])
        assert month.std() == pytest.approx(0.022, rel=0.1)  # as of the continental grid
        assert frequency_response(np.array([49.8, 50.005, 50.1])).tolist() == pytest.approx([1, 0, -0.5])
