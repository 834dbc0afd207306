"""Market days and blocks have their true length on every day of the year."""

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.market_time import (
    MARKET_ZONE,
    PERIOD,
    block_window,
    floor_to_period,
    is_block_start,
    is_period_start,
    market_day_of,
    market_day_window,
    market_days_in,
    period_count,
    period_number,
    period_number_from,
    period_start,
)
from gridloom.kernel.window import Window

pytestmark = pytest.mark.pure

SPRING = [date(2024, 3, 31), date(2025, 3, 30), date(2026, 3, 29), date(2027, 3, 28)]
AUTUMN = [date(2024, 10, 27), date(2025, 10, 26), date(2026, 10, 25), date(2027, 10, 31)]
HOUR = timedelta(hours=1)

days = st.dates(date(1997, 1, 1), date(2099, 12, 30))
instants = st.datetimes(datetime(1997, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


class TestMarketDay:
    @pytest.mark.parametrize("day", AUTUMN)
    def test_has_100_periods_in_autumn(self, day: date):
        assert period_count(day) == 100
        assert market_day_window(day).duration == 25 * HOUR

    @given(days)
    def test_ends_where_the_next_one_starts(self, day: date):
        assert market_day_window(day).end == market_day_window(day + timedelta(days=1)).start

    @given(instants)
    def test_holds_every_instant_that_is_said_to_be_of_it(self, instant: datetime):
        assert instant in market_day_window(market_day_of(instant))

    def test_of_a_time_without_an_offset_is_not_guessed(self):
        with pytest.raises(ValueError, match="offset"):
            market_day_of(datetime(2026, 1, 1))  # noqa: DTZ001


class TestBlock:
    @pytest.mark.parametrize("day", AUTUMN)
    def test_from_0_to_4_lasts_five_hours_in_autumn(self, day: date):
        assert block_window(day, 0, 4).duration == 5 * HOUR
        assert block_window(day, 20, 24).duration == 4 * HOUR

    @given(days)
    def test_follows_the_one_before_without_gap_and_fills_the_day(self, day: date):
        blocks = [block_window(day, hour, hour + 4) for hour in range(0, 24, 4)]
        assert all(one.end == next_one.start for one, next_one in itertools.pairwise(blocks))
        assert Window(blocks[0].start, blocks[-1].end) == market_day_window(day)

    @pytest.mark.parametrize(("first", "last"), [(4, 4), (8, 4), (-1, 3), (20, 25)])
    def test_lies_within_its_day(self, first: int, last: int):
        with pytest.raises(ValueError, match="within the hours 0 to 24"):
            block_window(date(2026, 1, 1), first, last)


class TestPeriod:
    def test_is_counted_from_the_midnight_of_1970_in_utc(self):
        assert period_number(datetime(1970, 1, 1, 0, 14, tzinfo=UTC)) == 0
        assert period_number(datetime(2026, 1, 1, tzinfo=UTC)) == 20_454 * 96

    @given(instants)
    def test_holds_the_instants_floored_to_its_start(self, instant: datetime):
        start = floor_to_period(instant)
        assert is_period_start(start)
        assert start <= instant < start + PERIOD
        assert is_period_start(instant) == (start == instant)

    def test_does_not_start_a_millisecond_later_and_is_named_in_utc_whatever_the_offset(self):
        start = datetime(2026, 3, 29, 3, 15, tzinfo=MARKET_ZONE)
        late = start + timedelta(milliseconds=1)
        assert [is_period_start(start), is_period_start(late)] == [True, False]
        assert {floor_to_period(start).isoformat(), floor_to_period(late).isoformat()} == {"2026-03-29T01:15:00+00:00"}

    @given(instants)
    def test_starts_on_a_quarter_hour_of_the_market_clock_too(self, instant: datetime):
        local = floor_to_period(instant).astimezone(MARKET_ZONE)
        assert (local.minute % 15, local.second, local.microsecond) == (0, 0, 0)

    @given(instants)
    def test_has_the_number_of_its_start_and_the_next_one_that_of_what_begins_later(self, instant: datetime):
        start = floor_to_period(instant)
        assert period_start(period_number(instant)) == start
        assert period_start(period_number_from(instant)) == (start if instant == start else start + PERIOD)
        assert period_number_from(start) == period_number(start)

    @pytest.mark.parametrize("day", [date(2026, 7, 1), *SPRING, *AUTUMN])
    def test_starts_a_block_every_four_hours_of_the_wall_clock(self, day: date):
        starts = [
            start
            for n in range(period_count(day))
            if is_block_start(start := market_day_window(day).start + n * PERIOD)
        ]
        assert [start.astimezone(MARKET_ZONE).hour for start in starts] == [0, 4, 8, 12, 16, 20]


class TestDaysOfAWindow:
    @given(days, st.integers(1, 40))
    def test_are_those_it_was_made_of(self, first: date, count: int):
        last = first + timedelta(days=count - 1)
        window = Window(market_day_window(first).start, market_day_window(last).end)
        assert list(market_days_in(window)) == [first + timedelta(days=n) for n in range(count)]

    def test_include_days_of_which_it_holds_a_millisecond(self):
        midnight = market_day_window(date(2026, 3, 29)).start
        moment = timedelta(milliseconds=1)
        assert list(market_days_in(Window(midnight - moment, midnight + moment))) == [
            date(2026, 3, 28),
            date(2026, 3, 29),
        ]
