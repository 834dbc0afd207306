"""The pauses after a failure and between two looks at the queue."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.platform.jobs.rules import MAX_PAUSE_S, pause_after

pytestmark = pytest.mark.pure


class TestThePauseAfterAFailure:
    def test_begins_with_a_second_and_doubles(self) -> None:
        assert [pause_after(n, 0).total_seconds() for n in (1, 2, 3, 4)] == [1, 2, 4, 8]

    @given(st.integers(1, 10_000), st.floats(-1, 1))
    def test_is_never_longer_than_six_minutes(self, failures: int, spread: float) -> None:
        assert timedelta(seconds=0.8) <= pause_after(failures, spread) <= timedelta(seconds=MAX_PAUSE_S * 1.2)
