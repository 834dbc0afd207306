"""Answers about decisions: forecasts, values, schedules proposed, past days played again."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from gridloom_client.answers.answered import Answered


class ForecastPoint(Answered):
    """EUR/MWh of a quarter-hour."""

    time: datetime
    p10: float
    p50: float
    p90: float


class DayAheadForecast(Answered):
    """`published_at` is None for a forecast that was made for this answer."""

    delivery_day: date
    series: str
    known_until: datetime
    forecast: list[ForecastPoint]
    published_at: datetime | None = None


class Calibration(Answered):
    """How many past windows were valued, and which part of them came between P10 and P90, below and above."""

    windows: int
    coverage: float | None = None
    below: float | None = None
    above: float | None = None


class Valuation(Answered):
    """EUR for the whole delivery window; `per_mw_per_year` is the mean per MW and 365 days."""

    p10: float
    p50: float
    p90: float
    mean: float
    calibration: Calibration
    as_of: datetime
    per_mw_per_year: float = msgspec.field(name="perMWPerYear")
