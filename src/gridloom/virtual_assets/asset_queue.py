"""The queue of each asset within a process: whoever waits for a busy asset holds no connection meanwhile.

What keeps changes apart is the lock on the asset's row. Without queues, a burst of schedules for one asset would fill
the pool with connections that wait for that lock, and every other request of the process would wait behind them.
"""

from __future__ import annotations

import asyncio
from uuid import UUID
from weakref import WeakValueDictionary

_locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()


def queue_for(asset_id: UUID) -> asyncio.Lock:
    """To be held from before the connection is taken until the change is written."""
    lock = _locks.get(asset_id)
    if lock is None:
        lock = _locks[asset_id] = asyncio.Lock()
    return lock
