"""What is given back for reserve that no battery held, by the award of its block and what was settled since."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from gridloom.delivery.inputs.store import Reserve
from gridloom.delivery.runs.store import UnheldReserve
from gridloom.kernel.market_time import block_window, period_number
from gridloom.revenue.statement import shortfalls
from gridloom.revenue.statement.shortfalls import load_shortfall_amounts
from gridloom.revenue.statement.store import AwardPrice

pytestmark = pytest.mark.pure

DAY = date(2026, 6, 10)
BLOCK = block_window(DAY, 8, 12)
FIRST, END = period_number(BLOCK.start), period_number(BLOCK.end)
ASSET = 1
NOTHING: Any = None


def unheld(period: int, market: str, battery: int, power_kw: float, *, is_announced: bool = False) -> UnheldReserve:
    return UnheldReserve(ASSET, period, market, battery, power_kw, is_announced)


UNHELD = [
    unheld(FIRST, "FCR", 10, 100),
    unheld(FIRST, "FCR", 11, 50, is_announced=True),
    unheld(FIRST, "AFRR_POS", 10, 30),
    unheld(FIRST + 1, "FCR", 10, 200),
]
RESERVES = [
    Reserve(ASSET, "FCR", FIRST, END, 600, 0.5),
    Reserve(ASSET, "FCR", END, END + 16, 5000, 0.5),
    Reserve(ASSET, "AFRR_POS", FIRST, END, 400, 1),
]


class TestReserveThatNoBatteryHeld:
    @pytest.fixture(autouse=True)
    def awards(self, monkeypatch: pytest.MonkeyPatch) -> list[AwardPrice]:
        awards = [AwardPrice(DAY, "POS_08_12", 0.4, 8, BLOCK.start)]

        async def read_awards(db: Any, key: int, first: date, last: date, as_of: datetime | None) -> list[AwardPrice]:
            assert (key, first, last, as_of) == (ASSET, DAY, DAY, BLOCK.end)
            return awards

        async def read_block_reserves(db: Any, keys: list[int], first: int, end: int) -> list[Reserve]:
            assert (keys, first, end) == ([ASSET], FIRST, END)
            return RESERVES

        monkeypatch.setattr(shortfalls, "read_awards", read_awards)
        monkeypatch.setattr(shortfalls, "read_block_reserves", read_block_reserves)
        return awards

    @pytest.mark.parametrize(
        ("settled_mw", "settled_at", "given_back_eur"),
        [
            (0.6, BLOCK.end, [0.75 + 0.06, 1.0]),
            # Of 600 kW, 450 were held in the first quarter-hour and 400 in the second.
            (0.451, BLOCK.end, [0.75 + 0.06, 1.0]),
            (0.45, BLOCK.end, [0.06, 1.0]),
            (0.45, BLOCK.end - timedelta(milliseconds=1), [0.75 + 0.06, 1.0]),
            (0.4, BLOCK.end + timedelta(days=1), [0.06, 0.0]),
        ],
    )
    async def test_is_given_back_but_for_what_a_settlement_after_its_block_has_left_out(
        self, awards: list[AwardPrice], settled_mw: float, settled_at: datetime, given_back_eur: list[float]
    ) -> None:
        awards.append(AwardPrice(DAY, "NEGPOS_08_12", settled_mw, 20, settled_at))
        found = await load_shortfall_amounts(NOTHING, ASSET, UNHELD, FIRST, END, BLOCK.end)
        assert found is not None
        assert found.given_back_eur.tolist() == pytest.approx([*given_back_eur, *[0.0] * 14])

    async def test_is_owed_by_the_owners_that_had_not_announced_it(self, awards: list[AwardPrice]) -> None:
        awards.append(AwardPrice(DAY, "NEGPOS_08_12", 0.6, 20, BLOCK.start))
        found = await load_shortfall_amounts(NOTHING, ASSET, UNHELD, FIRST, END, BLOCK.end)
        assert found is not None
        owed = {battery: eur.tolist() for battery, eur in found.by_battery_eur.items()}
        assert owed == {10: pytest.approx([0.5 + 0.06, 1.0, *[0.0] * 14])}
