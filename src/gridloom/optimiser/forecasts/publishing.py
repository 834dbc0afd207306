"""Publishing the forecast of the next market day, an hour before the day-ahead auction closes."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

from gridloom.kernel.market_time import block_window, market_day_of
from gridloom.kernel.permission import Permission
from gridloom.optimiser.forecasts import store
from gridloom.optimiser.forecasts.formulas import HISTORY_DAYS, forecast_day
from gridloom.optimiser.prices import DAY_AHEAD, load_day_table
from gridloom.platform.database.clock import platform_now
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.platform.jobs import JobRun, enqueue, job

PUBLISHED_FROM_HOUR: Final = 11
GATE_HOUR: Final = 12
PUBLISH: Final = "forecast.publish"
RETRY_DELAY: Final = timedelta(minutes=30)
"""Twice within the hour before the gate: a run that failed, or came before today's prices, has a second chance."""


def is_time_to_publish(now: datetime) -> bool:
    """Between eleven and twelve on the market's clock."""
    return now in block_window(market_day_of(now), PUBLISHED_FROM_HOUR, GATE_HOUR)


def next_publication_check(now: datetime) -> datetime:
    """The next of the two times a day at which there may be something to publish."""
    today = market_day_of(now)
    hours = (block_window(day, PUBLISHED_FROM_HOUR, GATE_HOUR).start for day in (today, today + timedelta(days=1)))
    return next(time for hour in hours for time in (hour, hour + RETRY_DELAY) if time > now)


@job(PUBLISH, every=timedelta(days=1), clock="platform", limit=timedelta(minutes=2))
async def publish_forecast(run: JobRun) -> None:
    """Made of the prices before its day only. Where today's prices are missing there is nothing to publish yet.

    It comes back when it may be needed and not in between: a sandbox's clock that moves by months stops at each look.
    """
    now = await platform_now(run.db)
    await enqueue(run.db, PUBLISH, key="", due=next_publication_check(now), clock="platform")
    if not is_time_to_publish(now):
        return
    day = market_day_of(now) + timedelta(days=1)
    if await store.is_published(run.db, DAY_AHEAD, day):
        return
    history = await load_day_table(run.db, DAY_AHEAD, day, HISTORY_DAYS)
    if not len(history) or history.end < day:
        return
    forecast = await asyncio.to_thread(forecast_day, history, day)
    if not await store.put_forecast(run.db, DAY_AHEAD, forecast, now):
        return
    data = {"deliveryDay": day, "series": DAY_AHEAD, "knownUntil": forecast.known_until}
    await record_events(
        run.db,
        [
            NewEvent(
                type="forecast.published",
                organisation_id=organisation_id,
                subject="forecasts/day-ahead",
                permission=Permission.READ_VIRTUAL_ASSETS,
                data=data,
            )
            for organisation_id in await store.organisation_ids(run.db)
        ],
    )
