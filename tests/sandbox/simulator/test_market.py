"""Generated prices: the same for a seed and a day, and such as the market makes them."""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from bench.price_calibration import PRICES, YEAR, hourly_days, read_prices, trial_figures, yearly_figures

from gridloom.kernel.balancing import AFRR_DIRECTIONS, Direction
from gridloom.kernel.market_time import period_count
from gridloom.sandbox.simulator.market.balancing import (
    afrr_activation,
    afrr_capacity_prices,
    afrr_energy_prices,
    blocks_of,
    fcr_prices_eur_mw,
    frequency_hz,
    frequency_response,
)
from gridloom.sandbox.simulator.market.calendar import DayType, day_type
from gridloom.sandbox.simulator.market.coefficients import coefficients
from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.market.intraday import (
    IntradayAuction,
    imbalance_prices,
    periods_of_third,
    system_imbalance,
)
from gridloom.sandbox.simulator.market.market_data import MarketData, Weights
from gridloom.sandbox.simulator.publishing import fcr_rows

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
    def test_have_a_value_for_each_quarter_hour_of_the_day(self):
        market = DayAhead(1)
        lengths = [len(market.quarter_hours(day)) for day in (SUNDAY_IN_MARCH, SUNDAY_IN_OCTOBER, THURSDAY)]
        assert lengths == [92, 100, 96]

    def test_of_the_hour_that_the_wall_clock_has_twice_are_the_same(self):
        [hours] = DayAhead(1).hourly(SUNDAY_IN_OCTOBER, 1)
        assert (np.diff(hours) == 0).nonzero()[0].tolist() == [2]

    def test_are_the_same_whichever_way_they_are_asked_for(self):
        together = DayAhead(7).many_days(THURSDAY - timedelta(days=3), 5)
        assert np.array_equal(together[3], DayAhead(7).quarter_hours(THURSDAY))
        assert not np.array_equal(together[3], DayAhead(8).quarter_hours(THURSDAY))

    def test_are_hourly_before_october_2025(self):
        before = DayAhead(1).quarter_hours(date(2025, 9, 30)).reshape(-1, 4)
        assert (before == before[:, :1]).all()
        after = DayAhead(1).quarter_hours(date(2025, 10, 1)).reshape(-1, 4)
        assert (after != after[:, :1]).any()

    def test_saw_around_their_hours_which_keep_their_mean(self):
        market = DayAhead(2)
        quarters = market.quarter_hours(THURSDAY).reshape(-1, 4)
        assert quarters.mean(axis=1) == pytest.approx(market.hourly(THURSDAY, 1)[0], abs=0.6)
        assert np.abs(np.diff(quarters, axis=1)).mean() > 3

    def test_have_a_valley_at_noon_in_summer_and_a_peak_in_the_evening(self):
        days = np.array(DayAhead(1).hourly(date(2026, 6, 1), 30))
        assert days[:, 12:15].mean() < 0.5 * days.mean() < days.mean() < 0.8 * days[:, 19:22].mean()

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
    @pytest.mark.parametrize(
        ("day", "kind"),
        [
            (date(2026, 4, 3), DayType.SUNDAY),
            (date(2026, 4, 6), DayType.SUNDAY),
            (date(2026, 4, 7), DayType.WORKDAY),
            (date(2026, 5, 25), DayType.SUNDAY),
            (date(2026, 5, 14), DayType.SUNDAY),
            (date(2026, 11, 14), DayType.SATURDAY),
            (THURSDAY, DayType.WORKDAY),
        ],
    )
    def test_knows_holidays(self, day: date, kind: DayType):
        assert day_type(day) is kind

    def test_knows_the_mondays_of_easter(self):
        """Of ten years in three centuries: early ones and late ones."""
        mondays = {date(1999, 4, 5), date(2008, 3, 24), date(2024, 4, 1), date(2025, 4, 21), date(2027, 3, 29)}
        mondays |= {date(2035, 3, 26), date(2038, 4, 26), date(2049, 4, 19), date(2076, 4, 20), date(2106, 4, 19)}
        spring = [date(monday.year, 3, 1) + timedelta(days=n) for monday in mondays for n in range(60)]
        assert {day for day in spring if day.weekday() == 0 and day_type(day) is DayType.SUNDAY} == mondays


class TestIntradayAndImbalancePrices:
    def test_lie_as_far_apart_as_the_markets_of_a_real_year(self):
        """EUR/MWh: mean absolute difference, and the width from the tenth to the ninetieth percentile."""
        board = MarketData(lambda _: 1)
        apart: dict[str, list[np.ndarray]] = defaultdict(list)
        for n in range(0, 365, 2):
            day = date(2026, 1, 1) + timedelta(days=n)
            spot, index, afternoon = board.day_ahead(day), board.intraday(day), periods_of_third(day)
            first, second, third = (board.auction(day, auction) for auction in IntradayAuction)
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
        board, days = MarketData(lambda _: 1), [THURSDAY + timedelta(days=n) for n in range(60)]
        apart = np.concatenate([board.imbalance(day) - board.intraday(day) for day in days])
        assert 40 < apart.std() < 150

    def test_are_dear_when_the_system_is_short(self):
        prices = DayAhead(1).quarter_hours(THURSDAY)
        short = system_imbalance(1, THURSDAY)
        dear = imbalance_prices(1, THURSDAY, prices) - prices
        assert np.corrcoef(short, dear)[0, 1] > 0.9


class TestBalancingPower:
    def test_blocks_are_wall_clock_hours(self):
        assert [block.length_h for block in blocks_of(SUNDAY_IN_MARCH)] == [3, 4, 4, 4, 4, 4]
        assert [block.length_h for block in blocks_of(SUNDAY_IN_OCTOBER)] == [5, 4, 4, 4, 4, 4]
        assert blocks_of(THURSDAY)[-1].product(Direction.POS) == "POS_20_24"
        assert sum(b.periods.stop - b.periods.start for b in blocks_of(SUNDAY_IN_OCTOBER)) == 100

    def test_clears_at_the_usual_level(self):
        days = [THURSDAY + timedelta(days=n) for n in range(200)]
        fcr = np.array([fcr_prices_eur_mw(1, day) / [b.length_h for b in blocks_of(day)] for day in days])
        assert 5 < fcr.mean() < 15
        assert np.log(fcr).std(axis=0) == pytest.approx(np.full(6, 0.35), rel=0.2)
        for direction in AFRR_DIRECTIONS:
            average, marginal = np.array([afrr_capacity_prices(1, day, direction) for day in days]).swapaxes(0, 1)
            assert 4 < average.mean() < 25
            assert (marginal >= average).all()

    @pytest.mark.parametrize(("day", "hours"), [(SUNDAY_IN_MARCH, 3), (SUNDAY_IN_OCTOBER, 5)])
    def test_is_paid_for_the_hours_of_the_block_when_clocks_change(self, day: date, hours: int):
        change, usual = (sum(fcr_prices_eur_mw(seed, one)[0] for seed in range(100)) for one in (day, THURSDAY))
        assert change / usual == pytest.approx(hours / 4, rel=0.1)

    @pytest.mark.parametrize("day", [SUNDAY_IN_MARCH, SUNDAY_IN_OCTOBER, THURSDAY])
    def test_is_published_per_hour_of_blocks_that_clear_as_a_whole(self, day: date):
        rows = fcr_rows(1, day)
        hours = [
            (datetime.fromisoformat(row["end"]) - datetime.fromisoformat(row["start"])).seconds / 3600 for row in rows
        ]
        assert sum(hours) == period_count(day) / 4
        whole = [row["price"] * length for row, length in zip(rows, hours, strict=True)]
        assert whole == pytest.approx(fcr_prices_eur_mw(1, day).tolist(), abs=1e-4)

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
