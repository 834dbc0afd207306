"""When and which segments are folded, and which days a span lies on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.monitoring.compaction_rules import BUSY_SEGMENTS, Compact, Merge, plan

pytestmark = pytest.mark.pure


class TestThePlan:
    def test_for_nothing_is_nothing(self) -> None:
        assert plan([], [], is_closed=True) is None

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
