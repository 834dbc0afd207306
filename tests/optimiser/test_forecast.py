"""Forecasts: made of the past alone, right across clock changes, and worth something on real prices."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimiser.real_prices import needs_real_prices, real_table
from tests.optimiser.synthetic_prices import shaped_table

from gridloom.optimiser.day_table import from_96_quarters, quarters_of, table_of, to_96_quarters
from gridloom.optimiser.forecasts.formulas import WeeklyForecaster, forecast_day, forecast_days

pytestmark = pytest.mark.pure

FIRST = date(2024, 1, 1)


class TestADayTable:
    def test_has_the_hour_that_is_lived_twice_once_as_their_mean_and_gives_it_back_twice(self) -> None:
        quarters = np.arange(100, dtype=float)
        kept = to_96_quarters(quarters)
        assert kept[:8].tolist() == list(range(8))
        assert kept[8:12].tolist() == [10, 11, 12, 13], "the mean of 8 to 11 and 12 to 15"
        assert kept[12:].tolist() == list(range(16, 100))
        again = from_96_quarters(kept, date(2025, 10, 26))
        assert again.tolist() == [*range(8), *[10, 11, 12, 13] * 2, *range(16, 100)]


class TestAForecast:
    @settings(max_examples=30)
    @given(st.integers(1, 799), st.floats(-1e6, 1e6))
    def test_does_not_change_with_anything_from_its_day_on(self, place: int, garbage: float) -> None:
        table = shaped_table(FIRST, 800)
        day = FIRST + timedelta(days=place)
        spoilt = replace(table, quarters=table.quarters.copy())
        spoilt.quarters[place:] = garbage
        clean, dirty = forecast_day(table, day), forecast_day(spoilt, day)
        for name in ("p10", "p50", "p90"):
            assert np.array_equal(getattr(clean, name), getattr(dirty, name))

    @pytest.mark.parametrize(
        ("days", "ahead", "p10", "p50", "p90"),
        [
            (1, 0, [49.3055, 76.9743, 2.4313, 88.3631], [71.6731, 108.5365, 2.9151, 128.5578],
             [93.0796, 140.1633, 3.5938, 168.5666]),
            (20, 2, [58.1668, 102.6578, -5.5155, 123.6326], [79.6615, 119.3742, 11.6453, 143.0612],
             [94.2591, 134.7955, 25.3644, 160.1519]),
            (100, 0, [58.1704, 100.9972, -5.6345, 123.0657], [66.0801, 107.8158, 2.6077, 130.194],
             [72.4526, 114.6082, 8.8562, 138.2622]),
            (500, 3, [28.1319, 70.8045, -38.401, 96.2655], [46.3645, 89.3516, -19.0545, 113.2836],
             [60.8172, 103.8378, -6.2918, 128.1399]),
        ],
        ids=["a day", "no regression", "one", "two"],
    )  # fmt: skip
    def test_of_a_known_past_is_known(
        self, days: int, ahead: int, p10: list[float], p50: list[float], p90: list[float]
    ) -> None:
        """At midnight, on the peaks and in the valley at noon: what it says only changes where that is meant."""
        table = shaped_table(FIRST, days)
        forecast = forecast_day(table, table.end + timedelta(days=ahead))
        assert forecast.known_until == table.end
        for found, expected in ((forecast.p10, p10), (forecast.p50, p50), (forecast.p90, p90)):
            assert found[[0, 33, 54, 79]].tolist() == pytest.approx(expected, abs=1e-3)

    @pytest.mark.parametrize(("day", "count"), [("2025-03-30", 92), ("2025-10-26", 100)])
    def test_has_the_quarter_hours_of_its_day(self, day: str, count: int) -> None:
        assert len(forecast_day(shaped_table(FIRST, 720), date.fromisoformat(day)).p90) == count

    def test_reaches_days_ahead_with_a_wider_spread(self) -> None:
        table = shaped_table(FIRST, 400)
        near, far = (forecast_day(table, table.end + timedelta(days=ahead)) for ahead in (0, 7))
        assert (far.p90 - far.p10).mean() > 1.5 * (near.p90 - near.p10).mean()
        assert forecast_day(table, table.end + timedelta(days=13)).day == table.end + timedelta(days=13)
        with pytest.raises(ValueError, match=f"from {table.end} on, 14 days before"):
            forecast_day(table, table.end + timedelta(days=14))

    def test_of_days_ahead_is_the_last_of_the_days_that_are_forecast_together(self) -> None:
        days = [FIRST + timedelta(days=number) for number in range(200)]
        table = table_of(FIRST, [np.full(quarters_of(day), 60.0 + 20 * day.weekday()) for day in days])
        together = forecast_days(table, 4)
        forecast = forecast_day(table, table.end + timedelta(days=3))
        assert np.abs(together[0] - together[3]).min() > 1, "else it would not matter which"
        assert forecast.p50 == pytest.approx(from_96_quarters(together[3], forecast.day), abs=1e-6)

    def test_is_spread_further_to_the_side_on_which_days_were_off(self) -> None:
        """One day of five is dearer by 100 EUR/MWh, and nothing tells which."""
        rng = np.random.default_rng(1)
        days = [FIRST + timedelta(days=number) for number in range(200)]
        table = table_of(FIRST, [np.full(quarters_of(day), 60.0 + 100 * (rng.random() < 0.2)) for day in days])
        forecast = forecast_day(table, table.end)
        assert (forecast.p90 - forecast.p50).mean() > 1.5 * (forecast.p50 - forecast.p10).mean()

    @pytest.mark.parametrize("first", [23, 400])
    @pytest.mark.parametrize("known", [0, 3, 6, 7])
    def test_of_a_week_knows_of_each_day_only_what_was_before_it(self, first: int, known: int) -> None:
        table = shaped_table(FIRST, 420)
        spoilt = replace(table, quarters=table.quarters.copy())
        spoilt.quarters[first + known :] = 1e5
        clean, dirty = WeeklyForecaster(table), WeeklyForecaster(spoilt)
        for place in range(first, first + known + 1):
            assert np.array_equal(clean.forecast(place), dirty.forecast(place))
        assert not np.array_equal(clean.forecast(place + 7), dirty.forecast(place + 7))

    @needs_real_prices
    def test_of_real_days_covers_four_of_five_prices(self) -> None:
        table, below, above = real_table(), [], []
        for place in range(len(table) - 120, len(table), 3):
            forecast = forecast_day(table, table.first + timedelta(days=place))
            below.append((table.true_day(place) < forecast.p10).mean())
            above.append((table.true_day(place) > forecast.p90).mean())
        assert np.mean(below) < 0.14
        assert np.mean(above) < 0.14
        assert 0.7 < 1 - np.mean(below) - np.mean(above) < 0.92
