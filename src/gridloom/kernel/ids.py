"""Identifiers: time-ordered UUIDs (version 7, RFC 9562), with a type for each thing they name."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Final, NewType
from uuid import UUID

OrganisationID = NewType("OrganisationID", UUID)
UserID = NewType("UserID", UUID)
SessionID = NewType("SessionID", UUID)
APIKeyID = NewType("APIKeyID", UUID)
InvitationID = NewType("InvitationID", UUID)
PhysicalAssetID = NewType("PhysicalAssetID", UUID)
VirtualAssetID = NewType("VirtualAssetID", UUID)
PortfolioID = NewType("PortfolioID", UUID)
BlockID = NewType("BlockID", UUID)
AuctionID = NewType("AuctionID", UUID)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TAIL_BITS = 74  # what the milliseconds, the version and the variant leave of 128
_FRESH_BYTES = 10
_ENTROPY_BATCH_BYTES = 1024
_FRESH_SHIFT = 8 * _FRESH_BYTES - (_TAIL_BITS - 1)  # a clear top bit leaves room to count up within the millisecond


class IdentifierSequence:
    """The last identifier given out: its milliseconds since 1970 and its tail."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.milliseconds = 0
        self.tail = 0
        self._drawn = b""
        self._used = 0

    def step(self) -> tuple[int, int]:
        with self.lock:
            now = time.time_ns() // 1_000_000
            if now > self.milliseconds:
                self.milliseconds, self.tail = now, self._draw_number(_FRESH_BYTES) >> _FRESH_SHIFT
                return self.milliseconds, self.tail
            # The same millisecond, or a clock set back: count on, by a random step.
            self.tail += 1 + self._draw_number(4)
            if self.tail >> _TAIL_BITS:
                self.milliseconds, self.tail = self.milliseconds + 1, self._draw_number(_FRESH_BYTES) >> _FRESH_SHIFT
            return self.milliseconds, self.tail

    def _draw_number(self, size_bytes: int) -> int:
        """A random number of so many bytes; the system is asked for many at a time."""
        start, end = self._used, self._used + size_bytes
        if end > len(self._drawn):
            self._drawn, start, end = os.urandom(_ENTROPY_BATCH_BYTES), 0, size_bytes
        self._used = end
        return int.from_bytes(self._drawn[start:end], "big")


_sequence = IdentifierSequence()


def _reset_after_fork() -> None:
    """A forked process must not wait for a lock that a thread of its parent held."""
    global _sequence
    _sequence = IdentifierSequence()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def uuid7_time(identifier: UUID) -> datetime:
    """When an identifier was made, to the millisecond, by the clock of the process that made it."""
    return _EPOCH + timedelta(milliseconds=identifier.int >> 80)


def uuid7() -> UUID:
    """A new identifier, greater than every other one that this process has made before."""
    milliseconds, tail = _sequence.step()
    high, low = tail >> 62, tail & ((1 << 62) - 1)
    return UUID(int=(milliseconds & ((1 << 48) - 1)) << 80 | 7 << 76 | high << 64 | 0b10 << 62 | low)
