"""The feeds there are, what each of them publishes and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from gridloom.kernel.balancing import AFRR_DIRECTIONS
from gridloom.kernel.market_time import MARKET_ZONE
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice


class FeedName(StrEnum):
    SMARD = "smard"
    ENERGY_CHARTS = "energy-charts"
    ENTSOE = "entsoe"
    REGELLEISTUNG = "regelleistung"
    NETZTRANSPARENZ = "netztransparenz"


class SeriesStatus(StrEnum):
    COMPLETE = "COMPLETE"
    WAITING = "WAITING"
    LATE = "LATE"
    FAILED = "FAILED"
    OFF = "OFF"


class FeedRunStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Series that are published together, with the sources in the order in which they are preferred.

    Times are the market's wall clock. A day's values are asked for from `opens_at`, `days_after` days after it (the
    day before: -1), and are late at `late_at`, `late_days_after` days after it.
    """

    name: str
    series: tuple[str, ...]
    sources: tuple[FeedName, ...]
    days_after: int
    opens_at: time
    late_days_after: int
    late_at: time
    revised_after: timedelta
    """How long after a day's values were due they are asked for once more."""
    revised_days: int = 1
    """How many days are asked for then."""
    allows_parts: bool = False
    """Whether a day that lacks some of its values is written; an auction's day is whole or not there."""
    bounds: tuple[Decimal, Decimal]
    """No value lies beyond them; in the unit of the series."""

    def opens(self, day: date) -> datetime:
        """From when on the preferred source is asked for this day."""
        return _wall_clock(day, self.days_after, self.opens_at)

    def is_late_from(self, day: date) -> datetime:
        """When the day is late, and the other sources are asked for it."""
        return _wall_clock(day, self.late_days_after, self.late_at)


def _wall_clock(day: date, days_after: int, at: time) -> datetime:
    return datetime.combine(day + timedelta(days=days_after), at, tzinfo=MARKET_ZONE).astimezone(UTC)


def _afrr_series(market: str) -> tuple[str, ...]:
    return tuple(
        f"AFRR_{market}_{direction}_DE_{kind}" for direction in AFRR_DIRECTIONS for kind in ("AVERAGE", "MARGINAL")
    )


DAY_AHEAD: Final = Topic(
    name="day-ahead",
    series=("DAY_AHEAD_DE_LU",),
    sources=(FeedName.SMARD, FeedName.ENERGY_CHARTS, FeedName.ENTSOE),
    days_after=-1,
    opens_at=time(12, 40),
    late_days_after=-1,
    late_at=time(13, 30),
    revised_after=timedelta(hours=6),
    bounds=(Decimal(-1_000), Decimal(10_000)),
)
FCR: Final = Topic(
    name="fcr",
    series=("FCR_DE",),
    sources=(FeedName.REGELLEISTUNG,),
    days_after=-1,
    opens_at=time(8, 30),
    late_days_after=-1,
    late_at=time(10),
    revised_after=timedelta(hours=8),
    bounds=(Decimal(-1_000), Decimal(100_000)),
)
AFRR_CAPACITY: Final = Topic(
    name="afrr-capacity",
    series=_afrr_series("CAPACITY"),
    sources=(FeedName.REGELLEISTUNG,),
    days_after=-1,
    opens_at=time(9, 30),
    late_days_after=-1,
    late_at=time(11),
    revised_after=timedelta(hours=8),
    bounds=(Decimal(-1_000), Decimal(100_000)),
)
AFRR_ENERGY: Final = Topic(
    name="afrr-energy",
    series=_afrr_series("ENERGY"),
    sources=(FeedName.REGELLEISTUNG,),
    days_after=1,
    opens_at=time(9, 30),
    late_days_after=2,
    late_at=time(12),
    revised_after=timedelta(hours=24),
    bounds=(Decimal(-100_000), Decimal(100_000)),
)
REBAP: Final = Topic(
    name="rebap",
    series=("REBAP_DE",),
    sources=(FeedName.NETZTRANSPARENZ,),
    days_after=1,
    opens_at=time(10),
    late_days_after=30,
    late_at=time(12),
    revised_after=timedelta(hours=8),
    revised_days=31,
    allows_parts=True,
    bounds=(Decimal(-100_000), Decimal(100_000)),
)
ID_AEP: Final = Topic(
    name="id-aep",
    series=("ID_AEP_DE",),
    sources=(FeedName.NETZTRANSPARENZ,),
    days_after=1,
    opens_at=time(10),
    late_days_after=3,
    late_at=time(12),
    revised_after=timedelta(hours=8),
    revised_days=7,
    allows_parts=True,
    bounds=(Decimal(-100_000), Decimal(100_000)),
)


def _forecast_topic(name: str, series: str) -> Topic:
    return Topic(
        name=name,
        series=(series,),
        sources=(FeedName.SMARD,),
        days_after=-1,
        opens_at=time(16),
        late_days_after=-1,
        late_at=time(19),
        revised_after=timedelta(hours=6),
        bounds=(Decimal(0), Decimal(500_000)),
    )


LOAD_FORECAST: Final = _forecast_topic("load-forecast", "LOAD_FORECAST_DE")
WIND_FORECAST: Final = _forecast_topic("wind-forecast", "WIND_FORECAST_DE")
SOLAR_FORECAST: Final = _forecast_topic("solar-forecast", "SOLAR_FORECAST_DE")

TOPICS: Final[Mapping[str, Topic]] = MappingProxyType(
    {
        topic.name: topic
        for topic in (
            DAY_AHEAD,
            FCR,
            AFRR_CAPACITY,
            AFRR_ENERGY,
            REBAP,
            ID_AEP,
            LOAD_FORECAST,
            WIND_FORECAST,
            SOLAR_FORECAST,
        )
    }
)


def topics_of(feed: FeedName) -> tuple[Topic, ...]:
    return tuple(topic for topic in TOPICS.values() if feed in topic.sources)


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer of a source for a window, as far as it is usable."""

    prices: Sequence[PublishedPrice] = ()
    complete_days: frozenset[date] = frozenset()
    remarks: Sequence[str] = ()
    """Values that were left out, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """How one feed stands with one topic."""

    feed: FeedName
    topic: str
    asked_at: datetime | None = None
    """Platform time."""
    failures: int = 0
    """Runs in a row that ended with a fault."""
    fault: str | None = None
    is_failed: bool = False
    is_late: bool = False
    not_before: datetime | None = None
    """Real time, until when the source is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRun:
    """One look at a source, or a window that is filled step by step."""

    id: UUID
    feed: FeedName
    at: datetime
    status: FeedRunStatus
    asked: str
    window: Window
    by_hand: bool = False
    http_status: int | None = None
    rows_new: int = 0
    rows_changed: int = 0
    bytes: int = 0
    seconds: float = 0.0
    fault: str | None = None
    progress: float = 1.0
    answer_hash: str | None = None


@dataclass(slots=True)
class PullTally:
    """The cost of a pull and the last that it saw, whether it ended well or not."""

    asked: str = ""
    http_status: int | None = None
    bytes: int = 0
    seconds: float = 0.0
    hashes: list[str] = field(default_factory=list)
