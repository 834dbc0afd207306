"""The forecast over HTTP, and its publication."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
from tests.emitted import events_of
from tests.optimiser.synthetic_prices import load_days
from tests.people import People

from gridloom.edge.application import Application
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.forecasts import computing
from gridloom.optimiser.forecasts.computing import delete_computed_forecasts
from gridloom.optimiser.forecasts.formulas import Forecast, forecast_day
from gridloom.optimiser.forecasts.publishing import is_time_to_publish, next_publication_check
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.store import put_prices


class TestTheForecast:
    async def test_knows_only_the_days_before(self, fresh_app: Callable[[], Awaitable[Application]]) -> None:
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
            for day, status in (("2026-04-14", 200), ("2026-04-15", 422)):  # prices are known up to 1 April
                ahead = await trader.get("/forecasts/day-ahead", params={"delivery-day": day})
                assert ahead.status_code == status, "two weeks from the last prices on"

    async def test_is_published_once_before_the_gate_and_announced_to_all(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        async with People(await fresh_app()) as people:
            operator, organisation = (await people.operator()).client, await people.new_organisation()
            other = await people.new_organisation()
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
            for one in (organisation, other):
                [told] = [
                    event
                    for event in await events_of(people.edge.pool, one.id, subject="forecasts/day-ahead")
                    if event.data["deliveryDay"] == day
                ]
                assert (told.type, told.permission) == ("forecast.published", "Read:virtual-assets")
            # Corrections after it was published do not change it.
            await load_days(operator, tomorrow - timedelta(days=3), 3, seed=5)
            assert (await organisation.trader.get(f"/forecasts/day-ahead?delivery-day={day}")).json() == shown
            await operator.put("/sandbox/clock", json={"now": (gate + timedelta(days=1)).astimezone(UTC).isoformat()})
            later = (tomorrow + timedelta(days=2)).isoformat()
            unpublished = (await organisation.trader.get(f"/forecasts/day-ahead?delivery-day={later}")).json()
            assert unpublished["publishedAt"] is None, "without the prices of the day before it"

    async def test_is_computed_once_until_a_price_before_its_day_changes(
        self, fresh_app: Callable[[], Awaitable[Application]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        computed: list[date] = []

        def count(history: DayTable, day: date) -> Forecast:
            computed.append(day)
            return forecast_day(history, day)

        monkeypatch.setattr(computing, "forecast_day", count)
        async with People(await fresh_app()) as people:
            operator, viewer = (await people.operator()).client, (await people.new_organisation()).viewer
            await load_days(operator, date(2026, 1, 1), 60)
            days = [f"/forecasts/day-ahead?delivery-day=2026-02-{day}" for day in (10, 20)]
            answers = await asyncio.gather(*(viewer.get(path) for path in days * 5))
            assert {answer.status_code for answer in answers} == {200}
            assert sorted(computed) == [date(2026, 2, 10), date(2026, 2, 20)], "each once, however many ask together"
            early, late = [(await viewer.get(path)).json() for path in days]
            await load_days(operator, date(2026, 2, 15), 7, seed=7)  # beyond the later of the two days
            assert (await viewer.get(days[0])).json() == early
            assert (await viewer.get(days[1])).json() != late
            assert sorted(computed) == [date(2026, 2, 10), date(2026, 2, 20), date(2026, 2, 20)]

    async def test_waits_for_prices_that_are_being_loaded_and_knows_them(
        self, fresh_app: Callable[[], Awaitable[Application]]
    ) -> None:
        edge = await fresh_app()
        async with People(edge) as people:
            operator, viewer = (await people.operator()).client, (await people.new_organisation()).viewer
            await load_days(operator, date(2026, 1, 1), 60)
            async with edge.pool.acquire() as connection, connection.transaction():
                row = await connection.fetchrow(
                    'select series, start_at as start, end_at as "end", price + 50 as price from reference_price'
                    " where start_at = '2026-02-09T12:00:00Z'"
                )
                assert row is not None
                price = PublishedPrice(**row)
                await put_prices(connection, [price], uuid4())
                await delete_computed_forecasts(connection, [price])
                asking = asyncio.create_task(viewer.get("/forecasts/day-ahead?delivery-day=2026-02-10"))
                await asyncio.sleep(0.3)
                assert not asking.done()
            first = (await asking).json()
            await edge.pool.execute("delete from computed_forecast")
            assert (await viewer.get("/forecasts/day-ahead?delivery-day=2026-02-10")).json() == first

    @pytest.mark.parametrize(
        ("now", "next_check"),
        [
            ("2026-07-01T08:59:59Z", "2026-07-01T09:00:00Z"),
            ("2026-07-01T09:00:00Z", "2026-07-01T09:30:00Z"),
            ("2026-07-01T09:30:00Z", "2026-07-02T09:00:00Z"),
            ("2026-10-24T09:30:00Z", "2026-10-25T10:00:00Z"),
        ],
    )
    def test_is_looked_for_twice_a_day(self, now: str, next_check: str) -> None:
        assert next_publication_check(datetime.fromisoformat(now)) == datetime.fromisoformat(next_check)

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
