"""Changes of one asset wait for each other before they take a connection."""

from __future__ import annotations

import asyncio

import pytest

from gridloom.kernel.ids import uuid7
from gridloom.virtual_assets import asset_lookup as asset_locks
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

    async def test_with_a_waiting_request_is_retained_however_many_others_come(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(asset_locks, "_locks", {})
        monkeypatch.setattr(asset_locks, "MAX_IDLE_LOCKS", 10)
        asset_id = uuid7()
        async with asset_lock(asset_id):
            held = asset_lock(asset_id)
            for _ in range(100):
                async with asset_lock(uuid7()):
                    assert asset_lock(asset_id) is held
            assert len(asset_locks._locks) <= 11
