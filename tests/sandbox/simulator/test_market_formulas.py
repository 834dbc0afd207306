"""How prices, calls of reserve and the frequency are made of what is drawn: each formula on draws of a test's own."""

from __future__ import annotations

from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.balancing import Direction
from gridloom.sandbox.simulator import publishing
from gridloom.sandbox.simulator.market import balancing, day_ahead, intraday, market_data
from gridloom.sandbox.simulator.market.coefficients import Coefficients
from gridloom.sandbox.simulator.market.intraday import IntradayAuction

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


class TestMoves:
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


class TestAnExpectation:
    def test_counts_a_doubled_hour_once_and_fills_one_that_is_skipped(self) -> None:
        spring = market_data._by_wall_clock(SUNDAY_IN_MARCH, np.arange(92.0))
        assert spring[1].tolist() == [4, 5, 6, 7]
        assert spring[2].tolist() == [45.5] * 4
        assert spring[3].tolist() == [8, 9, 10, 11]
        autumn = market_data._by_wall_clock(SUNDAY_IN_OCTOBER, np.arange(100.0))
        assert autumn[2].tolist() == [12, 13, 14, 15]
        assert autumn[3].tolist() == [16, 17, 18, 19]


class TestWhatIsPublished:
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
