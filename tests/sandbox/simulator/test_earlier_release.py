"""A world that an earlier release began: organisations that it did not know join, its open auctions are left alone."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import msgspec
from tests.sandbox.simulator.worlds import SimulatedWorld

from gridloom.sandbox import simulator_store
from gridloom.sandbox.simulator.state import OpenAuction, SimulatorState

AUCTION = {"id": "a", "zone": "TenneT", "delivery_day": "2026-11-18", "end": "2026-11-17T09:00:00Z", "worth_eur": 10.0}


def test_an_auction_of_an_earlier_release_is_read_without_its_power():
    memory: dict[str, Any] = {"world": 1, "seeds": {"2024-01-01": 1}, "auctions": [AUCTION]}
    end = datetime(2026, 11, 17, 9, tzinfo=UTC)
    assert msgspec.convert(memory, SimulatorState).auctions == [OpenAuction("a", "TenneT", date(2026, 11, 18), end)]


async def test_a_trader_that_was_unknown_joins_the_world(world: SimulatedWorld):
    async with world.edge.pool.acquire() as connection:
        known = (await simulator_store.read_memory(connection))["organisations"]
        await connection.execute(
            "update sandbox_simulator set memory = memory #- '{organisations,neckar}' #- '{portfolios,neckar}'"
        )
    await world.live_on()
    async with world.edge.pool.acquire() as connection:
        assert (await simulator_store.read_memory(connection))["organisations"] == known
