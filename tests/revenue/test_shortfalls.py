"""What is given back for reserve that no battery held, by the award of its block and what was settled since."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from gridloom.delivery.inputs.store import Reserve
from gridloom.delivery.runs.store import UnheldReserve
from gridloom.kernel.balancing import ReserveProduct
from gridloom.kernel.market_time import block_window, period_number
from gridloom.revenue.statement import shortfalls
from gridloom.revenue.statement.shortfalls import find_product, load_shortfall_amounts
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

    async def test_of_several_days_has_the_awards_of_all_of_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a block of three hours that begins at midnight, and of the last one of the day before."""
        spring = date(2026, 3, 29)
        late, early = block_window(spring - timedelta(days=1), 20, 24), block_window(spring, 0, 4)
        first, middle, end = (period_number(one) for one in (late.start, early.start, early.end))
        assert (middle - first, end - middle) == (16, 12)

        async def read_awards(db: Any, key: int, begin: date, last: date, as_of: datetime | None) -> list[AwardPrice]:
            assert (begin, last) == (spring - timedelta(days=1), spring)
            return [
                AwardPrice(begin, "NEGPOS_20_24", 0.6, 20, late.start),
                AwardPrice(last, "NEGPOS_00_04", 0.45, 30, early.end - timedelta(milliseconds=1)),
                AwardPrice(last, "NEGPOS_20_24", 0.6, 4000, late.start),
            ]

        async def read_block_reserves(db: Any, keys: list[int], first: int, end: int) -> list[Reserve]:
            return [Reserve(ASSET, "FCR", first, end, 600, 0.5)]

        monkeypatch.setattr(shortfalls, "read_awards", read_awards)
        monkeypatch.setattr(shortfalls, "read_block_reserves", read_block_reserves)
        some = [unheld(middle - 1, "FCR", 10, 100), unheld(end - 1, "FCR", 11, 200)]
        found = await load_shortfall_amounts(NOTHING, ASSET, some, first, end, None)
        assert found is not None
        expected = [*[0.0] * 15, 0.5, *[0.0] * 11, 1.5]
        assert found.given_back_eur.tolist() == pytest.approx(expected), "each at the price of its own day and block"
        assert {key: float(eur.sum()) for key, eur in found.by_battery_eur.items()} == {
            10: pytest.approx(0.5),
            11: pytest.approx(1.5),
        }

    async def test_without_an_award_costs_nothing(self) -> None:
        found = await load_shortfall_amounts(NOTHING, ASSET, UNHELD[:2], FIRST, END, BLOCK.end)
        assert found is not None
        assert not found.given_back_eur.any()
        assert await load_shortfall_amounts(NOTHING, ASSET, [], FIRST, END, BLOCK.end) is None

    @pytest.mark.parametrize(
        ("instant", "market", "product"),
        [
            ("2026-06-09T21:45", ReserveProduct.AFRR_NEG, (date(2026, 6, 9), "NEG_20_24")),
            ("2026-06-09T22:00", ReserveProduct.AFRR_POS, (date(2026, 6, 10), "POS_00_04")),
            ("2026-10-25T02:45", ReserveProduct.FCR, (date(2026, 10, 25), "NEGPOS_00_04")),  # the fifth hour of it
            ("2026-10-25T03:00", ReserveProduct.FCR, (date(2026, 10, 25), "NEGPOS_04_08")),
        ],
    )
    def test_is_that_of_the_block_on_the_wall_clock(
        self, instant: str, market: ReserveProduct, product: tuple[date, str]
    ) -> None:
        period = period_number(datetime.fromisoformat(instant).replace(tzinfo=UTC))
        assert find_product(unheld(period, market, 10, 1)) == product
