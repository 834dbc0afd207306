"""Bodies out: moments in whole seconds or milliseconds, everything else untouched."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from gridloom.edge import RequestBody, to_json
from gridloom.edge.wire import Decoder
from gridloom.kernel.problem import BadRequest


class Sample(RequestBody):
    name: str


class TestJSON:
    def test_shows_moments_in_whole_seconds_or_milliseconds(self):
        whole, fine = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
        assert to_json([whole, fine]) == b'["2026-01-01T00:00:00Z","2026-01-01T00:00:00.123Z"]'

    def test_leaves_text_that_only_looks_a_little_like_a_moment(self):
        text = ["version 1.123456Z", ".123456Z", "12:00:00.123456Z"]
        assert to_json(text) == b'["version 1.123456Z",".123456Z","12:00:00.123456Z"]'

    def test_shows_euros_as_numbers(self):
        assert to_json({"price": Decimal("12.50")}) == b'{"price":12.50}'


class TestARefusal:
    def test_does_not_repeat_a_name_as_long_as_the_body(self):
        with pytest.raises(BadRequest) as refusal:
            Decoder(Sample)(b'{"' + b"a" * 1_000_000 + b'":1}')
        assert len(refusal.value.detail) < 5_000
