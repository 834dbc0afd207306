"""Changes of one asset wait for each other before they take a connection."""

from __future__ import annotations

import asyncio

from gridloom.kernel.ids import uuid7
from gridloom.virtual_assets.asset_lookup import asset_lock


class TestAQueue:
    async def test_lets_one_in_at_a_time_in_their_order(self) -> None:
        asset_id, inside, order = uuid7(), 0, []

        async def change(number: int) -> None:
            nonlocal inside
            async with asset_lock(asset_id):
                inside += 1
                assert inside == 1
                order.append(number)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(change(number) for number in range(20)))
        assert order == list(range(20))
