"""What the simulated operator settles of balancing power: capacity in MW for its block, energy by quarter-hour."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from gridloom.sandbox.simulator.participants.operator import is_whole_day
from gridloom.sandbox.simulator.state import SimulatedHolding

pytestmark = pytest.mark.pure


class TestAHolding:
    @pytest.mark.parametrize(("hours_in", "is_whole"), [((0, 24), True), ((0.25, 24), False), ((0, 23.75), False)])
    def test_covers_a_day_only_from_its_beginning_to_its_end(
        self, hours_in: tuple[float, float], is_whole: bool
    ) -> None:
        start, end = (datetime(2026, 6, 9, 22, tzinfo=UTC) + timedelta(hours=hours) for hours in hours_in)
        holding = SimulatedHolding("", "hanse", "TenneT", start, end, 1.0, 1.0, 1.0)
        assert is_whole_day(holding, date(2026, 6, 10)) is is_whole
        assert not is_whole_day(holding, date(2026, 6, 9))
        assert not is_whole_day(holding, date(2026, 6, 11))
