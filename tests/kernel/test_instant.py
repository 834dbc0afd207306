"""How moments are written."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from gridloom.kernel.market_time import format_instant

pytestmark = pytest.mark.pure


class TestWrittenMoment:
    @pytest.mark.parametrize(
        ("moment", "text"),
        [
            (datetime(2026, 3, 29, 1, tzinfo=UTC), "2026-03-29T01:00:00Z"),
            (datetime(2026, 3, 29, 3, tzinfo=timezone(timedelta(hours=2))), "2026-03-29T01:00:00Z"),
            (datetime(2026, 3, 29, 1, 0, 0, 250_000, UTC), "2026-03-29T01:00:00.250Z"),
            (datetime(2026, 3, 29, 1, 0, 0, 1_000, UTC), "2026-03-29T01:00:00.001Z"),
            (datetime(2026, 3, 29, 1, 0, 0, 999, UTC), "2026-03-29T01:00:00Z"),
        ],
    )
    def test_is_utc_with_whole_seconds_or_milliseconds(self, moment: datetime, text: str) -> None:
        assert format_instant(moment) == text
