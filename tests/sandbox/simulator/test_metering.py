"""What is available of a simulated battery, and what is asked of it, minute by minute."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.recorded import Session, refusal
from tests.stand_ins import replace_for

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_time import PERIOD
from gridloom.sandbox.simulator.batteries import minute_reports
from gridloom.sandbox.simulator.batteries.metering import (
    _find_available,
    read_orders,
)
from gridloom.sandbox.simulator.batteries.minute_reports import MinuteReports
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
        available = _find_available(memory, START, 8)
        assert available[1].tolist() == pytest.approx([0.5, 0.5, 0.2, 0.7, 0.0, 0.0, 0.7, 0.7])
        assert (available[0] == 1).all()


class TestOrders:
    async def test_add_up_the_parts_of_each_kind_by_battery_and_quarter_hour(self) -> None:
        """Calls of reserve are held whichever way they go; a battery whose dispatch is refused does nothing."""
        first, second, refused = (battery.slug for battery in BATTERIES[:3])

        def parts(*of: tuple[str, float]) -> list[dict[str, Any]]:
            return [{"kind": kind, "power": power_kw} for kind, power_kw in of]

        def answer(target: str, _: Any) -> Any:
            slug = target.split("/")[2].removeprefix("id-")
            if slug == refused:
                raise refusal()
            points = [
                (0, 100.0, 50.0, parts(("FCR", 20.0), ("FCR", 30.0), ("WHOLESALE", 7.0))),
                (2, -80.0, 60.0, parts(("AFRR_POS", 5.0), ("AFRR_POS", 1.0), ("AFRR_NEG", -9.0), ("AFRR_NEG", 2.0))),
            ]
            known = {first: points[:1], second: points[1:]}.get(slug, [])
            dispatch = [
                {
                    "time": (START + number * PERIOD).isoformat(),
                    "power": power_kw,
                    "stateOfChargePercentage": percentage,
                    "parts": of_point,
                }
                for number, power_kw, percentage, of_point in known
            ]
            return {"dispatch": dispatch}

        operator = Session(answer)
        batteries = {battery.slug: f"id-{battery.slug}" for battery in BATTERIES}
        scene: Any = SimpleNamespace(memory=SimpleNamespace(batteries=batteries), operator=operator)
        orders = await read_orders(scene, START, START + 3 * PERIOD)
        nothing = np.zeros((len(BATTERIES), 3))
        power, fcr, up, down = (nothing.copy() for _ in range(4))
        power[0, 0], power[1, 2], fcr[0, 0], up[1, 2], down[1, 2] = 100.0, -80.0, 50.0, 6.0, 11.0
        assert orders.start == START
        assert orders.periods == 3
        assert (orders.power_kw == power).all()
        assert (orders.fcr_kw == fcr).all()
        assert (orders.afrr_kw[Direction.POS] == up).all()
        assert (orders.afrr_kw[Direction.NEG] == down).all()
        assert orders.planned_kwh[0] == 0.5 * BATTERIES[0].energy_kwh
        assert np.isnan(orders.planned_kwh[1:]).all()
        window = "start=2026-03-02T12:00:00Z&end=2026-03-02T12:45:00Z"
        assert operator.got == [f"/physical-assets/id-{one.slug}/dispatch?{window}" for one in BATTERIES]


class TestAReport:
    async def test_comes_no_more_once_the_next_step_has_begun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def sleep(_: float) -> None:
            await asyncio.Event().wait()

        replace_for(monkeypatch, minute_reports, "asyncio", sleep=sleep)
        scene: Any = SimpleNamespace(step=START)
        reports = MinuteReports(scene, START, 1.0)
        reports.stop()  # it was not following
        reports.start()
        task = reports._task
        assert task is not None
        await asyncio.sleep(0)
        reports.stop()
        await asyncio.wait([task], timeout=20)
        assert task.cancelled()
