"""Spans of time as people type them, in market time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.windows import choose_day, iso_duration, market_day, past_window, read_day, today

pytestmark = pytest.mark.pure

LATE_EVENING = datetime(2026, 10, 24, 22, 30, tzinfo=UTC)
"""In Berlin half past midnight of the 25th, the day of 25 hours."""


class TestADay:
    def test_is_that_of_the_market_and_not_of_utc(self) -> None:
        assert today(LATE_EVENING) == date(2026, 10, 25)
        assert [read_day(word, LATE_EVENING).day for word in ("yesterday", "Today", "tomorrow")] == [24, 25, 26]
        assert choose_day(None, LATE_EVENING, days_ahead=1) == date(2026, 10, 26)

    def test_is_read_in_two_spellings(self) -> None:
        assert {read_day(text, LATE_EVENING) for text in ("2026-11-02", "02.11.2026")} == {date(2026, 11, 2)}
        with pytest.raises(Misunderstood, match="is no day"):
            read_day("next week", LATE_EVENING)

    def test_has_25_hours_in_autumn_and_23_in_spring(self) -> None:
        hours = [
            (end - start) / timedelta(hours=1)
            for start, end in map(market_day, (date(2026, 10, 25), date(2026, 3, 29)))
        ]
        assert hours == [25, 23]

    def test_is_the_nearest_one_of_a_life(self) -> None:
        life = (datetime(2026, 10, 20, 22, tzinfo=UTC), datetime(2026, 10, 22, 22, tzinfo=UTC))
        assert choose_day(None, LATE_EVENING, life) == date(2026, 10, 22)
        assert choose_day(None, LATE_EVENING - timedelta(days=9), life) == date(2026, 10, 21)
        assert choose_day("2026-12-24", LATE_EVENING, life) == date(2026, 12, 24)


class TestAPastWindow:
    def test_is_so_many_market_days_up_to_and_with_today(self) -> None:
        start, end = past_window(None, None, LATE_EVENING, days=2)
        assert (start, end) == (datetime(2026, 10, 23, 22, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC))

    def test_does_not_end_before_it_starts(self) -> None:
        with pytest.raises(Misunderstood, match="after the end"):
            past_window(LATE_EVENING, LATE_EVENING, LATE_EVENING, days=1)


class TestASpanOfTime:
    def test_is_typed_in_parts_or_as_the_service_takes_it(self):
        typed = {
            "1h": "P0DT1H0M0S",
            "1d 12h": "P1DT12H0M0S",
            "90min": "P0DT0H90M0S",
            "5s": "P0DT0H0M5S",
            "pt1h": "PT1H",
        }
        assert {text: iso_duration(text) for text in typed} == typed

    def test_is_something(self):
        for text in ("", "h", "1", "1h1d"):
            with pytest.raises(Misunderstood, match="no span of time"):
                iso_duration(text)
