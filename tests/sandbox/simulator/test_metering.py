"""What is available of a simulated battery, and what is asked of it, minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gridloom.sandbox.simulator.batteries.metering import (
    find_available,
)
from gridloom.sandbox.simulator.scenario import BATTERIES
from gridloom.sandbox.simulator.state import SimulatedOutage, SimulatorState

pytestmark = pytest.mark.pure

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def outage(first: int, last: int, missing: float) -> SimulatedOutage:
    start, end = (START + timedelta(minutes=minute) for minute in (first, last))
    return SimulatedOutage(BATTERIES[1].slug, start, end, missing, planned=True)


class TestABatteryWithOutages:
    def test_loses_to_each_of_them_and_never_more_than_all(self) -> None:
        memory = SimulatorState(world=1, seeds={}, outages=[outage(-5, 3, 0.5), outage(2, 9, 0.3), outage(4, 6, 0.9)])
        available = find_available(memory, START, 8)
        assert available[1].tolist() == pytest.approx([0.5, 0.5, 0.2, 0.7, 0.0, 0.0, 0.7, 0.7])
        assert (available[0] == 1).all()
