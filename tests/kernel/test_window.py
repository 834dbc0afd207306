"""Windows are half-open and in UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.window import Window

pytestmark = pytest.mark.pure

instants = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start = draw(instants)
    return Window(start, start + draw(st.timedeltas(timedelta(microseconds=1), timedelta(days=400))))


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class TestWindow:
    def test_holds_its_start_but_not_its_end(self):
        window = Window(NOON, NOON + HOUR)
        assert NOON in window
        assert NOON + HOUR not in window

    def test_keeps_any_offset_as_utc(self):
        berlin = timezone(timedelta(hours=2))
        window = Window(NOON.astimezone(berlin), (NOON + HOUR).astimezone(berlin))
        assert window == Window(NOON, NOON + HOUR)
        assert str(window) == "[2026-05-01T12:00:00+00:00, 2026-05-01T13:00:00+00:00)"

    def test_refuses_to_end_where_it_starts(self):
        with pytest.raises(ValueError, match="starts before it ends"):
            Window(NOON, NOON)

    def test_refuses_times_without_an_offset(self):
        for start, end in ((datetime(2026, 5, 1), NOON), (NOON, datetime(2026, 5, 3))):  # noqa: DTZ001
            with pytest.raises(ValueError, match="offset"):
                Window(start, end)

    @given(windows(), windows())
    def test_overlaps_exactly_when_there_is_an_intersection(self, one: Window, other: Window):
        shared = one.intersection(other)
        assert (shared is not None) == one.overlaps(other) == other.overlaps(one)
        if shared is not None:
            assert one.covers(shared)
            assert other.covers(shared)
            assert shared == other.intersection(one)

    @given(windows(), windows(), instants)
    def test_shares_the_instants_of_its_intersection(self, one: Window, other: Window, instant: datetime):
        shared = one.intersection(other)
        assert (instant in one and instant in other) == (shared is not None and instant in shared)
