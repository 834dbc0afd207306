"""What the simulated operator settles of balancing power: capacity in MW for its block, energy by quarter-hour."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sandbox.simulator.recorded import Session, refusal

from gridloom.sandbox.simulator.participants.operator import is_whole_day, issue_statements
from gridloom.sandbox.simulator.state import SimulatedHolding

pytestmark = pytest.mark.pure


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


class TestStatements:
    @pytest.mark.parametrize(
        ("today", "month"), [(date(2027, 1, 3), "2026-12"), (date(2026, 11, 3), "2026-10"), (date(2026, 11, 4), None)]
    )
    async def test_of_a_month_are_issued_on_the_third_of_the_next(self, today: date, month: str | None) -> None:
        def answer(target: str, body: Any) -> Any:
            raise refusal()  # issued before: no harm done

        context: Any = SimpleNamespace(operator=Session(answer), key=lambda action: action)
        await issue_statements(context, today)
        wanted = [] if month is None else [("/statements", {"month": month, "allowMissing": True}, "statements")]
        assert context.operator.posted == wanted
