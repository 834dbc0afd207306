"""What is recorded of a zone and its batteries, read back by window and instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from tests.assets import register_asset

from gridloom.delivery.inputs.store import read_own_kw
from gridloom.delivery.runs.store import UnheldReserve, add_shortfalls, read_shortfalls
from gridloom.delivery.zone_store import add_netting, read_netting
from gridloom.kernel.market_time import period_start


class TestAnOwnersSchedule:
    async def test_is_read_within_the_window(self, app: Any, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        key, first = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id)), 2_150_000
        await app.pool.executemany(
            "insert into physical_schedule (asset_key, period, power_kw) values ($1, $2, $3)",
            [(key, period_start(first + n), float(n + 2)) for n in range(-1, 4)],
        )
        other = key + 1_000_000
        found = await read_own_kw(app.pool, [other, key], first, first + 3)
        assert found.tolist() == [[0, 0, 0], [2, 3, 4]]


class TestNettedParts:
    async def test_are_known_from_the_very_instant_they_were_recorded(self, app: Any) -> None:
        zone, first, moment = f"zone {uuid4()}", 2_150_000, datetime(2031, 4, 30, 10, tzinfo=UTC)
        later, instant = moment + timedelta(minutes=15), timedelta(milliseconds=1)
        await add_netting(app.pool, zone, moment, first, np.array([0.5, 0.25]), np.array([1.0, 1.0]))
        await add_netting(app.pool, zone, later, first + 1, np.array([0.75]), np.array([0.5]))
        for as_of, exported, imported in (
            (moment - instant, [0, 0, 0], [0, 0, 0]),
            (moment, [0, 0.5, 0.25], [0, 1, 1]),
            (later - instant, [0, 0.5, 0.25], [0, 1, 1]),
            (later, [0, 0.5, 0.75], [0, 1, 0.5]),
            (None, [0, 0.5, 0.75], [0, 1, 0.5]),
        ):
            found = await read_netting(app.pool, zone, first - 1, first + 2, as_of)
            assert [part.tolist() for part in found] == [exported, imported], as_of
        assert (await read_netting(app.pool, zone, first + 2, first + 3))[0].tolist() == [0]


class TestShortfalls:
    async def test_are_read_in_the_order_of_time_and_from_the_instant_they_were_recorded(
        self, app: Any, new_organisation: Any
    ) -> None:
        asset = await register_asset(await new_organisation())
        key, first = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id)), 2_150_000
        moment = datetime(2031, 4, 30, 10, tzinfo=UTC)
        short = [UnheldReserve(key, first + n, "FCR", key, 100.0 + n, n == 1) for n in (3, 1, 0, 2)]
        await add_shortfalls(app.pool, short, moment)
        found = await read_shortfalls(app.pool, [key], first, first + 3, moment)
        assert found == {key: sorted(short, key=lambda one: one.period)[:3]}
        assert await read_shortfalls(app.pool, [key], first, first + 3, moment - timedelta(milliseconds=1)) == {}
