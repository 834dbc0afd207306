"""When and which segments are folded, and which days a span lies on."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.monitoring.compaction.jobs import Retention
from gridloom.monitoring.compaction_rules import BUSY_POINTS, BUSY_SEGMENTS, Compact, Merge, plan
from gridloom.monitoring.lifespan import lifespan
from gridloom.monitoring.model import (
    UNKNOWN_SIGNAL,
    Reason,
    Refusals,
    days_between,
    is_power,
    microseconds,
    signal_type,
)

pytestmark = pytest.mark.pure


class TestThePlan:
    def test_for_nothing_is_nothing(self) -> None:
        assert plan([], [], is_closed=True) is None

    def test_for_a_closed_day_is_to_fold_all_of_it(self) -> None:
        assert plan([3, 5, 9], [1, 1, 1], is_closed=True) == Compact(9)

    def test_for_a_quiet_open_day_is_to_wait(self) -> None:
        assert plan([1, 2, 3], [20, 20, 20], is_closed=False) is None

    def test_for_a_large_open_day_is_to_fold_it(self) -> None:
        assert plan([1, 2], [BUSY_POINTS, 1], is_closed=False) == Compact(2)

    def test_for_many_small_segments_is_to_join_them_and_leave_a_large_one_alone(self) -> None:
        sequences = list(range(1, 102))
        assert plan(sequences, [50_000] + [20] * 100, is_closed=False) == Merge(2, 101)

    @given(st.lists(st.integers(1, 500), min_size=1, max_size=4))
    def test_lets_each_point_be_rewritten_a_few_times_only(self, sizes: list[int]) -> None:
        """A day of small writes: how often points are rewritten grows with the logarithm of their number."""
        waiting: list[tuple[int, int]] = []
        moved = written = 0
        for sequence in range(1, 2001):
            size = sizes[sequence % len(sizes)]
            written += size
            waiting.append((sequence, size))
            match plan([one for one, _ in waiting], [size for _, size in waiting], is_closed=False):
                case Merge(first, last):
                    joined = sum(size for one, size in waiting if first <= one <= last)
                    moved += joined
                    waiting = [(one, size) for one, size in waiting if one < first] + [(last, joined)]
                case Compact(last):
                    moved += sum(size for _, size in waiting)
                    waiting = []
            assert len(waiting) < BUSY_SEGMENTS
        assert moved < 12 * written


class TestTheDaysOfASpan:
    def test_are_those_of_its_first_and_its_last_microsecond(self) -> None:
        """The second of these days has 23 hours."""
        first, second, third = (date(2026, 3, day) for day in (28, 29, 30))
        midnight, next_midnight = (
            microseconds(datetime(2026, 3, day, hour, tzinfo=UTC)) for day, hour in ((28, 23), (29, 22))
        )
        assert days_between(midnight, next_midnight) == (second, second)
        assert days_between(midnight - 1, next_midnight) == (first, second)
        assert days_between(midnight, next_midnight + 1) == (second, third)
        assert days_between(midnight - 1, midnight) == (first, first)


class TestASignal:
    def test_of_a_module_is_of_the_type_of_the_one_that_it_details(self) -> None:
        assert signal_type("temperature.rack_3.cell_1") == signal_type("temperature") != UNKNOWN_SIGNAL
        assert signal_type("rack_3.temperature") == signal_type("x") == UNKNOWN_SIGNAL

    def test_is_a_power_where_energy_flowed_by_it(self) -> None:
        names = (
            "active_power",
            "active_power.inverter_1",
            "available_charge_power",
            "power_factor",
            "temperature.power",
        )
        assert [is_power(name) for name in names] == [True, True, False, False, False]


class TestRefusals:
    def test_are_counted_by_reason_and_pointed_at_up_to_ten_of_each(self) -> None:
        refusals = Refusals()
        refusals.add(Reason.INVALID_TIME, 7, [f"/{row}/time" for row in range(7)])
        refusals.add(Reason.INVALID_VALUE, 1, ["/2/value"])
        refusals.add(Reason.INVALID_SIGNAL, 0, [])
        refusals.add(Reason.INVALID_TIME, 5, [f"/{row}/time" for row in range(7, 12)])
        assert refusals.counts == {Reason.INVALID_TIME: 12, Reason.INVALID_VALUE: 1}
        assert refusals.total == 13
        assert refusals.pointers == {
            Reason.INVALID_TIME: [f"/{row}/time" for row in range(10)],
            Reason.INVALID_VALUE: ["/2/value"],
        }


class TestRetention:
    async def test_keeps_telemetry_for_as_many_days_as_are_set_and_for_ever_where_none_are(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for days, keep in ((30, timedelta(days=30)), (None, None)):
            monkeypatch.setattr(Retention, "keep", timedelta(1))
            settings: Any = SimpleNamespace(monitoring_retention_days=days, telemetry_database_url=None, pool_size=1)
            async with lifespan(MagicMock(), settings):
                assert Retention.keep == keep
