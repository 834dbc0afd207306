"""The locks under which batteries' books change."""

from __future__ import annotations

import asyncio

from gridloom.capacity.store import LockedBatteries, lock_batteries
from gridloom.platform.database.clock import platform_now
from gridloom.platform.http.application import Application

KEYS = [2_000_000_001, 2_000_000_002]
"""No battery's: a lock needs none."""


class TestLock:
    async def test_tells_the_time_at_which_it_was_there_and_not_when_it_was_asked_for(self, app: Application) -> None:
        async def lock_in_turn() -> LockedBatteries:
            async with app.pool.acquire() as db, db.transaction():
                return await lock_batteries(db, KEYS)

        async with app.pool.acquire() as db, db.transaction():
            held = await lock_batteries(db, KEYS[1:])
            waiting = asyncio.create_task(lock_in_turn())
            while not await app.pool.fetchval(
                "select exists (select from pg_locks where locktype = 'advisory' and not granted and objid = $1)",
                KEYS[1],
            ):
                await asyncio.sleep(0.01)
            released = await platform_now(db)
        locked = await waiting
        assert locked.keys == set(KEYS)
        assert held.since <= released.replace(microsecond=released.microsecond // 1000 * 1000) <= locked.since

    async def test_of_nothing_tells_the_time_too(self, app: Application) -> None:
        async with app.pool.acquire() as db, db.transaction():
            before = await platform_now(db)
            locked = await lock_batteries(db, [])
        assert (locked.since - before).total_seconds() >= -0.001
