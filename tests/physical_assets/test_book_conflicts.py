"""What the book has as missing, whatever of it lies before the window."""

from __future__ import annotations

from uuid import uuid4

import pytest

from gridloom.capacity.availability import Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.physical_assets.commitments.conflicts import conflicts_in

pytestmark = pytest.mark.pure


class TestAnFCRBlock:
    def held(self, first: int, end: int) -> BatteryCapacity:
        battery = RatingsAndOutages([Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)], [])
        return BatteryCapacity(
            battery,
            [Holding(HoldingKind.FCR, uuid4(), first, end, 9_000, 9_000, 1_000)],
            OwnSchedule.nothing(),
        )

    def test_that_is_over_is_no_conflict(self):
        assert conflicts_in(self.held(first=84, end=100), 100, 200) == []

    def test_that_is_yet_to_come_is_no_conflict(self):
        assert conflicts_in(self.held(first=200, end=216), 100, 200) == []
        assert conflicts_in(self.held(first=201, end=217), 100, 200) == []

    def test_beyond_the_limit_is_one_while_it_is_held(self):
        assert len(conflicts_in(self.held(first=84, end=101), 100, 200)) == 1
