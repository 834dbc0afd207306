"""How finely a series of values is cut in time."""

from __future__ import annotations

from enum import StrEnum


class Resolution(StrEnum):
    """Minutes and quarter-hours are fixed lengths; hours and days are those of the market's clock."""

    RAW = "raw"
    MINUTE = "1-minute"
    QUARTER_HOUR = "15-minute"
    HOUR = "hourly"
    DAY = "daily"
