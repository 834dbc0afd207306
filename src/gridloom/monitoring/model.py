"""The model of monitoring: signals, points in columns, and why a point is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from gridloom import market_calendar
from gridloom.kernel.market_time import EPOCH
from gridloom.monitoring.codec import Times, Values

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US

EARLIEST_US: Final = 946_684_800 * SECOND_US
"""2000-01-01: anything before is a clock that was never set, or seconds taken for milliseconds."""
LATEST_US: Final = 4_102_444_800 * SECOND_US
"""2100-01-01: nothing is stored that late, whatever a sandbox's clock says."""
TOLERATED_AHEAD_US: Final = 24 * HOUR_US
"""How far a point may lie ahead of the platform's clock."""

MAX_CARRY_FORWARD_US: Final = 15 * MINUTE_US
MAX_POINTS: Final = 1_000_000
MAX_SIGNALS: Final = 4096


def microseconds(instant: datetime) -> int:
    return (instant - EPOCH) // timedelta(microseconds=1)


def instant_of(time_us: int) -> datetime:
    return EPOCH + timedelta(microseconds=time_us)


# Market days of times in microseconds.
day_numbers: Final = partial(market_calendar.market_day_numbers, per_second=SECOND_US)
day_number: Final = partial(market_calendar.day_number, per_second=SECOND_US)
day_starts: Final = partial(market_calendar.day_starts, per_second=SECOND_US)
day_start: Final = partial(market_calendar.day_start, per_second=SECOND_US)


def days_between(start_us: int, end_us: int) -> tuple[date, date]:
    """The first and the last market day of [start, end)."""
    first, last = (market_calendar.market_date(day_number(time_us)) for time_us in (start_us, end_us - 1))
    return first, last


class TimeUnit(StrEnum):
    """The unit of times that are numbers, counted from 1970 in UTC."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class SignalKind(StrEnum):
    """A gauge goes up and down, a counter only up, a state holds until it changes."""

    GAUGE = "GAUGE"
    COUNTER = "COUNTER"
    STATE = "STATE"


class SignalType(NamedTuple):
    unit: str
    kind: SignalKind
    description: str


STANDARD_SIGNALS: Final[dict[str, SignalType]] = {
    "state_of_charge": SignalType("%", SignalKind.GAUGE, "Energy stored as a share of the usable capacity"),
    "active_power": SignalType("kW", SignalKind.GAUGE, "Power at the connection point, positive when discharging"),
    "reserve_power": SignalType("kW", SignalKind.GAUGE, "Power given for FCR and aFRR, a part of active_power"),
    "available_charge_power": SignalType("kW", SignalKind.GAUGE, "Power the asset could charge with now"),
    "available_discharge_power": SignalType("kW", SignalKind.GAUGE, "Power the asset could discharge with now"),
    "available_energy": SignalType("kWh", SignalKind.GAUGE, "Energy the asset could discharge now"),
    "state_of_health": SignalType("%", SignalKind.GAUGE, "Usable capacity as a share of the capacity when new"),
    "temperature": SignalType("°C", SignalKind.GAUGE, "Temperature of the cells"),
    "cycles": SignalType("", SignalKind.COUNTER, "Full equivalent cycles since commissioning"),
    "frequency": SignalType("Hz", SignalKind.GAUGE, "Frequency of the grid"),
    "redispatch_active": SignalType("", SignalKind.STATE, "1 while the grid operator commands the asset, else 0"),
}
UNKNOWN_SIGNAL: Final = SignalType("", SignalKind.GAUGE, "")


def signal_type(name: str) -> SignalType:
    """A module's signal (`temperature.rack_3`) is of the type of the signal it details."""
    return STANDARD_SIGNALS.get(name.partition(".")[0], UNKNOWN_SIGNAL)


def is_power(name: str) -> bool:
    """Whether the integral of the signal is energy that flowed, not energy that could have."""
    stem = name.partition(".")[0]
    return stem.endswith("power") and not stem.startswith("available_")


class Reason(StrEnum):
    """Why a point was refused."""

    INVALID_SIGNAL = "INVALID_SIGNAL"
    INVALID_TIME = "INVALID_TIME"
    TIME_WITHOUT_OFFSET = "TIME_WITHOUT_OFFSET"
    TIME_OUT_OF_RANGE = "TIME_OUT_OF_RANGE"
    INVALID_VALUE = "INVALID_VALUE"
    VALUE_NOT_FINITE = "VALUE_NOT_FINITE"
    BAD_QUALITY = "BAD_QUALITY"
    INVALID_QUALITY = "INVALID_QUALITY"
    TOO_MANY_SIGNALS = "TOO_MANY_SIGNALS"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"


class RefusalText(NamedTuple):
    """The field of a point that is at fault, and the sentence for its sender."""

    field: str
    detail: str


REASONS: Final[dict[Reason, RefusalText]] = {
    Reason.INVALID_SIGNAL: RefusalText(
        "signal", "a signal's name is 1 to 64 characters of a to z, 0 to 9, underscore and dot"
    ),
    Reason.INVALID_TIME: RefusalText(
        "time", "the time is not an RFC 3339 timestamp, or no number where `time-unit` names the unit of numbers"
    ),
    Reason.TIME_WITHOUT_OFFSET: RefusalText("time", "the time has no offset from UTC"),
    Reason.TIME_OUT_OF_RANGE: RefusalText("time", "the time is before the year 2000 or more than a day ahead"),
    Reason.INVALID_VALUE: RefusalText("value", "the value is not a number"),
    Reason.VALUE_NOT_FINITE: RefusalText("value", "the value is not finite"),
    Reason.BAD_QUALITY: RefusalText("quality", "the sender itself calls the value bad"),
    Reason.INVALID_QUALITY: RefusalText("quality", "the quality is none of GOOD, UNCERTAIN and BAD"),
    Reason.TOO_MANY_SIGNALS: RefusalText("signal", f"an asset has at most {MAX_SIGNALS} signals"),
    Reason.QUOTA_EXCEEDED: RefusalText(
        "time", "the owner's quota of stored telemetry is used up, and the point is older than an hour"
    ),
}


@dataclass(slots=True)
class Refusals:
    """Refused points, counted by reason, with pointers to the first of each, for the sender to find them."""

    counts: dict[Reason, int] = field(default_factory=dict)
    pointers: dict[Reason, list[str]] = field(default_factory=dict)

    MAX_POINTERS = 10

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def add(self, reason: Reason, count: int, pointers: Sequence[str]) -> None:
        if not count:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        known = self.pointers.setdefault(reason, [])
        known.extend(pointers[: self.MAX_POINTERS - len(known)])


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one asset in columns: `codes[i]` says which of `names` has `values[i]` at `times[i]`."""

    names: Sequence[str]
    codes: NDArray[np.intp]
    times: Times
    values: Values

    def __len__(self) -> int:
        return len(self.times)

    def select(self, chosen: NDArray[Any]) -> Points:
        """Those at some indices, or where `chosen` is true."""
        return Points(self.names, self.codes[chosen], self.times[chosen], self.values[chosen])


@dataclass(frozen=True, slots=True)
class Received:
    """The content of a request's body: the points of each asset (None where the path names it) and the refused ones."""

    points: dict[UUID | None, Points]
    count: int
    refusals: Refusals
    assets: Sequence[UUID] = ()
    """Every asset that the body names, also those of which no point is left."""


@dataclass(frozen=True, slots=True)
class SignalSeries:
    """One signal's points in the order of time, at most one at an instant."""

    times: Times
    values: Values

    def __len__(self) -> int:
        return len(self.times)

    def between(self, start_us: int, end_us: int) -> SignalSeries:
        first, last = np.searchsorted(self.times, (start_us, end_us))
        return SignalSeries(self.times[first:last], self.values[first:last])


EMPTY: Final = SignalSeries(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64))

LATEST: Final = np.dtype([("time", "<i8"), ("value", "<f8")])
"""How a head keeps the last point of each signal."""

SUMMARY: Final = np.dtype(
    [("points", ">i4"), *((name, ">f8") for name in ("first", "last", "lowest", "highest", "total"))]
)
"""A market day of a signal, as a block keeps it, in the byte order of PostgreSQL's own binary format."""
