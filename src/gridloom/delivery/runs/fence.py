"""Waiting for schedules that were let through a gate before it closed and are not committed yet."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from gridloom.database.pool import Database
from gridloom.delivery.runs.fence_store import Writer, read_writers
from gridloom.virtual_assets.schedule.rules import HELD_AT_MOST_S

log = structlog.get_logger()

PATIENCE_S: Final = HELD_AT_MOST_S + 5.0
"""Whoever holds virtual assets for longer has no change left that was in time: it is a session that hangs, or somebody
else's at the same database. No gate is missed for it."""
LOOK_EVERY_S: Final = 0.002
LOOK_SELDOM_S: Final = 0.1

_outlasted: set[Writer] = set()
"""Those that a gate of this process has waited for in vain: the next gates do not wait for them again."""


async def wait_for_writers(db: Database) -> None:
    """Let whoever is changing virtual assets now come to an end; what begins meanwhile is not waited for.

    To be called after the clock was read and before anything is locked: then all that was let through a gate that had
    not closed by that clock is seen by what is read next.
    """
    found = await read_writers(db)
    _outlasted.intersection_update(found)
    waiting = found - _outlasted
    until_s, pause_s = time.monotonic() + PATIENCE_S, LOOK_EVERY_S
    while waiting and time.monotonic() < until_s:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LOOK_SELDOM_S)
        waiting &= await read_writers(db)
    if waiting:
        _outlasted.update(waiting)
        log.warning("delivery.writers_outlasted_gate", pids=sorted(pid for pid, _ in waiting), waited_s=PATIENCE_S)
