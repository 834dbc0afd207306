"""The forecast of day-ahead prices over HTTP."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

from msgspec import UNSET, UnsetType

from gridloom.kernel.market_stages import STAGE_OF_SERIES, Stage, gate_of
from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window
from gridloom.kernel.problem import NotFound
from gridloom.optimiser.forecasts import store
from gridloom.optimiser.forecasts.computing import compute_forecast
from gridloom.optimiser.forecasts.formulas import Forecast
from gridloom.optimiser.forecasts.series import FORECAST_SERIES, SeriesForecast, forecast_series
from gridloom.optimiser.prices import DAY_AHEAD, PricesMissing
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.optimiser.solving.programme import Floats
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
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


class ForecastBand(ResponseBody):
    """A quarter-hour or, of capacity, a four-hour block."""

    start: datetime
    end: datetime
    p10: float
    p50: float
    p90: float


class SeriesForecastView(ResponseBody, kw_only=True):
    """The forecast of a series on one market day. That of DAY_AHEAD_DE_LU has the fields of the day-ahead forecast."""

    series: str
    delivery_day: date
    made_at: datetime | UnsetType = UNSET
    values: list[ForecastBand] | UnsetType = UNSET
    known_until: datetime | UnsetType = UNSET
    published_at: datetime | UnsetType | None = UNSET
    forecast: list[ForecastPoint] | UnsetType = UNSET


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
    day = _choose_day(query, await platform_now(request.db))
    published = await store.read_forecast(request.db, DAY_AHEAD, day)
    if published is not None:
        return _view_forecast(*published)
    return _view_forecast(await compute_forecast(request, request.db, day), None)


@operation(
    "GET",
    "/forecasts/{series}",
    summary="Forecast a series of prices",
    access=SIGNED_IN,
    problems=(PricesMissing,),
    asset_scope="free",
)
async def forecast_price_series(request: Request, series: str, query: ForecastQuery) -> SeriesForecastView:
    """P10, P50 and P90 of an intraday auction by quarter-hour, of FCR and aFRR capacity by four-hour block.

    Before the gate from what is published now, after it from what was published before. An auction's forecast is the
    last price that was cleared for its day, else the day-ahead forecast; that of capacity the median of the last seven
    days of the same kind. DAY_AHEAD_DE_LU answers as `/forecasts/day-ahead` does.
    """
    if series == DAY_AHEAD:
        known = await forecast_day_ahead(request, query)
        return SeriesForecastView(
            series=series,
            delivery_day=known.delivery_day,
            known_until=known.known_until,
            published_at=known.published_at,
            forecast=known.forecast,
        )
    if series not in FORECAST_SERIES:
        raise NotFound(f"{series} is not forecast. These are: {', '.join((DAY_AHEAD, *FORECAST_SERIES))}.")
    now = await platform_now(request.db)
    day = _choose_day(query, now)
    return _view_series(series, day, await load_series_forecast(request, request.db, series, day, now))


async def load_day_ahead_forecast(request: Request, db: Database, day: date) -> Forecast:
    """As it was published, else made now. Raises PricesMissing."""
    published = await store.read_forecast(db, DAY_AHEAD, day)
    return published[0] if published is not None else await compute_forecast(request, db, day)


async def load_series_forecast(request: Request, db: Database, series: str, day: date, now: datetime) -> SeriesForecast:
    """Raises PricesMissing where nothing is published that it could be made of."""
    try:
        async with request.resources[SolverQueue].turn(request):
            return await forecast_series(db, series, day, now)
    except PricesMissing:
        expected = await _expect_day_ahead(request, db, STAGE_OF_SERIES[series], day, now)
        if expected is None:
            raise
    return await forecast_series(db, series, day, now, expected)


async def _expect_day_ahead(request: Request, db: Database, stage: Stage, day: date, now: datetime) -> Floats | None:
    """A stand-in for day-ahead prices that are not published: the forecast as it was published before the auction,
    else one made now, while its gate is open."""
    if stage.is_reserve:
        return None
    published = await store.read_forecast(db, DAY_AHEAD, day)
    if published is not None:
        return published[0].p50
    if now >= gate_of(Stage.DAY_AHEAD, day):
        return None
    return (await compute_forecast(request, db, day)).p50


def _choose_day(query: ForecastQuery, now: datetime) -> date:
    day = query.delivery_day or market_day_of(now) + timedelta(days=1)
    if not _FIRST_DAY <= day <= _LAST_DAY:
        raise parameter_error("query", "delivery-day", "is not between 1990 and 2190")
    return day


_FIRST_DAY: Final = date(1990, 1, 1)
_LAST_DAY: Final = date(2190, 1, 1)


def _view_series(series: str, day: date, found: SeriesForecast) -> SeriesForecastView:
    band = found.band
    rows = zip(found.spans, band.p10.tolist(), band.p50.tolist(), band.p90.tolist(), strict=True)
    return SeriesForecastView(
        series=series,
        delivery_day=day,
        made_at=found.made_at,
        values=[
            ForecastBand(start=span.start, end=span.end, p10=round(p10, 2), p50=round(p50, 2), p90=round(p90, 2))
            for span, p10, p50, p90 in rows
        ],
    )


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
