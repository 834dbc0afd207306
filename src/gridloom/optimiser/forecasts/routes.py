"""The forecast of day-ahead prices over HTTP."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window
from gridloom.optimiser.forecasts import store
from gridloom.optimiser.forecasts.computing import compute_forecast
from gridloom.optimiser.forecasts.formulas import Forecast
from gridloom.optimiser.prices import DAY_AHEAD, PricesMissing
from gridloom.platform.database.clock import platform_now
from gridloom.platform.http import SIGNED_IN, QueryParameters, Request, ResponseBody, operation
from gridloom.platform.http.fields import parameter_error

TAG = "Decisions"


class ForecastQuery(QueryParameters):
    delivery_day: date | None = None


class ForecastPoint(ResponseBody):
    time: datetime
    p10: float
    p50: float
    p90: float


class DayAheadForecast(ResponseBody):
    """The forecast of one market day's day-ahead prices before its auction closed."""

    delivery_day: date
    series: str
    known_until: datetime
    published_at: datetime | None
    forecast: list[ForecastPoint]


@operation(
    "GET",
    "/forecasts/day-ahead",
    summary="Forecast day-ahead prices",
    access=SIGNED_IN,
    problems=(PricesMissing,),
    asset_scope="free",
)
async def forecast_day_ahead(request: Request, query: ForecastQuery) -> DayAheadForecast:
    """P10, P50 and P90 for each quarter-hour, from the prices of the days before, never from later ones.

    What was published before the gate is answered as it was published. Other days are computed when they are first
    asked for; a day ahead of the known prices, up to two weeks, from the last ones known.
    """
    day = query.delivery_day or market_day_of(await platform_now(request.db)) + timedelta(days=1)
    if not date(1990, 1, 1) <= day <= date(2190, 1, 1):
        raise parameter_error("query", "delivery-day", "is not between 1990 and 2190")
    published = await store.read_forecast(request.db, DAY_AHEAD, day)
    if published is not None:
        return _view_forecast(*published)
    return _view_forecast(await compute_forecast(request, day), None)


def _view_forecast(forecast: Forecast, published_at: datetime | None) -> DayAheadForecast:
    start = market_day_window(forecast.day).start
    rows = zip(forecast.p10.tolist(), forecast.p50.tolist(), forecast.p90.tolist(), strict=True)
    return DayAheadForecast(
        delivery_day=forecast.day,
        series=DAY_AHEAD,
        known_until=market_day_window(forecast.known_until).start,
        published_at=published_at,
        forecast=[
            ForecastPoint(time=start + number * PERIOD, p10=round(p10, 2), p50=round(p50, 2), p90=round(p90, 2))
            for number, (p10, p50, p90) in enumerate(rows)
        ],
    )
