"""Prices of the days to come."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from datetime import date

from gridloom_client.answers import DayAheadForecast
from gridloom_client.operations import M, Resource, operation


class Forecasts(Resource[M]):
    """EUR/MWh."""

    @operation("GET", "/forecasts/day-ahead")
    def day_ahead(self, *, delivery_day: date | None = None) -> DayAheadForecast:
        """P10, P50 and P90 of each quarter-hour; tomorrow's when no day is named."""
