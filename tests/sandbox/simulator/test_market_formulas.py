"""How prices, calls of reserve and the frequency are made of what is drawn: each formula on draws of a test's own."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.balancing import Direction
from gridloom.sandbox.simulator import publishing
from gridloom.sandbox.simulator.market import balancing, day_ahead, intraday, market_data
from gridloom.sandbox.simulator.market.calendar import DayType, day_type, hours_of, periods_of
from gridloom.sandbox.simulator.market.cents import in_cents
from gridloom.sandbox.simulator.market.coefficients import Coefficients
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.market.market_data import EVEN_HANDED, MarketData, Weights

pytestmark = pytest.mark.pure

SUNDAY_IN_MARCH, SUNDAY_IN_OCTOBER, THURSDAY = date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 12)


class Draws:
    """Stands in for a stream of random numbers: the first is as given, the others are another."""

    def __init__(self, first: float, others: float) -> None:
        self.first, self.others = first, others

    def standard_normal(self, shape: Any = None) -> Any:
        if shape is None:
            return self.first
        drawn = np.full(shape, self.others)
        drawn.flat[0] = self.first
        return drawn


class TestTheCalendar:
    def test_has_the_holidays_of_all_of_germany(self) -> None:
        """Of 2026, in which Unity Day is a Saturday and the second day of Christmas, too."""
        days = [date(2026, 1, 1) + timedelta(days=n) for n in range(365)]
        holidays = {day for day in days if day.weekday() < 6 and day_type(day) is DayType.SUNDAY}
        fixed = {date(2026, month, day) for month, day in ((1, 1), (5, 1), (10, 3), (12, 25), (12, 26))}
        assert holidays == fixed | {date(2026, 4, 3), date(2026, 4, 6), date(2026, 5, 14), date(2026, 5, 25)}
        assert {day.weekday() for day in days if day_type(day) is DayType.SATURDAY} == {5}

    def test_has_the_hours_and_quarter_hours_of_days_on_which_clocks_change(self) -> None:
        spring, autumn = [0, 1, *range(3, 24)], [0, 1, 2, *range(2, 24)]
        for day, hours, midnight_utc in (
            (SUNDAY_IN_MARCH, spring, 23),
            (SUNDAY_IN_OCTOBER, autumn, 22),
            (THURSDAY, list(range(24)), 23),
        ):
            assert hours_of(day).tolist() == hours
            start = datetime(day.year, day.month, day.day - 1, midnight_utc, tzinfo=UTC)
            assert periods_of(day) == [start + timedelta(minutes=15 * n) for n in range(4 * len(hours))]
            assert {period.utcoffset() for period in periods_of(day)} == {timedelta()}


class TestAPrice:
    def test_is_within_the_exchanges_limits_and_to_the_cent_and_never_minus_zero(self) -> None:
        found = in_cents([-20_000.0, -9_999.0, -0.001, 1.005001, 2.5, 9_999.0, 12_000.0])
        assert found.tolist() == [-9_999.0, -9_999.0, 0.0, 1.01, 2.5, 9_999.0, 9_999.0]
        assert not np.signbit(found[2])
        assert in_cents([-501.0, 4001.0], -500.0, 4000.0).tolist() == [-500.0, 4000.0]


class TestBlocks:
    def test_hold_the_quarter_hours_of_their_hours_on_the_wall(self) -> None:
        for day, first in ((SUNDAY_IN_MARCH, 12), (SUNDAY_IN_OCTOBER, 20), (THURSDAY, 16)):
            starts = [0, *range(first, first + 96, 16)]
            blocks = balancing.blocks_of(day)
            assert [block.periods for block in blocks] == [slice(start, end) for start, end in pairwise(starts)]
            assert [block.window.start for block in blocks] == [periods_of(day)[start] for start in starts[:6]]
            assert [block.product(Direction.NEG) for block in blocks][:2] == ["NEG_00_04", "NEG_04_08"]


class TestTheLevelOfABlocksPrices:
    def test_lasts_for_days_and_has_its_own_chance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []
        for days_ago, block, exponent in (
            (0, 0, 0.8 * np.sqrt(1 - 0.85**2)),
            (2, 0, 0.8 * 0.85**2 * np.sqrt(1 - 0.85**2)),
            (30, 0, 0.8 * 0.85**30 * np.sqrt(1 - 0.85**2)),
            (0, 3, 0.6),
            (1, 3, 0.0),
        ):

            def draw(*given: Any, _at: tuple[int, int] = (days_ago, block)) -> np.ndarray:
                asked.append(given)
                shocks = np.zeros((31, 7))
                shocks[30 - _at[0], _at[1]] = 2.0
                return shocks

            monkeypatch.setattr(balancing, "daily_normals", draw)
            level = np.log(balancing._draw_level(5, "fcr", THURSDAY, 0.5)) + 0.5**2 / 2
            expected = np.full(6, 0.5 * 2 * exponent)
            if block:
                expected[np.arange(6) != block - 1] = 0.0
            assert level == pytest.approx(expected)
        assert asked[0] == (5, "fcr", THURSDAY - timedelta(days=30), 31, 7)

    def test_multiplies_what_is_usual_of_each_product(self, monkeypatch: pytest.MonkeyPatch) -> None:
        levels = {"fcr": 2.0, "afrr-POS": 3.0, "afrr-NEG": 4.0}
        monkeypatch.setattr(balancing, "_draw_level", lambda seed, purpose, day, spread: np.full(6, levels[purpose]))
        seed = 123_456_789  # of no other test: prices of a seed and day are kept
        assert balancing.fcr_prices_eur_mw(seed, SUNDAY_IN_MARCH).tolist() == [54.0, 56.0, 68.0, 100.0, 76.0, 52.0]
        average, marginal = balancing.afrr_capacity_prices(seed, THURSDAY, Direction.POS)
        assert average.tolist() == [15.0, 24.0, 18.0, 13.5, 42.0, 28.5]
        assert marginal.tolist() == [24.0, 38.4, 28.8, 21.6, 67.2, 45.6]
        assert balancing.afrr_capacity_prices(seed, THURSDAY, Direction.NEG)[0].tolist() == [40, 30, 48, 76, 26, 28]


class TestReserveThatIsCalled:
    def test_is_called_where_the_system_is_short_or_long_by_much_and_has_its_price(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(balancing, "system_imbalance", lambda *_: np.array([0.0, 0.45, 1.75, 4.0, -0.45, -1.1, -9]))
        seed = 123_456_788
        called = {
            one: balancing.afrr_activation(seed, THURSDAY, one).tolist() for one in (Direction.POS, Direction.NEG)
        }
        assert called == {
            Direction.POS: [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0],
            Direction.NEG: [0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 1.0],
        }
        market = np.array([-10.0, 50.0, 50.0, 400.0, -10.0, 50.0, 400.0])
        upwards = balancing.afrr_energy_prices(seed, THURSDAY, Direction.POS, market)
        assert upwards.tolist() == [35.0, 85.0, 165.0, 595.0, 35.0, 85.0, 435.0]
        downwards = balancing.afrr_energy_prices(seed, THURSDAY, Direction.NEG, market)
        assert downwards.tolist() == [55.0, -5.0, -5.0, -105.0, 55.0, 35.0, 55.0]


class TestTheFrequency:
    def test_swings_on_the_hour_and_forgets_a_shock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(balancing, "stream", lambda *_: Draws(0.0, 0.0))
        calm = balancing.frequency_hz(1, SUNDAY_IN_MARCH)
        assert len(calm) == 23 * 60
        hour = [50.0, 50.0043, 50.0033, 50.0016, 50.0, 49.9967]  # at minutes 0, 5, 10, 15, 30 and 50
        for start in (0, 60, 22 * 60):
            assert calm[[start + minute for minute in (0, 5, 10, 15, 30, 50)]].tolist() == pytest.approx(hour, abs=1e-4)
        monkeypatch.setattr(balancing, "stream", lambda *_: Draws(10.0, 1.0))
        shaken = balancing.frequency_hz(1, SUNDAY_IN_OCTOBER)
        assert len(shaken) == 25 * 60
        wander, steady = [10.0], np.sqrt(1 - 0.93**2)
        for _ in range(3):
            wander.append(0.93 * wander[-1] + steady)
        assert shaken[:4] - calm[:4] == pytest.approx(0.022 * np.array(wander), abs=2e-4)

    def test_is_answered_in_proportion_beyond_ten_millihertz_and_by_all_at_two_hundred(self) -> None:
        off = [0.0, 0.0099, -0.0099, 0.0101, -0.015, 0.1, -0.25, 0.2]
        answered = balancing.frequency_response(50.0 - np.array(off)).tolist()
        assert answered == pytest.approx([0, 0, 0, 0.0505, -0.075, 0.5, -1, 1])


class TestMoves:
    @pytest.mark.parametrize("persistence", [0.86, 0.93])
    def test_go_on_from_quarter_hour_to_quarter_hour(self, monkeypatch: pytest.MonkeyPatch, persistence: float) -> None:
        """With the same spread from the day's first on."""
        monkeypatch.setattr(intraday, "stream", lambda *_: Draws(3.0, 1.0))
        found = intraday._draw_chain(1, "system", SUNDAY_IN_OCTOBER, persistence)
        expected = [3.0]
        for _ in range(99):
            expected.append(persistence * expected[-1] + np.sqrt(1 - persistence**2))
        assert found.tolist() == pytest.approx(expected)

    def test_are_wider_on_unsettled_days_and_where_prices_are_far_from_zero(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []

        def chain(*given: Any) -> np.ndarray:
            asked.append(given)
            return np.array([1.0, 1.0, -1.0, 1.0])

        monkeypatch.setattr(intraday, "stream", lambda *_: Draws(2.0, 0.0))
        monkeypatch.setattr(intraday, "_draw_chain", chain)
        moves = intraday._draw_moves(7, THURSDAY, np.array([0.0, 90.0, -90.0, 900.0]), "third")
        assert moves == pytest.approx(np.exp(0.76) * np.array([0.6, 1.0, -1.0, 0.6 + 4 / 3]) / 0.852)
        assert asked == [(7, "intraday third", THURSDAY, 0.93)]

    def test_make_the_prices_of_each_market_together_with_those_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes = {"first": 1.0, "second": 10.0, "third": 100.0, "continuous": 7.0}
        monkeypatch.setattr(intraday, "_draw_moves", lambda seed, day, prices, market: np.array([sizes[market]]))
        spot = np.array([40.0])
        first, third = 4.8 / 6.1 / 2, 6.1 / 8.9 / 2
        expected = {
            IntradayAuction.FIRST: 40 + 4.8 * (first * 10 + np.sqrt(1 - first**2) * 1),
            IntradayAuction.SECOND: 101.0,
            IntradayAuction.THIRD: 40 + 8.9 * (third * 10 + np.sqrt(1 - third**2) * 100),
        }
        for auction, price in expected.items():
            found = intraday.auction_prices(1, THURSDAY, spot, auction)
            assert found == pytest.approx([price], abs=0.006), auction
        index = intraday.intraday_prices(1, THURSDAY, spot)
        assert index == pytest.approx([101 + 11.6 * (0.6 * 100 + 0.8 * 7)], abs=0.006)

    def test_of_the_system_make_imbalance_dear_or_cheap(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(intraday, "system_imbalance", lambda *_: np.array([0.0, 0.5, 2.0, -0.5, -2.0]))
        prices = intraday.imbalance_prices(1, THURSDAY, np.full(5, 80.0))
        assert prices.tolist() == [80.0, 109.5, 264.0, 50.5, -104.0]


def table_of(**changed: Any) -> Coefficients:
    """Prices of 100 EUR/MWh a month, 10 more a type of day and 1 more an hour; nothing strays, unless told."""
    unit = np.eye(24).tolist()
    table: dict[str, Any] = {
        "calibrated_on": "",
        "source": "",
        "mean_eur_mwh": [
            [[100.0 * m + 10 * kind + hour for hour in range(24)] for kind in range(3)] for m in range(12)
        ],
        "scale_eur_mwh": [[float(month + 1)] * 24 for month in range(12)],
        "carry_over": (0.5 * np.eye(24)).tolist(),
        "innovation": unit,
        "probabilities": [0.001, 0.5, 0.999],
        "deviation_quantiles": [[0.0, 0.0, 0.0]] * 24,
        "mixing": unit,
        "raw_quantiles_eur_mwh": [-10_000.0, 10_000.0],
        "price_quantiles_eur_mwh": [-10_000.0, 10_000.0],
        "quarter_slope": [[0.0] * 4] * 24,
        "quarter_offset_eur_mwh": [[0.0] * 4] * 24,
        "quarter_noise_eur_mwh": 0.0,
    }
    return Coefficients(**(table | changed))


class TestDayAheadPrices:
    def test_lie_between_the_means_of_the_months_by_type_of_day_and_hour(self) -> None:
        """The middle of a month is 15.25 days after its first."""
        market = day_ahead.DayAhead(1, table_of())
        hours = np.arange(24.0)
        for day, month, kind in (
            (date(2026, 2, 2), 1 - 14.25 / 30.5, 0),
            (date(2026, 6, 30), 5 + 13.75 / 30.5, 0),
            (date(2026, 6, 6), 5 - 10.25 / 30.5, 1),
            (date(2026, 6, 7), 5 - 9.25 / 30.5, 2),
        ):
            assert market.hourly(day, 1)[0] == pytest.approx(100 * month + 10 * kind + hours), day
        december, weight = date(2026, 12, 31), 14.75 / 30.5
        assert market.hourly(december, 1)[0] == pytest.approx(1100 * (1 - weight) + hours), "and on to January"
        scales = market.raw_hours(december, np.ones(24)) - market.raw_hours(december, np.zeros(24))
        assert scales == pytest.approx(12 * (1 - weight) + weight)

    def test_remember_surprises_of_days_before_and_none_that_is_to_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By half a day; each hour is mapped to its own distribution, and then mixed with others."""
        asked: list[Any] = []

        def draw(*given: Any) -> np.ndarray:
            asked.append(given)
            shocks = np.zeros((62, 24))
            shocks[60, 3] = 1.0  # on the first of the two days
            shocks[58, 5] = 2.0
            return shocks

        monkeypatch.setattr(day_ahead, "daily_normals", draw)
        mixing = np.eye(24)
        mixing[7, 3] = 10.0  # hour 7 has a part of hour 3
        table = table_of(
            probabilities=[0.0227501319, 0.5, 0.9772498681],  # two standard deviations
            deviation_quantiles=[[-2.0 * (hour + 1), 0.0, 2.0 * (hour + 1)] for hour in range(24)],
            mixing=mixing.tolist(),
        )
        found = day_ahead.DayAhead(9, table).deviations(THURSDAY, 2)
        expected = np.zeros((2, 24))
        expected[0, [3, 5, 7]] = 4 * 1.0, 6 * 0.5, 10 * 4.0
        expected[1, [3, 5, 7]] = 4 * 0.5, 6 * 0.25, 10 * 2.0
        assert found == pytest.approx(expected, abs=1e-6)
        assert asked == [(9, "day-ahead", THURSDAY - timedelta(days=60), 62, 24)]

    def test_are_brought_to_the_markets_distribution_and_go_on_beyond_it(self) -> None:
        found = day_ahead._map_values(
            np.array([-30.0, -10.0, 0.0, 5.0, 10.0, 25.0]), np.array([-10.0, 0.0, 10.0]), np.array([-40.0, 2.0, 3.0])
        )
        assert found.tolist() == pytest.approx([-60.0, -40.0, 2.0, 2.5, 3.0, 18.0])

    def test_ramp_from_hour_to_hour_and_over_midnight(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the slope between the hours before and after, at the wall clock's hour, with noise of mean zero."""
        monkeypatch.setattr(day_ahead, "stream", lambda *_: Draws(8.0, 0.0))
        slope, offset = [[0.0] * 4 for _ in range(24)], [[0.0] * 4 for _ in range(24)]
        slope[0] = slope[23] = [-0.4, -0.1, 0.1, 0.4]
        offset[3] = [1.0, 2.0, -1.0, -2.0]
        table = table_of(quarter_slope=slope, quarter_offset_eur_mwh=offset, quarter_noise_eur_mwh=0.5)
        market = day_ahead.DayAhead(1, table)
        hourly = np.arange(100.0, 123.0)
        found = market._into_quarters(SUNDAY_IN_MARCH, 90.0, hourly, 142.0).reshape(-1, 4)
        noise = np.array([3.0, -1.0, -1.0, -1.0])
        assert found[0] == pytest.approx(100 + np.array([-0.4, -0.1, 0.1, 0.4]) * 5.5 + noise)
        assert found[1].tolist() == [101.0] * 4
        assert found[2].tolist() == [103.0, 104.0, 101.0, 100.0], "the third hour of this day is from three to four"
        assert found[-1] == pytest.approx(122 + np.array([-0.4, -0.1, 0.1, 0.4]) * 10.5)

    def test_of_a_day_know_the_last_hour_before_it_and_the_first_after_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Until September 2025 a day had hourly prices, and the next may have others."""
        given: list[Any] = []
        market, first = day_ahead.DayAhead(1, table_of()), date(2025, 9, 29)

        def hourly(begin: date, days: int) -> list[np.ndarray]:
            return [100.0 * ((begin - first).days + n) + np.arange(24) + 0.004 for n in range(days)]

        def into_quarters(*of_day: Any) -> np.ndarray:
            given.append((of_day[0], round(of_day[1]), round(of_day[2][0]), round(of_day[2][-1]), round(of_day[3])))
            return np.zeros(96)

        monkeypatch.setattr(market, "hourly", hourly)
        monkeypatch.setattr(market, "_into_quarters", into_quarters)
        days = market.many_days(first, 4)
        assert days[1].tolist() == np.repeat(100.0 + np.arange(24), 4).tolist()
        assert given == [(date(2025, 10, 1), 123, 200, 223, 300), (date(2025, 10, 2), 223, 300, 323, 400)]

    def test_stay_within_what_the_exchange_allows_before_they_ramp(self) -> None:
        dear = table_of(mean_eur_mwh=[[[9_000.0] * 12 + [-900.0] * 12] * 3] * 12)
        assert sorted(set(day_ahead.DayAhead(1, dear).hourly(THURSDAY, 1)[0])) == [-500.0, 4000.0]


class TestAnExpectation:
    def test_mixes_the_latest_day_the_week_and_the_weekday_by_the_wall_clock(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of days that cost as much as their number in the month; the missing hour of one is as its mean."""
        market = MarketData(lambda _: 1)
        monkeypatch.setattr(market, "day_ahead", lambda day: np.full(4 * len(hours_of(day)), float(day.day)))
        expected = market.expected(date(2026, 10, 26), date(2026, 10, 25), Weights(2.0, 10.0, 100.0))
        assert expected.tolist() == [2 * 25 + 10 * 22 + 100 * 19] * 96
        expected = market.expected(SUNDAY_IN_OCTOBER, date(2026, 10, 23), Weights(2.0, 10.0, 100.0))
        assert expected.tolist() == [2 * 23 + 10 * 20 + 100 * 18] * 100
        assert sum(EVEN_HANDED) == pytest.approx(1.0)

    def test_counts_a_doubled_hour_once_and_fills_one_that_is_skipped(self) -> None:
        spring = market_data._by_wall_clock(SUNDAY_IN_MARCH, np.arange(92.0))
        assert spring[1].tolist() == [4, 5, 6, 7]
        assert spring[2].tolist() == [45.5] * 4
        assert spring[3].tolist() == [8, 9, 10, 11]
        autumn = market_data._by_wall_clock(SUNDAY_IN_OCTOBER, np.arange(100.0))
        assert autumn[2].tolist() == [12, 13, 14, 15]
        assert autumn[3].tolist() == [16, 17, 18, 19]


class TestWhatIsPublished:
    def test_of_afrr_capacity_is_the_average_and_the_marginal_price_of_each_block(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sizes = {Direction.POS: 100.0, Direction.NEG: 200.0}
        monkeypatch.setattr(
            publishing,
            "afrr_capacity_prices",
            lambda seed, day, direction: (sizes[direction] + np.arange(6.0), 10 * sizes[direction] + np.arange(6.0)),
        )
        rows = publishing.afrr_rows(1, SUNDAY_IN_OCTOBER)
        assert {(row["series"], row["price"]) for row in rows} == {
            (f"AFRR_CAPACITY_{direction}_DE_{kind}", size + number)
            for direction, kind, size in (
                ("POS", "AVERAGE", 100),
                ("POS", "MARGINAL", 1000),
                ("NEG", "AVERAGE", 200),
                ("NEG", "MARGINAL", 2000),
            )
            for number in range(6)
        }
        assert len(rows) == 24
        times = {row["price"] % 100: (row["start"], row["end"]) for row in rows}
        assert times[0] == ("2026-10-24T22:00:00Z", "2026-10-25T03:00:00Z")
        assert times[5] == ("2026-10-25T19:00:00Z", "2026-10-25T23:00:00Z")

    def test_of_quarter_hours_is_the_index_and_what_afrr_energy_was_paid(self) -> None:
        paid = {Direction.POS: 1000.0, Direction.NEG: 2000.0}
        board: Any = SimpleNamespace(
            intraday=lambda day: np.arange(92.0),
            activation_prices=lambda day, direction: paid[direction] + np.arange(92.0),
        )
        rows = publishing.continuous_rows(board, SUNDAY_IN_MARCH, slice(8, 10))
        starts = ["2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z", "2026-03-29T01:30:00Z"]
        assert rows == [
            {"series": series, "start": starts[n], "end": starts[n + 1], "price": price + 8 + n}
            for series, price in (
                ("INTRADAY_DE_LU", 0.0),
                ("AFRR_ENERGY_POS_DE_MARGINAL", 1000.0),
                ("AFRR_ENERGY_NEG_DE_MARGINAL", 2000.0),
            )
            for n in range(2)
        ]
