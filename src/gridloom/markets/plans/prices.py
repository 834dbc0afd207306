"""The prices that a stage is planned with: forecasts of its own series, and of the days around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import numpy as np

from gridloom.kernel.market_stages import SERIES_OF_STAGE, Stage
from gridloom.kernel.market_time import period_number
from gridloom.market_calendar import Floats, market_day_periods
from gridloom.optimiser.forecasts.bands import PriceBand
from gridloom.optimiser.forecasts.formulas import Forecast
from gridloom.optimiser.forecasts.routes import load_day_ahead_forecast, load_series_forecast
from gridloom.optimiser.forecasts.series import knowledge_instant
from gridloom.platform.database.pool import Database
from gridloom.platform.http import Request

AFRR_SERIES = ("AFRR_CAPACITY_POS_DE_MARGINAL", "AFRR_CAPACITY_NEG_DE_MARGINAL")


@dataclass(frozen=True, slots=True, eq=False)
class StagePrices:
    """`band` is of the periods that an auction trades, from `first` on; `ahead` of all periods planned.

    `capacity` has the bands of capacity series by four-hour block. Nothing was published after `until`.
    """

    series: tuple[str, ...]
    until: datetime
    first: int
    band: PriceBand
    ahead_first: int
    ahead: Floats
    capacity: Mapping[str, PriceBand] = field(default_factory=dict)

    def expected_from(self, first: int, end: int) -> Floats:
        return self.ahead[first - self.ahead_first : end - self.ahead_first]

    def band_from(self, first: int, end: int) -> PriceBand:
        """Of the part of the traded periods in which an asset lives and that is open."""
        part = slice(first - self.first, end - self.first)
        return PriceBand(self.band.p10[part], self.band.p50[part], self.band.p90[part])


async def load_stage_prices(request: Request, db: Database, stage: Stage, day: date, now: datetime) -> StagePrices:
    """Raises PricesMissing."""
    until = knowledge_instant(stage, day, now)
    if stage.is_intraday:
        return await _load_intraday(request, db, stage, day, now, until)
    today = await load_day_ahead_forecast(request, db, day)
    tomorrow = await load_day_ahead_forecast(request, db, day + timedelta(days=1))
    first = market_day_periods(day)[0]
    ahead = np.concatenate([today.p50, tomorrow.p50])
    series: tuple[str, ...] = (SERIES_OF_STAGE[Stage.DAY_AHEAD],)
    capacity: dict[str, PriceBand] = {}
    if stage.is_reserve:
        names = ("FCR_DE",) if stage is Stage.FCR else AFRR_SERIES
        for name in names:
            capacity[name] = (await load_series_forecast(request, db, name, day, now)).band
        series = (*names, *series)
    return StagePrices(series, until, first, _band_of(today), first, ahead, capacity)


async def _load_intraday(
    request: Request, db: Database, stage: Stage, day: date, now: datetime, until: datetime
) -> StagePrices:
    series = SERIES_OF_STAGE[stage]
    found = await load_series_forecast(request, db, series, day, now)
    first, (day_first, day_end) = period_number(found.spans[0].start), market_day_periods(day)
    ahead = np.zeros(day_end - day_first)
    ahead[first - day_first :] = found.band.p50
    return StagePrices((series,), until, first, found.band, day_first, ahead)


def _band_of(forecast: Forecast) -> PriceBand:
    return PriceBand(forecast.p10, forecast.p50, forecast.p90)
