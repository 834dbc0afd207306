"""Until when an unavailability counts as announced."""

from datetime import date, datetime

import pytest

from gridloom.virtual_assets.gate_closure.revalidation import announced_before

pytestmark = pytest.mark.pure


class TestTheLatestAnnouncement:
    @pytest.mark.parametrize(
        ("day", "moment"),
        [
            (date(2026, 1, 15), "2026-01-14T11:00:00+00:00"),
            (date(2026, 6, 15), "2026-06-14T10:00:00+00:00"),
            # The day before a clock change still has the old offset.
            (date(2026, 3, 29), "2026-03-28T11:00:00+00:00"),
            (date(2026, 3, 30), "2026-03-29T10:00:00+00:00"),
        ],
    )
    def test_is_at_noon_of_the_day_before_in_market_time(self, day: date, moment: str) -> None:
        assert announced_before(day) == datetime.fromisoformat(moment)
