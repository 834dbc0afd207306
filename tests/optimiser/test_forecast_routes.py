"""The forecast over HTTP, and its publication."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.emitted import events_of
from tests.optimiser.synthetic_prices import load_days, shaped_table
from tests.people import People

from gridloom.kernel.market_time import market_day_of, market_day_window, period_number
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.forecasts import computing, routes, store
from gridloom.optimiser.forecasts.formulas import Forecast, forecast_day
from gridloom.optimiser.forecasts.publishing import next_publication_check
from gridloom.optimiser.prices import DAY_AHEAD, load_day_table, load_quarters
from gridloom.platform.http.application import Application
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.routes import PRICES_CHANGED
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
            known_until = "2026-03-31T22:00:00Z"
            for day, status, name in (("2026-04-14", 200, "knownUntil"), ("2026-04-15", 422, "firstMissingPeriod")):
                ahead = await trader.get("/forecasts/day-ahead", params={"delivery-day": day})
                assert ahead.status_code == status, "two weeks from the last prices on"
                assert ahead.json()[name] == known_until, "not until that day itself"

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
            assert (await organisation.trader.get("/forecasts/day-ahead")).json() == shown, "of tomorrow, unasked"
            published_at = datetime.fromisoformat(shown["publishedAt"])
            assert gate - timedelta(hours=1) <= published_at < gate
            for one in (organisation, other):
                [told] = [
                    event
                    for event in await events_of(people.edge.pool, one.id, subject="forecasts/day-ahead")
                    if event.data["deliveryDay"] == day
                ]
                assert (told.type, told.permission) == ("forecast.published", "Read:virtual-assets")
                assert told.data == {"deliveryDay": day, "series": DAY_AHEAD, "knownUntil": day}
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

    @pytest.mark.parametrize(
        ("changed", "left"),
        [
            ([(DAY_AHEAD, "2031-01-05T11:00Z"), (DAY_AHEAD, "2031-01-03T22:45Z")], [2, 3]),
            (
                [(DAY_AHEAD, "2031-01-04T11:00Z"), (DAY_AHEAD, "2031-01-02T23:00Z"), (DAY_AHEAD, "2031-01-05T11:00Z")],
                [2, 3],
            ),
            ([(DAY_AHEAD, "2031-01-02T22:45Z"), (DAY_AHEAD, "2031-01-05T11:00Z")], [2]),
            ([("IDA1_DE_LU", "2031-01-01T11:00Z"), (DAY_AHEAD, "2031-01-04T11:00Z")], [2, 3, 4]),
            ([("IDA1_DE_LU", "2031-01-01T11:00Z")], [2, 3, 4, 5]),
        ],
        ids=["latest-first", "earliest-amid", "earliest-first", "of-another-series-too", "of-another-series-alone"],
    )
    async def test_is_deleted_after_the_market_day_of_the_earliest_changed_price(
        self, app: Application, changed: list[tuple[str, str]], left: list[int]
    ) -> None:
        """Whatever the order of the rows. Market days of January 2031 begin at 23:00 UTC."""
        prices = []
        for series, text in changed:
            start = datetime.fromisoformat(text)
            prices.append(PublishedPrice(series, start, start + timedelta(minutes=15), Decimal(7)))
        table = shaped_table(date(2030, 12, 1), 31)
        forecasts = [forecast_day(table, date(2031, 1, number)) for number in (2, 3, 4, 5)]
        async with app.pool.acquire() as db:
            change = db.transaction()
            await change.start()
            try:
                for forecast in forecasts:
                    await store.store_computed(db, DAY_AHEAD, forecast)
                await PRICES_CHANGED.get()(db, prices)
                found = [
                    forecast.day.day
                    for forecast in forecasts
                    if await store.read_computed(db, DAY_AHEAD, forecast.day) is not None
                ]
            finally:
                await change.rollback()
        assert found == left

    async def test_and_optimisations_count_a_price_in_each_of_its_quarter_hours_also_after_its_start(
        self, app: Application
    ) -> None:
        """An hour, a day, and a quarter-hour within them; a day that lacks one quarter-hour is in no table."""
        begins, quarter = market_day_window(date(2036, 3, 30)).start, timedelta(minutes=15)  # a day of 23 hours
        spans = [(0, 92, 10), (92, 188, 20), (96, 100, 30), (97, 98, 40), (188, 283, 50)]
        prices = [
            PublishedPrice(DAY_AHEAD, begins + first * quarter, begins + end * quarter, Decimal(value))
            for first, end, value in spans
        ]
        first = period_number(begins)
        async with app.pool.acquire() as db:
            change = db.transaction()
            await change.start()
            try:
                for price in prices:
                    await put_prices(db, [price], uuid4())
                found = await load_quarters(db, DAY_AHEAD, first + 98, first + 102)
                late = await load_quarters(db, DAY_AHEAD, first + 186, first + 190)
                tables = [
                    await load_day_table(db, DAY_AHEAD, date(2036, 4, day), days)
                    for day, days in ((1, 2), (1, 1), (2, 3))
                ]
            finally:
                await change.rollback()
        assert (found.tolist(), late.tolist()) == ([30, 30, 20, 20], [20, 20, 50, 50])
        assert [(one.first, len(one)) for one in tables] == [
            (date(2036, 3, 30), 2),
            (date(2036, 3, 31), 1),
            (date(2036, 3, 30), 2),
        ]
        day = [20.0] * 4 + [30, 40, 30, 30] + [20.0] * 88
        assert [one.true_day(len(one) - 1).tolist() for one in tables[:2]] == [day, day]
        assert tables[0].true_day(0).tolist() == [10.0] * 92

    async def test_that_was_published_remains(self, app: Application) -> None:
        table = shaped_table(date(2031, 1, 1), 2)
        first, second = (forecast_day(one, table.end) for one in (table, replace(table, quarters=2 * table.quarters)))
        now = datetime(2031, 1, 2, 10, tzinfo=UTC)
        async with app.pool.acquire() as db:
            change = db.transaction()
            await change.start()
            try:
                put = [
                    await store.put_forecast(db, DAY_AHEAD, one, now + n * timedelta(minutes=1))
                    for n, one in enumerate((first, second))
                ]
                await store.store_computed(db, DAY_AHEAD, forecast_day(table, table.end + timedelta(days=1)))
                found = await store.read_forecast(db, DAY_AHEAD, table.end)
                medians = [
                    await computing.read_median_prices(db, table.end + timedelta(days=ahead)) for ahead in (0, 1)
                ]
            finally:
                await change.rollback()
        assert put == [True, False], "and is told of once"
        median, none = medians
        assert median is not None
        assert (median.tolist(), none) == (first.p50.tolist(), None), "as it was published, and of no other day"
        assert found is not None
        assert (found[0].p50.tolist(), found[0].known_until, found[1]) == (first.p50.tolist(), table.end, now)

    async def test_unasked_is_of_the_market_day_after_that_of_the_instant(
        self, app: Application, operator: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Which begins two hours before that of UTC."""
        table = shaped_table(date(2031, 8, 1), 4)
        days = [date(2031, 8, 4), date(2031, 8, 5)]
        for day in days:
            assert await store.put_forecast(app.pool, DAY_AHEAD, forecast_day(table, day), datetime.now(UTC))
        shown = []
        try:
            for text in ("2031-08-03T21:59:59Z", "2031-08-03T22:00:00Z"):

                async def read_now(_: Any, text: str = text) -> datetime:
                    return datetime.fromisoformat(text)

                with monkeypatch.context() as patch:
                    patch.setattr(routes, "platform_now", read_now)
                    answer = await operator.get("/forecasts/day-ahead")
                shown.append(answer.json()["deliveryDay"])
        finally:
            await app.pool.execute("delete from price_forecast where delivery_day = any($1::date[])", days)
        assert shown == ["2031-08-04", "2031-08-05"]

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
