"""Published and computed forecasts in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

import asyncpg
import numpy as np

from gridloom.optimiser.forecasts.formulas import Forecast
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement

_COMPUTING: Final = 7_108_272
"""The advisory locks of days whose forecast is being computed."""


_PUBLISH: Final = NamedStatement("""
insert into price_forecast (series, delivery_day, published_at, known_until, p10_eur_mwh, p50_eur_mwh, p90_eur_mwh)
values (:series, :day, :now, :known_until, :p10, :p50, :p90)
on conflict (series, delivery_day) do nothing
""")
_STORE_COMPUTED: Final = NamedStatement("""
insert into computed_forecast (series, delivery_day, known_until, p10_eur_mwh, p50_eur_mwh, p90_eur_mwh)
values (:series, :day, :known_until, :p10, :p50, :p90)
on conflict (series, delivery_day) do nothing
""")


async def put_forecast(db: Database, series: str, forecast: Forecast, now: datetime) -> bool:
    """Publish it; False if the day's forecast was published before, which then remains."""
    return await _PUBLISH.execute(db, forecast, series=series, now=now, **_list_quantiles(forecast)) == "INSERT 0 1"


async def read_forecast(db: Database, series: str, day: date) -> tuple[Forecast, datetime] | None:
    """The published forecast, and when it was published."""
    row = await db.fetchrow(
        """
        select published_at, known_until, p10_eur_mwh, p50_eur_mwh, p90_eur_mwh
        from price_forecast where series = $1 and delivery_day = $2
        """,
        series, day,
    )  # fmt: skip
    return None if row is None else (_read_forecast_row(day, row), row["published_at"])


async def lock_day(db: Database, day: date) -> None:
    """Locks the computation of the day's forecast until this transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1, $2)", _COMPUTING, day.toordinal())


async def read_computed(db: Database, series: str, day: date) -> Forecast | None:
    """The forecast that was computed for an earlier request."""
    row = await db.fetchrow(
        """
        select known_until, p10_eur_mwh, p50_eur_mwh, p90_eur_mwh
        from computed_forecast where series = $1 and delivery_day = $2
        """,
        series, day,
    )  # fmt: skip
    return None if row is None else _read_forecast_row(day, row)


def _read_forecast_row(day: date, row: asyncpg.Record) -> Forecast:
    p10, p50, p90 = (np.array(row[name]) for name in ("p10_eur_mwh", "p50_eur_mwh", "p90_eur_mwh"))
    return Forecast(day, row["known_until"], p10, p50, p90)


async def store_computed(db: Database, series: str, forecast: Forecast) -> None:
    await _STORE_COMPUTED.execute(db, forecast, series=series, **_list_quantiles(forecast))


def _list_quantiles(forecast: Forecast) -> dict[str, list[float]]:
    return {"p10": forecast.p10.tolist(), "p50": forecast.p50.tolist(), "p90": forecast.p90.tolist()}


async def delete_computed_after(db: Database, series: str, day: date) -> None:
    await db.execute("delete from computed_forecast where series = $1 and delivery_day > $2", series, day)


async def is_published(db: Database, series: str, day: date) -> bool:
    return bool(
        await db.fetchval(
            "select exists (select from price_forecast where series = $1 and delivery_day = $2)", series, day
        )
    )


async def organisation_ids(db: Database) -> Sequence[UUID]:
    return [row["id"] for row in await db.fetch("select id from organisation order by id")]
