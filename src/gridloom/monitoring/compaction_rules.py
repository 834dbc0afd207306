"""When segments are compacted, and which, and when blocks are joined: pure, so that it can be reasoned about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

COMPACTION_DELAY: Final = timedelta(minutes=5)
"""How long a segment stays as it came, so that a stream which broke off can go on where it was."""
CLOSED_FOR: Final = timedelta(hours=1)
"""How long after its end a market day counts as closed: late points are usual, and compacting twice is work."""
BUSY_SEGMENTS: Final = 24
"""As many small segments of an open day are worth joining."""
BUSY_POINTS: Final = 200_000
"""As many points of an open day are worth compacting before it closes."""
MIN_JOINED_DAYS: Final = 7
"""As many days of a month that are blocks of their own are joined with the rest of it."""
MAX_JOINED_SIGNAL_POINTS: Final = 50_000
"""A month of minutes. What is denser stays in days: a read of one of them decodes the whole block's values."""
MAX_JOINED_POINTS: Final = 4_000_000
"""Of all signals of a joined block."""
UPGRADE_WINDOW: Final = timedelta(hours=1)
"""How long after the upgrade that brought blocks none is written, so that replicas of the release before miss none."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Make one segment of those from the first to the last sequence."""

    first_sequence: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Compact:
    """Move the segments up to the last sequence into the day's block."""

    last_sequence: int


def plan(sequences: Sequence[int], points: Sequence[int], *, is_closed: bool) -> Merge | Compact | None:
    """The step for a day's settled segments, given in their order.

    Only what was written first or last in a row may be moved: order decides who wins. An open day's segments are joined
    from the back as long as the next one is no larger than all after it together, so sizes grow geometrically and each
    point is rewritten a logarithmic number of times.
    """
    if not sequences:
        return None
    if is_closed or sum(points) >= BUSY_POINTS:
        return Compact(sequences[-1])
    if len(sequences) < BUSY_SEGMENTS:
        return None
    first, behind = len(sequences) - 1, points[-1]
    while first > 0 and points[first - 1] <= behind:
        first -= 1
        behind += points[first]
    if len(sequences) - first < 2:
        return Compact(sequences[-1])
    return Merge(sequences[first], sequences[-1])
