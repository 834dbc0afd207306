"""The pauses after a failure and between two looks at the queue."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.platform.jobs.rules import MAX_PAUSE_S, pause_after, pause_after_death
from gridloom.platform.jobs.runner import JobRunner

pytestmark = pytest.mark.pure


class TestThePauseAfterAFailure:
    def test_begins_with_a_second_and_doubles(self) -> None:
        assert [pause_after(n, 0).total_seconds() for n in (1, 2, 3, 4)] == [1, 2, 4, 8]

    @given(st.integers(1, 10_000), st.floats(-1, 1))
    def test_is_never_longer_than_six_minutes(self, failures: int, spread: float) -> None:
        assert timedelta(seconds=0.8) <= pause_after(failures, spread) <= timedelta(seconds=MAX_PAUSE_S * 1.2)


class TestThePauseAfterADeath:
    def test_is_none_the_first_time_and_then_grows(self) -> None:
        assert [pause_after_death(n, 0).total_seconds() for n in (1, 2, 3, 4)] == [0, 1, 2, 4]
        assert pause_after_death(3, -0.5) == timedelta(seconds=1.8), "not all at once"


class TestTheNextLook:
    @pytest.mark.parametrize(
        ("is_due", "next_s", "pause_s"),
        [
            (False, None, 30),
            (False, 7, 7),
            (False, 70, 30),
            (True, None, 1),
            (True, 0.5, 0.5),
        ],
    )
    async def test_comes_soon_where_something_is_due_that_another_runs(
        self, monkeypatch: pytest.MonkeyPatch, is_due: bool, next_s: float | None, pause_s: float
    ) -> None:
        async def next_due(*_: Any) -> tuple[bool, float | None]:
            return is_due, next_s

        async def find_nothing(*_: Any) -> bool:
            return False

        monkeypatch.setattr("gridloom.platform.jobs.store.next_due", next_due)
        monkeypatch.setattr(JobRunner, "_start_task", find_nothing)
        runner = JobRunner(None, poll_interval_s=30)  # type: ignore[arg-type]
        assert await runner._poll_once(runner._groups[0]) == pause_s
