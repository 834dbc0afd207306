"""The stages of a delivery day at which positions and reserves are traded, their gates and their price series."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final

from gridloom.kernel.market_time import MARKET_ZONE, block_window, market_day_window, period_number
from gridloom.kernel.window import Window


class Stage(StrEnum):
    """In the order of their gates."""

    FCR = "FCR"
    AFRR = "AFRR"
    DAY_AHEAD = "DAY_AHEAD"
    IDA1 = "IDA1"
    IDA2 = "IDA2"
    IDA3 = "IDA3"

    @property
    def is_reserve(self) -> bool:
        """Whether capacity is sold, not energy."""
        return self in RESERVE_STAGES

    @property
    def is_intraday(self) -> bool:
        return self in INTRADAY_STAGES

    @property
    def place(self) -> int:
        """In the order of the day."""
        return _PLACES[self]


STAGES: Final = tuple(Stage)
RESERVE_STAGES: Final = (Stage.FCR, Stage.AFRR)
AUCTION_STAGES: Final = (Stage.DAY_AHEAD, Stage.IDA1, Stage.IDA2, Stage.IDA3)
INTRADAY_STAGES: Final = AUCTION_STAGES[1:]
_PLACES: Final = {stage: place for place, stage in enumerate(STAGES)}

SERIES_OF_STAGE: Final[Mapping[Stage, str]] = {stage: f"{stage}_DE_LU" for stage in AUCTION_STAGES}
"""The published prices of each auction."""

_GATES: Final = {
    Stage.FCR: (1, time(8)),
    Stage.AFRR: (1, time(9)),
    Stage.DAY_AHEAD: (1, time(12)),
    Stage.IDA1: (1, time(15)),
    Stage.IDA2: (1, time(22)),
    Stage.IDA3: (0, time(10)),
}
"""Days before delivery, and the market's clock."""
_IDA3_FROM_HOUR: Final = 12


def gate_of(stage: Stage, delivery_day: date) -> datetime:
    """The exchange's gate in UTC: the instant itself is too late."""
    days, at = _GATES[stage]
    return datetime.combine(delivery_day - timedelta(days=days), at, tzinfo=MARKET_ZONE).astimezone(UTC)


def gate_offset(stage: Stage) -> timedelta:
    """The gate, counted on the market's clock from the midnight at which the delivery day starts."""
    days, at = _GATES[stage]
    return timedelta(days=-days, hours=at.hour, minutes=at.minute)


def traded_window(stage: Stage, delivery_day: date) -> Window:
    """The part of the delivery day that is traded: the third intraday auction has its second half."""
    if stage is Stage.IDA3:
        return block_window(delivery_day, _IDA3_FROM_HOUR, 24)
    return market_day_window(delivery_day)


def traded_periods(stage: Stage, delivery_day: date) -> tuple[int, int]:
    """The same as the first period and the one after the last."""
    window = traded_window(stage, delivery_day)
    return period_number(window.start), period_number(window.end)


def known_day(stage: Stage, series: str, delivery_day: date) -> date:
    """The last day whose prices of a series are known at the gate of a stage."""
    is_known = STAGE_OF_SERIES[series].place < stage.place
    return delivery_day if is_known else delivery_day - timedelta(days=1)


STAGE_OF_SERIES: Final[Mapping[str, Stage]] = {
    **{series: stage for stage, series in SERIES_OF_STAGE.items()},
    "FCR_DE": Stage.FCR,
    "AFRR_CAPACITY_POS_DE_MARGINAL": Stage.AFRR,
    "AFRR_CAPACITY_NEG_DE_MARGINAL": Stage.AFRR,
}
"""The stage after which the prices of a delivery day are published."""
