"""Which month has a statement, and can be issued, by the clock and by those before it."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import numpy as np
import pytest

from gridloom.revenue.statement.model import LineType
from gridloom.statements.assembling import Amounts
from gridloom.statements.model import LineSums, Month
from gridloom.statements.rules import AlreadyIssued, EarlierMonthOpen, MonthNotOver, check_month

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
        for issued, said in ((FEBRUARY, "is issued"), (JANUARY, "lies before 2028-02")):
            with pytest.raises(AlreadyIssued, match=said):
                check_month(issued, [FEBRUARY, MARCH], now)
