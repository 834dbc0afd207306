"""Periods as whole numbers say the same as the clock."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.market_calendar import (
    first_period_of_utc_day,
    market_day_periods,
    market_year_periods,
    period_numbers,
    utc_days_of,
)

pytestmark = pytest.mark.pure

MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


class TestPeriods:
    @given(MOMENTS)
    def test_hold_the_instant_they_are_found_by(self, moment):
        assert period_start(period_number(moment)) <= moment < period_start(period_number(moment) + 1)
        assert period_start(period_number_from(moment) - 1) < moment <= period_start(period_number_from(moment))

    @given(st.lists(MOMENTS, min_size=1, max_size=20))
    def test_are_found_for_many_instants_at_once(self, moments):
        numbers, on_grid = period_numbers(moments)
        assert numbers.tolist() == [period_number(moment) for moment in moments]
        assert on_grid.tolist() == [period_start(period_number(moment)) == moment for moment in moments]

    @given(st.integers(0, 10**6), st.integers(1, 1000))
    def test_lie_in_the_days_that_are_listed(self, first, count):
        days = utc_days_of(first, first + count)
        assert first_period_of_utc_day(days.start) <= first
        assert first_period_of_utc_day(days.stop) >= first + count
        assert len(days) <= count // 96 + 2


class TestMarketDays:
    def test_have_92_96_or_100_periods(self):
        for day, count in ((date(2026, 3, 29), 92), (date(2026, 10, 25), 100), (date(2026, 6, 1), 96)):
            first, end = market_day_periods(day)
            assert end - first == count

    def test_follow_each_other_through_a_year(self):
        first, end = market_year_periods(2026)
        day, cursor = date(2026, 1, 1), first
        while day.year == 2026:
            assert market_day_periods(day)[0] == cursor
            cursor = market_day_periods(day)[1]
            day += timedelta(days=1)
        assert cursor == end
        assert end - first == 35_040
