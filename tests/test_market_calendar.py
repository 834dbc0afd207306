"""The calendar on arrays says what the kernel says of each day and instant."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.market_time import block_window, market_day_of, market_day_window, period_count
from gridloom.market_calendar import (
    block_period_counts,
    calendar_edges_s,
    day_number,
    day_start,
    day_starts,
    instant_of,
    market_date,
    market_day_number,
    market_day_numbers,
    period_counts,
)

pytestmark = pytest.mark.pure

INSTANTS = st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
UNITS = st.sampled_from([1, 1000, 1_000_000])


class TestTheCalendar:
    @given(INSTANTS, UNITS)
    def test_finds_the_day_of_an_instant_in_any_unit(self, instant: datetime, per_second: int) -> None:
        time = int(instant.replace(microsecond=0).timestamp()) * per_second
        number = int(market_day_numbers(np.array([time]), per_second)[0])
        day = market_day_of(instant)
        assert (market_date(number), number) == (day, market_day_number(day))
        assert day_number(time, per_second) == number
        assert day_start(number, per_second) == market_day_window(day).start.timestamp() * per_second
        assert day_starts(np.array([number]), per_second).tolist() == [day_start(number, per_second)]

    def test_changes_from_one_day_to_the_next_at_local_midnight(self) -> None:
        for text, day in (
            ("2026-03-28T22:59:59", date(2026, 3, 28)),
            ("2026-03-28T23:00:00", date(2026, 3, 29)),
            ("2026-03-29T21:59:59", date(2026, 3, 29)),
            ("2026-03-29T22:00:00", date(2026, 3, 30)),
            ("2026-10-25T22:59:59", date(2026, 10, 25)),
            ("2026-10-25T23:00:00", date(2026, 10, 26)),
        ):
            seconds = int(datetime.fromisoformat(f"{text}Z").timestamp())
            assert market_date(day_number(seconds)) == day
            assert market_date(market_day_numbers(np.array([seconds * 1000]), 1000)[0]) == day
            assert instant_of(seconds) == datetime.fromisoformat(f"{text}Z")

    @given(INSTANTS.map(market_day_of))
    def test_counts_the_periods_of_a_day_and_its_blocks(self, day: date) -> None:
        numbers = np.array([market_day_number(day)])
        assert period_counts(numbers).tolist() == [period_count(day)]
        blocks = [block_window(day, hour, hour + 4).duration // timedelta(minutes=15) for hour in range(0, 24, 4)]
        assert block_period_counts(numbers).tolist() == [blocks]

    @pytest.mark.parametrize(("day", "periods"), [(date(2026, 3, 29), 92), (date(2026, 10, 25), 100)])
    def test_knows_the_days_on_which_the_clock_changes(self, day: date, periods: int) -> None:
        numbers = np.arange(market_day_number(day) - 1, market_day_number(day) + 2)
        assert period_counts(numbers).tolist() == [96, periods, 96]
        assert block_period_counts(numbers)[1].tolist() == [periods - 80, 16, 16, 16, 16, 16]

    def test_reaches_over_a_hundred_years(self) -> None:
        first, end = (datetime.fromtimestamp(edge, UTC) for edge in calendar_edges_s())
        assert (first, end) == (market_day_window(date(2000, 1, 1)).start, market_day_window(date(2099, 12, 31)).end)
