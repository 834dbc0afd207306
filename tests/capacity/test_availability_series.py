"""Availability: ratings in force less all outages, in delivery periods."""

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.capacity.availability import (
    CHARGE,
    AvailabilitySeries,
    CapacityOutage,
    Rating,
    availability_series,
)
from gridloom.kernel.market_time import market_day_window
from gridloom.kernel.window import Window

pytestmark = pytest.mark.pure

T0 = datetime(2026, 6, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RATING = Rating(T0 - timedelta(days=1), 10_000.0, 12_000.0, 20_000.0)
HOUR = Window(T0, T0 + 60 * MINUTE)


def outage(
    first: float, last: float, charge: float = 1000.0, discharge: float = 2000.0, energy: float = 500.0
) -> CapacityOutage:
    return CapacityOutage(T0 + first * MINUTE, T0 + last * MINUTE, charge, discharge, energy)


def column(series: AvailabilitySeries, index: int) -> list[float]:
    values: list[float] = series.available[:, index].tolist()
    return values


class TestAvailability:
    def test_is_the_rating_when_nothing_is_unavailable(self):
        series = availability_series([RATING], [], HOUR)
        assert series.starts == [T0 + 15 * i * MINUTE for i in range(4)]
        assert series.available.tolist() == [[10_000.0, 12_000.0, 20_000.0]] * 4
        assert series.rated.tolist() == [[10_000.0, 12_000.0, 20_000.0, 8_000.0, 1.0, 1.0, 1.0]] * 4

    @pytest.mark.parametrize(
        ("day", "periods"), [("2026-03-29", 92), ("2026-10-25", 100), ("2027-03-28", 92), ("2027-10-31", 100)]
    )
    def test_has_a_row_for_every_period_of_a_clock_change_day(self, day, periods):
        window = market_day_window(datetime.fromisoformat(day).date())
        assert len(availability_series([RATING], [], window)) == periods

    def test_covers_every_period_that_the_window_touches(self):
        ragged = Window(T0 + 20 * MINUTE, T0 + 31 * MINUTE)
        assert availability_series([RATING], [], ragged).starts == [T0 + 15 * MINUTE, T0 + 30 * MINUTE]
        whole = availability_series([RATING], [outage(15, 45)], HOUR)
        assert whole.starts == [T0 + minute * MINUTE for minute in (0, 15, 30, 45)]
        a_moment_more = Window(T0, HOUR.end + timedelta(milliseconds=1))
        assert availability_series([RATING], [], a_moment_more).starts == [*whole.starts, HOUR.end]
        assert whole.within(ragged).starts == [T0 + 15 * MINUTE, T0 + 30 * MINUTE]
        assert whole.within(Window(T0 + 15 * MINUTE, T0 + 30 * MINUTE)).starts == [T0 + 15 * MINUTE]

    def test_falls_into_runs_of_equal_periods(self):
        runs = availability_series([RATING], [outage(15, 45)], HOUR).runs()
        assert [(run.start, run.end, run.charge_power_kw) for run in runs] == [
            (T0, T0 + 15 * MINUTE, 10_000),
            (T0 + 15 * MINUTE, T0 + 45 * MINUTE, 9_000),
            (T0 + 45 * MINUTE, T0 + 60 * MINUTE, 10_000),
        ]

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(-30, 130), st.integers(1, 90), st.integers(0, 60)), max_size=6),
        st.lists(st.tuples(st.integers(-30, 130), st.integers(0, 100)), max_size=3),
    )
    def test_equals_the_worst_minute_of_each_period(self, outages, ratings):
        """The same by brute force: every minute of every period, since all edges here fall on minutes."""
        window = Window(T0, T0 + 120 * MINUTE)
        rated = [Rating(T0 + start * MINUTE, float(power), 0.0, 0.0) for start, power in ratings]
        missing = [outage(start, start + length, charge=float(power)) for start, length, power in outages]

        def at(minute: int) -> float:
            instant = T0 + minute * MINUTE
            in_force = [r for r in sorted(rated, key=lambda r: r.valid_from) if r.valid_from <= instant]
            lost = sum(o.charge_power_kw for o in missing if o.start <= instant < o.end)
            return max(0.0, (in_force[-1].charge_power_kw if in_force else 0.0) - lost)

        expected = [min(at(period * 15 + minute) for minute in range(15)) for period in range(8)]
        assert column(availability_series(rated, missing, window), CHARGE) == expected

    def test_of_a_year_with_500_outages_is_complete(self):
        dice = random.Random(1)
        year = Window(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
        outages = []
        for _ in range(500):
            start = year.start + timedelta(minutes=dice.randrange(365 * 1440))
            outages.append(
                CapacityOutage(start, start + timedelta(minutes=dice.randrange(1, 5000)), dice.uniform(0, 99), 5.0, 1.0)
            )
        ratings = [Rating(year.start + timedelta(days=30 * month), 1e4, 1e4, 2e4) for month in range(12)]
        series = availability_series(ratings, outages, year)
        assert len(series) == 35_040
        assert np.isfinite(series.available).all()
