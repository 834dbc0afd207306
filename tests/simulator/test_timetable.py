"""When the simulated parties do what recurs."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.simulator import timetable
from gridloom.simulator.participants import operator

pytestmark = pytest.mark.pure

END = datetime.fromisoformat("2026-03-30T00:00:00+02:00")
"""Midnight in Berlin, which is on the day before in UTC."""


class TestTolls:
    @pytest.mark.parametrize(
        ("days_before", "renewed"), [(3, []), (2, [date(2026, 3, 30)]), (1, [date(2026, 3, 30)])], ids=str
    )
    async def test_are_renewed_from_the_market_day_on_which_they_end_two_days_before(
        self, monkeypatch: pytest.MonkeyPatch, days_before: int, renewed: list[date]
    ) -> None:
        asked: list[date] = []

        async def renew_tolls(scene: Any, day: date) -> None:
            asked.append(day)

        monkeypatch.setattr(operator, "renew_tolls", renew_tolls)
        end = END.astimezone(UTC)
        holdings = [
            SimpleNamespace(start=end - timedelta(days=14), end=end),
            SimpleNamespace(start=end, end=end + timedelta(days=1)),
        ]
        scene: Any = SimpleNamespace(memory=SimpleNamespace(holdings=holdings), step=end - timedelta(days=days_before))
        await timetable.renew_tolls(scene)
        assert asked == renewed
