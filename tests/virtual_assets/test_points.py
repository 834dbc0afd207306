"""The points of a schedule, few or many."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.market_time import period_start
from gridloom.kernel.problem import BadRequest
from gridloom.virtual_assets.schedule.points import SchedulePoints, read_few_points, read_points
from gridloom.virtual_assets.schedule.rules import PowerBeyondAvailable, check_power

pytestmark = pytest.mark.pure

FIRST = 1_994_000
SPAN = (FIRST + 10, FIRST + 40)
POINTS = st.tuples(
    st.integers(0, 50),
    st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.001]),
    st.sampled_from([-0.0, 12.5, -700.0, math.inf, math.nan]) | st.floats(-1000, 1000),
)


class TestFewPoints:
    @given(st.lists(POINTS, max_size=8))
    def test_are_read_as_many_are(self, drawn: list[tuple[int, float, float]]) -> None:
        times = [period_start(FIRST + place) + timedelta(seconds=late_s) for place, late_s, _ in drawn]
        powers_kw = [power_kw for _, _, power_kw in drawn]
        few = read_few_points(times, powers_kw, SPAN)
        try:
            many = read_points(times, np.array(powers_kw, dtype=np.float64), SPAN)
        except BadRequest:
            assert few is None
            return
        if few is None:
            assert many.indices.tolist() != list(range(len(times))), "only what is out of order is left to others"
            return
        for name in ("periods", "power_kw", "indices"):
            mine, theirs = getattr(few, name), getattr(many, name)
            assert mine.tolist() == theirs.tolist()
            assert mine.dtype == theirs.dtype
        assert not np.signbit(few.power_kw[few.power_kw == 0]).any()

    @given(st.lists(st.floats(-1200, 1200), min_size=1, max_size=8), st.floats(0, 1000), st.floats(0, 1000))
    def test_are_held_to_what_is_available_as_many_are(
        self, powers_kw: list[float], charge_kw: float, discharge_kw: float
    ) -> None:
        places = np.arange(len(powers_kw))
        points = SchedulePoints(places + FIRST, np.array(powers_kw), places)
        bounds = np.full(len(places), charge_kw), np.full(len(places), discharge_kw)
        assert _find_refusal(points, charge_kw, discharge_kw) == _find_refusal(points, *bounds)

    @pytest.mark.parametrize("count", [1, 20])
    def test_and_many_may_use_all_that_is_available_of_each_direction(self, count: int) -> None:
        places = np.arange(count)
        for power_kw, is_refused in ((-40.0, False), (60.0, False), (-41.0, True), (61.0, True)):
            points = SchedulePoints(places + FIRST, np.append(np.zeros(count - 1), power_kw), places)
            for bounds in ((40.0, 60.0), (np.full(count, 40.0), np.full(count, 60.0))):
                assert (_find_refusal(points, *bounds) is not None) is is_refused


def _find_refusal(points: SchedulePoints, charge_kw: Any, discharge_kw: Any) -> str | None:
    try:
        check_power(points, charge_kw, discharge_kw)
    except PowerBeyondAvailable as refusal:
        return refusal.detail
    return None
