"""Which month has a statement, and can be issued, by the clock and by those before it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from gridloom.revenue.statement.model import LineType
from gridloom.statements.assembling import Amounts, Issue, Naming, assemble
from gridloom.statements.model import (
    IssuedReference,
    LineSums,
    Month,
)
from gridloom.statements.rules import (
    AlreadyIssued,
    EarlierMonthOpen,
    MonthNotOver,
    check_month,
    sum_over_parties,
    sum_parties,
)
from gridloom.statements.store import Letterhead
from gridloom.statements.views import IssuedStatement

pytestmark = pytest.mark.pure

JANUARY, FEBRUARY, MARCH, APRIL = (Month.parse(f"2028-{number:02}") for number in range(1, 5))


class TestAMonth:
    def test_has_a_statement_for_lines_of_its_own_or_for_corrections_of_earlier_ones(self) -> None:
        """A fact that changes after an organisation's last month of delivery."""
        sums: LineSums = {(LineType.TRADING, "MARKET"): np.array([500])}
        for own, corrections, is_empty in (({}, {}, True), (sums, {}, False), ({}, {JANUARY: sums}, False)):
            assert Amounts(uuid4(), MARCH, own, corrections).is_empty is is_empty

    def test_is_over_at_the_instant_of_its_end(self) -> None:
        check_month(MARCH, [], MARCH.window.end)
        with pytest.raises(MonthNotOver):
            check_month(MARCH, [], MARCH.window.end - timedelta(microseconds=1))

    def test_is_issued_after_the_one_before_it(self) -> None:
        now = APRIL.window.end
        check_month(APRIL, [FEBRUARY, MARCH], now)
        with pytest.raises(EarlierMonthOpen) as refused:
            check_month(APRIL, [FEBRUARY], now)
        assert refused.value.members["openMonth"] == "2028-03"
        for issued, said in ((MARCH, "is issued"), (FEBRUARY, "is issued"), (JANUARY, "lies before 2028-02")):
            with pytest.raises(AlreadyIssued, match=said):
                check_month(issued, [FEBRUARY, MARCH], now)


def cents_on(month: Month, **by_day: int) -> Any:
    """`d3=500`: on the third day of the month."""
    cents = np.zeros(month.day_count, dtype=np.int64)
    for day, amount in by_day.items():
        cents[int(day[1:]) - 1] = amount
    return cents


class TestAStatement:
    """Two lines of January, and corrections of two months, of which one statement is known."""

    OURS, OTHER, STRANGER = UUID(int=1), UUID(int=2), UUID(int=3)
    NOVEMBER, DECEMBER = Month.parse("2027-11"), Month.parse("2027-12")
    REFERENCE = IssuedReference(UUID(int=9), DECEMBER, "2028-0004")

    def amounts(self) -> Amounts:
        own: LineSums = {
            (LineType.AUCTION, str(self.OTHER)): cents_on(JANUARY, d1=-1, d31=-250),
            (LineType.TRADING, "MARKET"): cents_on(JANUARY, d1=1205, d2=-5),
            (LineType.FCR, "MARKET"): cents_on(JANUARY, d4=7, d5=-7),
        }
        corrections: dict[Month, LineSums] = {
            self.DECEMBER: {(LineType.FCR, str(self.STRANGER)): cents_on(self.DECEMBER, d31=40, d30=2)},
            self.NOVEMBER: {(LineType.TRADING, "MARKET"): cents_on(self.NOVEMBER, d30=-300)},
        }
        return Amounts(self.OURS, JANUARY, own, corrections)

    def show(self, *, by_day: bool, issue: Issue | None = None) -> IssuedStatement:
        letterheads = {self.OURS: Letterhead("Ours", "", False), self.OTHER: Letterhead("Other", "Way 1", True)}
        naming = Naming(letterheads, {(self.OURS, self.DECEMBER): self.REFERENCE})
        return assemble(self.amounts(), naming, issue, by_day=by_day)

    def test_sums_a_month_up_and_leaves_out_what_comes_to_nothing(self) -> None:
        shown = self.show(by_day=False)
        assert [(f"{one.day}", one.line, str(one.amount)) for one in shown.lines] == [
            ("2028-01-01", "TRADING", "12.00"),
            ("2028-01-01", "AUCTION", "-2.51"),
            ("2027-11-01", "CORRECTION", "-3.00"),
            ("2027-12-01", "CORRECTION", "0.42"),
        ]


class TestAmountsOfParties:
    def test_are_those_of_organisations_and_mirrored_of_those_without_a_statement(self) -> None:
        ours, other = UUID(int=1), UUID(int=2)
        lines = [
            (ours, "TRADING", "MARKET", Decimal("12.00")),
            (other, "TRADING", "MARKET", Decimal("-2.00")),
            (ours, "AUCTION", str(other), Decimal("-5.00")),
            (other, "AUCTION", str(ours), Decimal("5.00")),
            (ours, "FCR", "GRID_OPERATOR", Decimal("3.00")),
            (ours, "FCR", "GRID_OPERATOR", Decimal("-3.00")),
        ]
        sums = sum_parties(lines)
        assert sums == {
            ("AUCTION", str(ours)): Decimal("-5.00"),
            ("AUCTION", str(other)): Decimal("5.00"),
            ("TRADING", str(ours)): Decimal("12.00"),
            ("TRADING", str(other)): Decimal("-2.00"),
            ("TRADING", "MARKET"): Decimal("-10.00"),
        }
        assert list(sums) == sorted(sums)
        assert sum_over_parties({**sums, ("FCR", "MARKET"): Decimal(4)}) == {
            "AUCTION": Decimal(0),
            "TRADING": Decimal(0),
            "FCR": Decimal(4),
        }


class TestItsLetterhead:
    def test_is_from_the_operator_to_the_organisation(self) -> None:
        ours, operator = uuid4(), uuid4()
        letterheads = {
            uuid4(): Letterhead("Another", "Elsewhere 1", False),
            ours: Letterhead("Rhine Storage", "Quay 2", False),
            operator: Letterhead("The platform", "Main Street 3", True),
        }
        shown = assemble(Amounts(ours, JANUARY, {}, {}), Naming(letterheads, {}), None)
        assert (shown.organisation_name, shown.address) == ("Rhine Storage", "Quay 2")
        assert (shown.issuer_name, shown.issuer_address) == ("The platform", "Main Street 3")
