"""Which windows of time can be asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gridloom.kernel.problem import BadRequest
from gridloom.physical_assets.conflicts import MAX_WINDOW
from gridloom.physical_assets.window_query import validated_window
from gridloom.platform.http.windows import WindowTooLong

pytestmark = pytest.mark.pure

START = datetime(2026, 6, 1, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)


class TestAWindow:
    @pytest.mark.parametrize(
        ("length", "pointer"),
        [
            (MOMENT, None),
            (timedelta(0), "/to"),
            (-MOMENT, "/to"),
            (MAX_WINDOW, None),
            (MAX_WINDOW + MOMENT, "/to"),
        ],
    )
    def test_ends_after_its_start_and_is_not_too_long(self, length: timedelta, pointer: str | None) -> None:
        end = START + length
        if pointer is None:
            window = validated_window(START, end, "/to")
            assert (window.start, window.end) == (START, end)
            return
        with pytest.raises(BadRequest if length < MOMENT else WindowTooLong) as refused:
            validated_window(START, end, "/to")
        assert [error.pointer for error in refused.value.errors] == [pointer]
