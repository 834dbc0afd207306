"""Bodies out: moments in whole seconds or milliseconds, everything else untouched."""

from datetime import UTC, datetime
from decimal import Decimal

from gridloom.edge import to_json


class TestJSON:
    def test_shows_moments_in_whole_seconds_or_milliseconds(self):
        whole, fine = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
        assert to_json([whole, fine]) == b'["2026-01-01T00:00:00Z","2026-01-01T00:00:00.123Z"]'

    def test_leaves_text_that_only_looks_a_little_like_a_moment(self):
        text = ["version 1.123456Z", ".123456Z", "12:00:00.123456Z"]
        assert to_json(text) == b'["version 1.123456Z",".123456Z","12:00:00.123456Z"]'

    def test_shows_euros_as_numbers(self):
        assert to_json({"price": Decimal("12.50")}) == b'{"price":12.50}'
