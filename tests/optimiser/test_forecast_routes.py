"""The forecast over HTTP, and its publication."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.optimiser.synthetic_prices import load_days
from tests.people import People

from gridloom.edge.dispatch import Edge
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.optimiser.forecasts.publishing import is_time_to_publish


class TestTheForecast:
    async def test_knows_only_the_days_before(self, fresh_app: Callable[[], Awaitable[Edge]]) -> None:
        async with People(await fresh_app()) as people:
            operator, trader = (await people.operator()).client, (await people.new_organisation()).trader
            asked = {"delivery-day": "2026-03-29"}
            missing = await trader.get("/forecasts/day-ahead", params=asked)
            assert missing.status_code == 422
            assert missing.json()["type"].endswith("/prices-missing")
            assert missing.json()["firstMissingPeriod"] == "2026-03-27T23:00:00Z"
            await load_days(operator, date(2026, 1, 1), 87)
            answer = await trader.get("/forecasts/day-ahead", params=asked)
            assert answer.status_code == 200, answer.text
            shown = answer.json()
            assert shown["knownUntil"] == "2026-03-28T23:00:00Z"
            assert shown["publishedAt"] is None
            assert len(shown["forecast"]) == 92
            assert shown["forecast"][0]["time"] == "2026-03-28T23:00:00Z"
            await load_days(operator, date(2026, 3, 29), 3, seed=99)
            assert (await trader.get("/forecasts/day-ahead", params=asked)).json() == shown

    async def test_is_published_once_before_the_gate_and_told_to_everybody(
        self, fresh_app: Callable[[], Awaitable[Edge]]
    ) -> None:
        async with People(await fresh_app()) as people:
            operator, organisation = (await people.operator()).client, await people.new_organisation()
            now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
            tomorrow = market_day_of(now) + timedelta(days=1)
            await load_days(operator, tomorrow - timedelta(days=60), 61)
            gate = market_day_window(tomorrow).start + timedelta(hours=12)
            moved = await operator.put("/sandbox/clock", json={"now": gate.astimezone(UTC).isoformat()})
            assert moved.status_code == 200, moved.text
            day = (tomorrow + timedelta(days=1)).isoformat()
            shown = (await organisation.trader.get(f"/forecasts/day-ahead?delivery-day={day}")).json()
            published_at = datetime.fromisoformat(shown["publishedAt"])
            assert gate - timedelta(hours=1) <= published_at < gate
            # Corrections after it was published do not change it.
            await load_days(operator, tomorrow - timedelta(days=3), 3, seed=5)
            assert (await organisation.trader.get(f"/forecasts/day-ahead?delivery-day={day}")).json() == shown

    @pytest.mark.parametrize(
        ("moment", "is_time"),
        [
            ("2026-07-01T08:59:59Z", False),
            ("2026-07-01T09:00:00Z", True),
            ("2026-07-01T10:00:00Z", False),
            ("2026-12-01T10:59:59Z", True),
            ("2026-12-01T11:00:00Z", False),
        ],
    )
    def test_is_published_between_eleven_and_twelve_on_the_markets_clock(self, moment: str, is_time: bool) -> None:
        assert is_time_to_publish(datetime.fromisoformat(moment)) is is_time
