"""Prices of an optimisation that are not all published yet: the forecast goes on from those that are."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from tests.optimiser.synthetic_prices import shaped_table

from gridloom.kernel.market_time import market_day_window, period_number, period_start
from gridloom.kernel.problem import BadRequest
from gridloom.market_calendar import format_period
from gridloom.optimiser.forecasts.formulas import MAX_DAYS_AHEAD
from gridloom.optimiser.prices import PricesMissing
from gridloom.optimiser.schedules import price_input
from gridloom.optimiser.schedules.price_input import load_prices
from gridloom.optimiser.schedules.wire import NewPrice, PricesAsked

pytestmark = pytest.mark.pure

KNOWN_UNTIL = date(2026, 3, 2)
NOTHING: Any = None


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """All days of the year so far."""

    async def load_day_table(db: Any, series: str, until: date, days: int) -> Any:
        return shaped_table(date(2026, 1, 1), 60)

    monkeypatch.setattr(price_input, "load_day_table", load_day_table)


class TestTheForecast:
    @pytest.mark.parametrize(
        ("days_after", "periods"), [(-1, 48 + 96), (0, 48), (3, 48)], ids=["known", "unknown", "far"]
    )
    async def test_goes_a_day_beyond_what_is_published_and_to_the_end_of_the_day_that_is_asked_for(
        self, days_after: int, periods: int
    ) -> None:
        """From noon of a day on, without an end."""
        begins = market_day_window(KNOWN_UNTIL + timedelta(days=days_after)).start
        first = period_number(begins) + 48
        prices = await load_prices(NOTHING, PricesAsked(forecast=True), first, None, first + 10_000)
        assert (prices.first, len(prices.values)) == (first, periods)
        assert prices.until == market_day_window(KNOWN_UNTIL).start
        if days_after < 0:
            assert prices.values[:48].tolist() == shaped_table(date(2026, 1, 1), 60).true_day(59)[48:].tolist()

    @pytest.mark.parametrize("periods", [10, 48 + 96 + 96])
    async def test_goes_to_the_end_that_is_asked_for(self, periods: int) -> None:
        """Shorter and longer than it goes unasked."""
        first = period_number(market_day_window(KNOWN_UNTIL - timedelta(days=1)).start) + 48
        prices = await load_prices(NOTHING, PricesAsked(forecast=True), first, first + periods, first + 10_000)
        assert len(prices.values) == periods

    async def test_goes_no_further_than_so_many_days_beyond_what_is_published(self) -> None:
        starts = {
            ahead: period_number(market_day_window(KNOWN_UNTIL + timedelta(days=ahead)).start)
            for ahead in (0, MAX_DAYS_AHEAD - 1, MAX_DAYS_AHEAD)
        }
        last, beyond = starts[MAX_DAYS_AHEAD - 1], starts[MAX_DAYS_AHEAD]
        asked = PricesAsked(forecast=True)
        assert len((await load_prices(NOTHING, asked, last, beyond, beyond + 96)).values) == beyond - last
        with pytest.raises(PricesMissing, match=format_period(beyond)):
            await load_prices(NOTHING, asked, last, beyond + 1, beyond + 96)
        with pytest.raises(PricesMissing, match=format_period(starts[0])):
            await load_prices(NOTHING, asked, beyond, beyond + 1, beyond + 96)


class TestAHole:
    async def test_ends_what_is_asked_for_without_an_end_and_is_named_where_there_is_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def load_quarters(db: Any, series: str, first: int, end: int) -> Any:
            return np.array([50.0, 60.0, 70.0, np.nan, *[80.0] * (end - first - 4)])

        monkeypatch.setattr(price_input, "load_quarters", load_quarters)
        first, asked = period_number(market_day_window(KNOWN_UNTIL).start), PricesAsked(series="DAY_AHEAD")
        prices = await load_prices(NOTHING, asked, first, None, first + 96)
        assert (prices.values.tolist(), prices.until) == ([50.0, 60.0, 70.0], period_start(first + 3))
        with pytest.raises(PricesMissing, match=format_period(first + 3)):
            await load_prices(NOTHING, asked, first, first + 8, first + 96)


class TestPricesThatAreSent:
    async def test_are_for_quarter_hours(self) -> None:
        first = period_number(market_day_window(KNOWN_UNTIL).start)
        times = [
            period_start(first + at) + timedelta(minutes=minutes) for at, minutes in ((0, 0), (1, 5), (2, 0), (3, 1))
        ]
        with pytest.raises(BadRequest) as refusal:
            await load_prices(
                NOTHING, PricesAsked(values=[NewPrice(time, 9.0) for time in times]), first, None, first + 9
            )
        pointers = [fault.pointer for fault in refusal.value.errors]
        assert pointers == ["/prices/values/1/time", "/prices/values/3/time"]

    async def test_count_from_the_start_to_the_end_and_are_missing_by_their_own_name(self) -> None:
        first = period_number(market_day_window(KNOWN_UNTIL).start)
        sent = [NewPrice(period_start(first + at), 50.0 + at) for at in (3, -1, 0, 1, 2, 5)]
        asked = PricesAsked(values=sent)
        for end, latest in ((first + 4, first + 96), (None, first + 96), (None, first + 4)):
            prices = await load_prices(NOTHING, asked, first, end, latest)
            assert (prices.values.tolist(), prices.until) == ([50.0, 51.0, 52.0, 53.0], period_start(first + 4))
        prices = await load_prices(NOTHING, asked, first, None, first + 2)
        assert prices.values.tolist() == [50.0, 51.0], "no further than the life"
        with pytest.raises(PricesMissing, match=f"prices.values .*{format_period(first + 4)}"):
            await load_prices(NOTHING, asked, first, first + 6, first + 96)
        with pytest.raises(PricesMissing, match=f"prices.values .*{format_period(first + 6)}"):
            await load_prices(NOTHING, asked, first + 6, None, first + 96)
