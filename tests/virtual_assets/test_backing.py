"""What of its batteries backs a virtual asset: promises, outages and shortfalls as they are stored and read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.virtual_assets.conftest import Battery, MakeBattery, register

from gridloom.capacity.model import HoldingKind
from gridloom.kernel.ids import PhysicalAssetID, uuid7
from gridloom.virtual_assets.backing import store
from gridloom.virtual_assets.backing.holdings import hold_backing, transfer_backing
from gridloom.virtual_assets.backing.store import ShortfallInterval
from gridloom.virtual_assets.model import BackingShare, VirtualAsset
from gridloom.virtual_assets.store import read_asset_by_key


@pytest.fixture
async def battery(make_battery: MakeBattery) -> Battery:
    return await make_battery()


async def stored(battery: Battery) -> VirtualAsset:
    key = await battery.edge.pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
    asset = await read_asset_by_key(battery.edge.pool, key)
    assert asset is not None
    return asset


class TestSealedShortfalls:
    async def test_are_read_as_they_were_written_where_they_overlap(self, battery: Battery) -> None:
        asset, pool = await stored(battery), battery.edge.pool
        first = asset.first
        sealed = [
            ShortfallInterval(first, first + 2, 0.5, {1: 0.25, 2: 0.5}),
            ShortfallInterval(first + 2, first + 4, 0.25, {2: 0.25}),
            ShortfallInterval(first + 6, first + 7, 0.125, {1: 0.125}),
        ]
        async with pool.acquire() as db, db.transaction():
            await store.add_shortfalls(db, asset.key, sealed)
            assert await store.read_shortfalls(db, [asset.key], first, asset.end) == {asset.key: sealed}
            assert await store.read_shortfalls(db, [asset.key], first + 2, first + 6) == {asset.key: sealed[1:2]}


class TestTheBackingOfAnAuction:
    async def test_is_promised_to_what_was_won_of_it_and_held_no_more(self, battery: Battery, operator: Any) -> None:
        """A quarter and three quarters of two batteries; each promise is held once, by the virtual asset."""
        pool, owner = battery.edge.pool, battery.organisation
        ids = [(await register(operator, owner.id))["id"] for _ in range(2)]
        shares = tuple(
            BackingShare(PhysicalAssetID(UUID(one)), share) for one, share in zip(ids, (0.25, 0.75), strict=True)
        )
        terms = replace((await stored(battery)).terms, backing=shares, charge_kw=800.0, discharge_kw=400.0)
        auction, won = uuid7(), uuid7()
        async with pool.acquire() as db:
            trial = db.transaction()
            await trial.start()
            await hold_backing(db, terms, HoldingKind.AUCTION, auction)
            promises = await transfer_backing(db, terms, auction, won, owner.id)
            held = await db.fetch(
                """select a.id, h.kind, h.holder_id, h.organisation_id, h.charge_kw, h.discharge_kw, h.energy_kwh
                   from capacity_holding h join asset a on a.key = h.asset_key where a.id = any($1::uuid[])
                   order by h.charge_kw""",
                ids,
            )
            await trial.rollback()
        parts = [(200.0, 100.0, 500.0), (600.0, 300.0, 1500.0)]
        assert [(one.charge_kw, one.discharge_kw, one.energy_kwh) for one in promises] == parts
        assert [tuple(row) for row in held] == [
            (UUID(id), "VIRTUAL_ASSET", won, owner.id, *part) for id, part in zip(ids, parts, strict=True)
        ]
