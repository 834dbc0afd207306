"""What the simulated operator settles of balancing power: capacity in MW for its block, energy by quarter-hour."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.market_time import block_window, period_count
from gridloom.sandbox.simulator.participants.operator import is_whole_day, settle_day
from gridloom.sandbox.simulator.state import Award, SimulatedHolding

pytestmark = pytest.mark.pure


class Recorder:
    """The operator's session, which keeps what is posted."""

    def __init__(self) -> None:
        self.posted: dict[str, list[dict[str, Any]]] = {}
        self.keys: set[str] = set()

    async def post(self, target: str, rows: list[dict[str, Any]], key: str) -> None:
        self.keys.add(key)
        self.posted[target.rpartition("/")[2]] = rows


async def settle(day: date, *awards: Award) -> dict[str, list[dict[str, Any]]]:
    """Every second quarter-hour a half of the reserve is called, and all costs 70 EUR/MWh."""
    operator = Recorder()
    called, prices = np.resize([0.5, 0.0], period_count(day)), np.full(period_count(day), 70.0)
    board = SimpleNamespace(activation=lambda *_: called, activation_prices=lambda *_: prices)
    memory = SimpleNamespace(awards={day.isoformat(): list(awards)}, batteries={"north": "n", "south": "s"})
    scene: Any = SimpleNamespace(memory=memory, board=board, operator=operator, key=lambda action: action)
    await settle_day(scene, day)
    return operator.posted


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


class TestADayOfAwards:
    @pytest.mark.parametrize(
        ("day", "hours"), [(date(2026, 6, 10), 4), (date(2026, 3, 29), 3), (date(2026, 10, 25), 5)]
    )
    async def test_settles_energy_by_the_quarter_hours_of_its_block_that_were_called(
        self, day: date, hours: int
    ) -> None:
        posted = await settle(day, Award("south", "NEG_00_04", 6, 12.5))
        assert posted["afrr-capacity"] == [
            {"assetID": "s", "deliveryDay": day.isoformat(), "product": "NEG_00_04", "capacity": 6, "price": 12.5}
        ]
        energy = posted["afrr-energy"]
        assert len(energy) == 2 * hours
        assert {(row["assetID"], row["direction"], row["volume"], row["price"]) for row in energy} == {
            ("s", "NEG", 6 * 0.5 / 4, 70.0)
        }
        block = block_window(day, 0, 4)
        assert all(block.start <= datetime.fromisoformat(row["time"]) < block.end for row in energy)
