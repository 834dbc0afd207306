"""Periods as whole numbers say the same as the clock."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import (
    first_period_of_utc_day,
    format_period,
    market_day_periods,
    market_year_periods,
    period_numbers,
    period_start_ms,
    touched_periods,
    utc_day_of,
    utc_days_of,
    window_periods,
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

    def test_are_those_of_the_instant_whatever_its_offset(self):
        berlin = timezone(timedelta(hours=2))
        numbers, on_grid = period_numbers(
            [datetime(2026, 3, 29, 3, tzinfo=berlin), datetime(2026, 3, 29, 3, 14, 59, 999_000, tzinfo=berlin)]
        )
        assert (numbers.tolist(), on_grid.tolist()) == ([1_971_940, 1_971_940], [True, False])

    @given(st.integers(0, 10**6), st.integers(1, 1000))
    def test_lie_in_the_days_that_are_listed(self, first, count):
        days = utc_days_of(first, first + count)
        assert first_period_of_utc_day(days.start) <= first
        assert first_period_of_utc_day(days.stop) >= first + count
        assert len(days) <= count // 96 + 2


class TestTheSpanOfAWindow:
    """Quarter-hours are numbered from 1970: 2026-03-29T01:00Z begins the 1,971,940th after the first."""

    FIRST = 1_971_940

    @pytest.mark.parametrize(
        ("start_s", "end_s", "starting", "touched"),
        [
            (0, 3600, (0, 4), (0, 4)),
            (1, 3600, (1, 4), (0, 4)),
            (0, 3599, (0, 4), (0, 4)),
            (899, 3601, (1, 5), (0, 5)),
            (900, 1800, (1, 2), (1, 2)),
            (901, 1799, (2, 2), (1, 2)),
        ],
    )
    def test_has_the_periods_that_start_in_it_or_of_which_it_has_a_part(self, start_s, end_s, starting, touched):
        start = datetime(2026, 3, 29, 1, tzinfo=UTC)
        window = Window(start + timedelta(seconds=start_s), start + timedelta(seconds=end_s))
        assert [number - self.FIRST for number in window_periods(window)] == list(starting)
        assert [number - self.FIRST for number in touched_periods(window)] == list(touched)

    def test_is_written_by_the_starts_of_its_periods(self):
        assert period_start_ms(self.FIRST, self.FIRST + 3).tolist() == [
            1_774_746_000_000 + 900_000 * number for number in range(3)
        ]
        assert [format_period(self.FIRST + number) for number in (0, 1, 92)] == [
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:15:00Z",
            "2026-03-30T00:00:00Z",
        ]


class TestDaysOfUTC:
    def test_have_96_periods_whatever_the_clock_does(self):
        assert [utc_day_of(number) for number in (0, 95, 96, 191, 192)] == [0, 0, 1, 1, 2]
        assert [first_period_of_utc_day(day) for day in (0, 1, 20_541)] == [0, 96, 1_971_936]
        spans = ((0, 96), (95, 96), (95, 97), (96, 96), (96, 192), (0, 193))
        assert [list(utc_days_of(*span)) for span in spans] == [[0], [0], [0, 1], [], [1], [0, 1, 2]]


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
