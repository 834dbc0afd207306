"""A span of time: half-open, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """`[start, end)`: the start belongs to it, the end does not. Any offset is accepted and kept as UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("A window needs instants with an offset from UTC.")
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))
        if self.start >= self.end:
            raise ValueError(
                f"A window starts before it ends: {self.start.isoformat()} is not before {self.end.isoformat()}."
            )

    def __contains__(self, instant: datetime) -> bool:
        return self.start <= instant < self.end

    def __str__(self) -> str:
        return f"[{self.start.isoformat()}, {self.end.isoformat()})"

    @property
    def duration(self) -> timedelta:
        return self.end - self.start

    def covers(self, other: Window) -> bool:
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Window) -> bool:
        return self.start < other.end and other.start < self.end

    def intersection(self, other: Window) -> Window | None:
        """The time both share, or None where they only touch or stand apart."""
        if not self.overlaps(other):
            return None
        return Window(max(self.start, other.start), min(self.end, other.end))
