"""What is available of a simulated battery, and what is asked of it, minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gridloom.sandbox.simulator.batteries.metering import find_available, read_orders
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.scenario import BATTERIES
from gridloom.sandbox.simulator.state import SimulatedOutage, SimulatorState
from gridloom.sandbox.simulator.step_context import StepContext

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


class Platform:
    """Answers the dispatch of every battery: one quarter-hour, with these parts."""

    def __init__(self, parts: list[dict[str, Any]]) -> None:
        self._parts = parts

    async def get(self, target: str) -> Any:
        return {
            "dispatch": [
                {"time": "2026-03-02T12:00:00Z", "power": 0.0, "stateOfChargePercentage": 50.0, "parts": self._parts}
            ]
        }


class TestABatteryOfSeveralHolders:
    async def test_holds_the_same_reserve_in_whatever_order_its_parts_are_listed(self) -> None:
        parts = [{"kind": kind, "power": power} for kind in ("FCR", "AFRR_POS") for power in (0.1, 0.2, 0.3)]
        memory = SimulatorState(world=1, seeds={}, batteries={one.slug: one.slug for one in BATTERIES})
        held = []
        for listed in (parts, parts[::-1]):
            platform: Any = Platform(listed)
            step = StepContext(memory, MarketData(lambda _: 1), platform, {}, START, is_late=False, is_past=False)
            orders = await read_orders(step, START, START + timedelta(minutes=15))
            held.append([float(kw[0, 0]) for kw in (orders.fcr_kw, *orders.afrr_kw.values())])
        assert held[0] == held[1] == [0.6, 0.6, 0.0]
