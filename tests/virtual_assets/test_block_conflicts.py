"""Where a block's schedule asks for more than is available of the block."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from gridloom.kernel.ids import BlockID
from gridloom.kernel.market_time import period_start
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.gate_closure.conflicts import _find_beyond, _largest_contributor
from gridloom.virtual_assets.model import Block, Market

pytestmark = pytest.mark.pure

ASSET: Any = SimpleNamespace(id=UUID(int=7))


def block(first: int, end: int, lane: int = 0) -> Block:
    return Block(BlockID(UUID(int=lane + 1)), lane, first, end, Market.WHOLESALE, 400.0, 800.0)


class TestABlock:
    """Of 400 kW of charging, of which a half is there, and 800 kW of discharging, of which a quarter is."""

    @pytest.mark.parametrize(
        ("first", "end", "conflicts"),
        [
            pytest.param(90, 120, [(101, 103, -300, 200), (104, 105, 201, 200), (107, 108, -400, 200)], id="of all"),
            pytest.param(102, 120, [(102, 103, -250, 200), (104, 105, 201, 200), (107, 108, -400, 200)], id="of later"),
            pytest.param(90, 105, [(101, 103, -300, 200), (104, 105, 201, 200)], id="of earlier"),
            pytest.param(105, 107, [], id="of those within its limits"),
        ],
    )
    def test_is_in_conflict_in_its_own_periods_with_the_worst_of_each_run(
        self, first: int, end: int, conflicts: list[tuple[int, int, float, float]]
    ) -> None:
        power_kw = np.array([0.0, -300.0, -250.0, 0.0, 201.0, 200.0, -200.0, -400.0])
        half = AvailableFraction(100, np.full(8, 0.5), np.full(8, 0.25), np.ones(8))
        found = _find_beyond(ASSET, block(first, end), power_kw, half)
        assert [(one.start, one.end, one.power, one.available) for one in found] == [
            (period_start(since), period_start(until), asked, there) for since, until, asked, there in conflicts
        ]

    def test_is_named_where_it_asks_for_most_in_the_direction_that_is_cut(self) -> None:
        one, other = block(0, 10), block(0, 10, lane=1)
        lanes_kw = {one: np.array([0.0, 300.0]), other: np.array([0.0, -500.0])}
        assert _largest_contributor(lanes_kw, 1, 50.0) is one
        assert _largest_contributor(lanes_kw, 1, -50.0) is other
