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
from gridloom.virtual_assets.schedule.points import (
    SchedulePoints,
    read_few_points,
    read_points,
)
from gridloom.virtual_assets.schedule.rules import PowerBeyondAvailable, check_power

pytestmark = pytest.mark.pure

FIRST = 1_994_000
SPAN = (FIRST + 10, FIRST + 40)
POINTS = st.tuples(
    st.integers(0, 50),
    st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.001]),
    st.sampled_from([-0.0, 12.5, -700.0, math.inf, math.nan]) | st.floats(-1000, 1000),
)


def read_alike(drawn: list[tuple[float, float]]) -> SchedulePoints | None:
    """Places after `FIRST` with their powers, read as few points and as many; None where both refuse them."""
    times = [period_start(FIRST) + place * timedelta(minutes=15) for place, _ in drawn]
    powers_kw = [power_kw for _, power_kw in drawn]
    few = read_few_points(times, powers_kw, SPAN)
    try:
        many = read_points(times, np.array(powers_kw), SPAN)
    except BadRequest:
        assert few is None
        return None
    assert few is not None
    assert few.periods.tolist() == many.periods.tolist()
    assert few.power_kw.tolist() == many.power_kw.tolist()
    return few


class TestPoints:
    @pytest.mark.parametrize(
        ("drawn", "pointers"),
        [
            pytest.param([(9, 1.0), (10, 2.0), (40, 3.0)], ["0/time", "2/time"], id="before and at the end"),
            pytest.param([(11, 1.0), (12.5, 2.0), (13, math.nan)], ["1/time"], id="off the grid"),
            pytest.param([(11, 1.0), (12, math.inf), (13, math.nan)], ["1/power", "2/power"], id="without a power"),
            pytest.param([(12, 1.0), (11, 2.0), (12, 3.0), (12, 1.0)], ["2/time", "3/time"], id="named again"),
            pytest.param([(50, 1.0)] * 25, [f"{place}/time" for place in range(20)], id="too many to name"),
        ],
    )
    def test_at_fault_are_named_by_their_place(self, drawn: list[tuple[float, float]], pointers: list[str]) -> None:
        times = [period_start(FIRST) + place * timedelta(minutes=15) for place, _ in drawn]
        with pytest.raises(BadRequest) as refusal:
            read_points(times, np.array([power_kw for _, power_kw in drawn]), SPAN, "asset")
        assert [error.pointer for error in refusal.value.errors] == [f"/schedule/{pointer}" for pointer in pointers]
        assert read_few_points(times, [power_kw for _, power_kw in drawn], SPAN) is None

    def test_may_begin_and_end_where_the_block_does(self) -> None:
        found = read_alike([(10, 1.0), (11, -0.0), (39, -3.0)])
        assert found is not None
        assert (found.first, found.last, found.power_kw.tolist()) == (FIRST + 10, FIRST + 39, [1.0, 0.0, -3.0])
        refused: list[list[tuple[float, float]]]
        refused = [[(9, 1.0)], [(40, 1.0)], [(10.5, 1.0)], [(10, math.inf)], [(10, 1.0), (10, 1.0)], []]
        assert [read_alike(drawn) for drawn in refused] == [None] * len(refused)

    def test_out_of_order_are_put_in_the_order_of_time(self) -> None:
        times = [period_start(FIRST + place) for place in (30, 10, 20)]
        found = read_points(times, np.array([3.0, -0.0, 2.0]), SPAN)
        assert (found.periods - FIRST).tolist() == [10, 20, 30]
        assert (found.power_kw.tolist(), found.indices.tolist()) == ([0.0, 2.0, 3.0], [1, 2, 0])
        assert not np.signbit(found.power_kw[0])
        assert read_few_points(times, [3.0, -0.0, 2.0], SPAN) is None


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


def _find_refusal(points: SchedulePoints, charge_kw: Any, discharge_kw: Any) -> str | None:
    try:
        check_power(points, charge_kw, discharge_kw)
    except PowerBeyondAvailable as refusal:
        return refusal.detail
    return None
