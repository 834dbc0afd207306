"""Waiting for schedules that were let through a gate before it closed and are not committed yet."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from gridloom.database.pool import Database
from gridloom.delivery.runs.store import Writer, read_writers
from gridloom.virtual_assets.asset_lookup import MAX_LOCK_S

log = structlog.get_logger()

CUTOFF_TIMEOUT_S: Final = MAX_LOCK_S + 5.0
"""A transaction that locks virtual assets for longer has no change left that was in time: it hangs, or is not the
platform's. No gate is missed for it."""
MIN_POLL_S: Final = 0.002
MAX_POLL_S: Final = 0.1

_timed_out_writers: set[Writer] = set()
"""Writers that this process has waited for in vain: the next gates do not wait for them again."""


async def wait_for_writers(db: Database) -> None:
    """Wait until all transactions that are changing virtual assets have ended; later ones are not waited for.

    To be called after the clock was read and before anything is locked: then all that was let through a gate that had
    not closed by that clock is seen by what is read next.
    """
    found = await read_writers(db)
    _timed_out_writers.intersection_update(found)
    waiting = found - _timed_out_writers
    until_s, pause_s = time.monotonic() + CUTOFF_TIMEOUT_S, MIN_POLL_S
    while waiting and time.monotonic() < until_s:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_POLL_S)
        waiting &= await read_writers(db)
    if waiting:
        _timed_out_writers.update(waiting)
        log.warning("delivery.cutoff_timeout", pids=sorted(pid for pid, _ in waiting), waited_s=CUTOFF_TIMEOUT_S)
