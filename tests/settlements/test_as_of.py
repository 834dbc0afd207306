"""Which earlier instants can be asked for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.revenue.world import World

from gridloom.kernel.problem import BadRequest
from gridloom.settlements.as_of import MEASURED, PRICES, AsOfTooEarly, check_as_of
from gridloom.settlements.store import read_version_start

MOMENT = timedelta(milliseconds=1)


class TestAnEarlierInstant:
    async def test_is_one_since_versions_are_kept_and_before_now(self, world: World) -> None:
        async with world.pool.acquire() as db:
            change = db.transaction()
            await change.start()
            try:
                now, _ = await read_version_start(db, [PRICES])
                since = now.replace(microsecond=0) - timedelta(days=1)
                await db.execute("delete from version_start")
                await db.execute("insert into version_start (what, since) values ($1, $2)", PRICES, since)
                await check_as_of(db, since, PRICES)
                with pytest.raises(AsOfTooEarly):
                    await check_as_of(db, since - MOMENT, PRICES)
                await check_as_of(db, since - MOMENT, MEASURED)
                later = since + timedelta(hours=1)
                await db.execute("insert into version_start (what, since) values ($1, $2)", MEASURED, later)
                await check_as_of(db, later, PRICES, MEASURED)
                with pytest.raises(AsOfTooEarly):
                    await check_as_of(db, later - MOMENT, PRICES, MEASURED)
                with pytest.raises(BadRequest):
                    await check_as_of(db, now + timedelta(days=1), PRICES)
            finally:
                await change.rollback()
