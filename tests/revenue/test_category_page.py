"""The page about the categories is the table's, and its example is right."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from sdk.category_page import EXAMPLE, MEANINGS, page, worked_values
from tests.revenue import reference
from tests.revenue.reference import FCR, AFRRCapacity, AFRREnergy, Auction, NetOff, Toll, Trade, utc

from gridloom.revenue.categories import CATEGORIES, SOURCE_OF

PAGE = Path(__file__).parents[2] / "docs" / "revenue-categories.md"
DAY = date(2026, 3, 29)
NEW_YEAR, NEXT_YEAR = utc(date(2026, 1, 1), 0), utc(date(2027, 1, 1), 0)
FACTS: list[reference.Fact] = [
    Trade(0, "a", utc(DAY, 12), "SELL", Fraction(8), Fraction("66.86")),
    Trade(0, "b", utc(DAY, 18), "SELL", Fraction(4), Fraction(100)),
    Trade(0, "c", utc(DAY, 4), "BUY", Fraction(10), Fraction(20)),
    NetOff(0, utc(DAY, 7), Fraction("1.5")),
    FCR(0, DAY, "NEGPOS_00_04", Fraction(5), Fraction("22.286667"), Fraction(3)),
    FCR(0, DAY, "NEGPOS_04_08", Fraction(8), Fraction("5.525"), Fraction(4)),
    AFRRCapacity(0, DAY, "POS_08_12", Fraction(2), Fraction("6.5"), Fraction(4)),
    AFRREnergy(0, utc(DAY, 9), "POS", Fraction("1.2"), Fraction(150)),
    AFRREnergy(0, utc(DAY, 10), "NEG", Fraction("0.8"), Fraction(-20)),
    Toll(0, "t", NEW_YEAR, NEXT_YEAR, Fraction(120_000)),
    Auction(0, NEW_YEAR, NEXT_YEAR, Fraction(219_000), Fraction(180_000)),
]


class TestPage:
    def test_is_up_to_date(self) -> None:
        assert PAGE.read_text() == page(), "write it anew: python -m sdk.category_page"

    def test_explains_every_measure_and_category(self) -> None:
        assert set(MEANINGS) == set(EXAMPLE) == {*SOURCE_OF, "rated_power_mw"}
        assert all(f"| `{name}` |" in page() for name in CATEGORIES)

    def test_works_its_example_out_rightly(self) -> None:
        expected = reference.categories_in(FACTS, (utc(DAY, 0), utc(DAY, 24)), {0: Fraction(10)})
        for name, value in worked_values().items():
            assert value == pytest.approx(float(expected[name] or 0)), name
