"""The queue of each asset within a process: whoever waits for a busy asset holds no connection meanwhile.

What keeps changes apart is the lock on the asset's row. Without queues, a burst of schedules for one asset would fill
the pool with connections that wait for that lock, and every other request of the process would wait behind them.
"""

from __future__ import annotations

import asyncio
from typing import Final
from uuid import UUID

MAX_IDLE_LOCKS: Final = 5000
"""Queues that are kept although nobody stands in them."""

_locks: dict[UUID, asyncio.Lock] = {}


def asset_lock(asset_id: UUID) -> asyncio.Lock:
    """To be held from before the connection is taken until the change is written, and from this moment on: what nobody
    holds may be forgotten whenever somebody asks for another."""
    lock = _locks.get(asset_id)
    if lock is None:
        if len(_locks) >= MAX_IDLE_LOCKS:
            _evict_idle_locks()
        lock = _locks[asset_id] = asyncio.Lock()
    return lock


def _evict_idle_locks() -> None:
    for asset_id, lock in list(_locks.items()):
        if not lock.locked():
            del _locks[asset_id]
