"""Spans of time as people type them, in market time."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.windows import choose_day, past_window, read_day, today

pytestmark = pytest.mark.pure

LATE_EVENING = datetime(2026, 10, 24, 22, 30, tzinfo=UTC)
"""In Berlin half past midnight of the 25th, the day of 25 hours."""


class TestADay:
    def test_is_that_of_the_market_and_not_of_utc(self) -> None:
        assert today(LATE_EVENING) == date(2026, 10, 25)
        assert [read_day(word, LATE_EVENING).day for word in ("yesterday", "Today", "tomorrow")] == [24, 25, 26]
        assert choose_day(None, LATE_EVENING, days_ahead=1) == date(2026, 10, 26)


class TestAPastWindow:
    def test_does_not_end_before_it_starts(self) -> None:
        with pytest.raises(Misunderstood, match="after the end"):
            past_window(LATE_EVENING, LATE_EVENING, LATE_EVENING, days=1)
