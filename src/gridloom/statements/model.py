"""Values of statements: months, the amounts of two parties by market day, runs, and statements themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.kernel.window import Window
from gridloom.revenue.statement.model import Cents, LineType

CORRECTION: Final = "CORRECTION"
"""The line of a statement that corrects an earlier one."""


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month of market days."""

    first_day: date

    @classmethod
    def of(cls, instant: datetime) -> Month:
        """The month in market time that an instant lies in."""
        return cls(market_day_of(instant).replace(day=1))

    @classmethod
    def parse(cls, text: str) -> Month:
        """`YYYY-MM`; ValueError for anything else."""
        if len(text) != 7:
            raise ValueError("not a month")
        return cls(date.fromisoformat(f"{text}-01"))

    @property
    def following(self) -> Month:
        year, month = divmod(self.first_day.year * 12 + self.first_day.month, 12)
        return Month(date(year, month + 1, 1))

    @property
    def window(self) -> Window:
        return Window(market_day_window(self.first_day).start, market_day_window(self.following.first_day).start)

    @property
    def day_count(self) -> int:
        return (self.following.first_day - self.first_day).days

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"


@dataclass(frozen=True, slots=True, eq=False)
class PartyEntry:
    """The amount that a counterparty pays an organisation for a line, in cents by market day of a month."""

    organisation_id: UUID
    line: LineType
    counterparty: str
    cents: Cents


LineKey = tuple[LineType, str]
"""A line and the counterparty."""
LineSums = Mapping[LineKey, Cents]
"""Of one organisation and month: cents by market day."""


class RunStatus(StrEnum):
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class StatementRun:
    id: UUID
    month: Month
    status: RunStatus
    allow_missing: bool
    asked_at: datetime
    as_of: datetime | None
    parts: int
    parts_done: int
    fault: str | None

    @property
    def progress(self) -> float:
        if self.status is RunStatus.DONE:
            return 1.0
        return self.parts_done / self.parts if self.parts else 0.0


@dataclass(frozen=True, slots=True)
class IssuedMonth:
    month: Month
    as_of: datetime
    issued_at: datetime


@dataclass(frozen=True, slots=True)
class IssuedReference:
    """An issued statement as later ones name it."""

    id: UUID
    month: Month
    number: str


@dataclass(frozen=True, slots=True)
class NewStatement:
    """A statement about to be issued; its bytes are what is answered for ever."""

    organisation_id: UUID
    id: UUID
    month: Month
    year: int
    number: int
    issued_at: datetime
    total_cents: int
    body: bytes
    summary: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class NamedAsset:
    """An asset as statements name it."""

    id: UUID
    is_virtual: bool
    name: str
    delivery_zone: str


def number_of(year: int, number: int) -> str:
    return f"{year}-{number:04d}"


def statement_id(organisation_id: UUID, month: Month) -> UUID:
    """The same before and after it is issued: version 7, its time the month's start, its tail made of both."""
    milliseconds = int(month.window.start.timestamp() * 1000)
    tail = int.from_bytes(hashlib.sha256(organisation_id.bytes + str(month).encode()).digest()[:10], "big") >> 6
    high, low = tail >> 62, tail & ((1 << 62) - 1)
    return UUID(int=milliseconds << 80 | 7 << 76 | high << 64 | 0b10 << 62 | low)


def is_zero(cents: Cents) -> bool:
    return not np.any(cents)
