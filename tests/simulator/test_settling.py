"""What the simulated operator settles of balancing power: capacity in MW for its block, energy by quarter-hour."""

from __future__ import annotations

from datetime import date, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.market_time import block_window, period_count
from gridloom.simulator.participants.operator import settle_day
from gridloom.simulator.state import Award

pytestmark = pytest.mark.pure


class Recorder:
    """The operator's session, which keeps what is posted."""

    def __init__(self) -> None:
        self.posted: dict[str, list[dict[str, Any]]] = {}

    async def post(self, target: str, rows: list[dict[str, Any]], key: str) -> None:
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

    async def test_settles_fcr_apart_and_without_energy(self) -> None:
        day = date(2026, 6, 10)
        posted = await settle(day, Award("north", "NEGPOS_04_08", 2, 9.0))
        assert list(posted) == ["fcr"]
        assert (posted["fcr"][0]["settlementPrice"], posted["fcr"][0]["capacity"]) == (9.0, 2)
