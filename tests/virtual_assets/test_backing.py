"""What of its batteries backs a virtual asset: promises, outages and shortfalls as they are stored and read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.virtual_assets.conftest import QUARTER, Battery, MakeBattery, new_asset, register, wire
from tests.virtual_assets.test_conflicts import lose

from gridloom.capacity.model import HoldingKind
from gridloom.kernel.ids import PhysicalAssetID, uuid7
from gridloom.kernel.market_time import market_day_of
from gridloom.kernel.window import Window
from gridloom.platform.jobs import JobRun
from gridloom.virtual_assets.backing import store
from gridloom.virtual_assets.backing.availability import load_available_of_each
from gridloom.virtual_assets.backing.holdings import hold_backing, transfer_backing
from gridloom.virtual_assets.backing.store import ShortfallInterval, read_recorded_outages
from gridloom.virtual_assets.gate_closure.revalidation import (
    announced_before,
    enqueue_backed_assets,
    with_announced,
)
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason, BackingShare, VirtualAsset
from gridloom.virtual_assets.schedule.notifications import CLOSE_GATE
from gridloom.virtual_assets.store import read_asset_by_key

HOUR = 4 * QUARTER


@pytest.fixture
async def battery(make_battery: MakeBattery) -> Battery:
    return await make_battery()


async def stored(battery: Battery) -> VirtualAsset:
    key = await battery.edge.pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
    asset = await read_asset_by_key(battery.edge.pool, key)
    assert asset is not None
    return asset


class TestRecordedOutages:
    async def test_are_those_of_the_batteries_that_overlap_the_window(self, battery: Battery) -> None:
        """One before it, one into it, one within it, one out of it and one after it."""
        start, pool = battery.start, battery.edge.pool
        spans = [(0, 1), (1, 3), (3, 4), (4, 6), (5, 6)]
        for power, (first, end) in enumerate(spans, start=1):
            lost = await lose(battery, start + first * HOUR, start + end * HOUR, power=power, charge=10 + power)
            assert lost.status_code == 201, lost.text
        asset = await stored(battery)
        [key] = [promise.physical_asset_key for promise in asset.promises]
        found = await read_recorded_outages(pool, [key], start + 2 * HOUR, start + 5 * HOUR)
        assert [(one.asset_key, one.outage.discharge_power_kw, one.outage.charge_power_kw) for one in found] == [
            (key, power, 10 + power) for power in (2, 3, 4)
        ]
        assert await read_recorded_outages(pool, [key + 1_000_000], start, start + HOUR) == []


class TestWhatIsAnnounced:
    async def test_is_what_was_recorded_before_noon_of_the_day_before_each_market_day(self, battery: Battery) -> None:
        """The second outage came too late for the first of two days, and in time for the second."""
        asset, pool = await stored(battery), battery.edge.pool
        day = market_day_of(battery.start)
        for charge, discharge, recorded_at in (
            (200, 300, announced_before(day) - HOUR),
            (100, 360, announced_before(day) + HOUR),
            (50, 60, announced_before(day + timedelta(days=1)) + HOUR),
        ):
            lost = await lose(battery, battery.start, battery.end, power=discharge, charge=charge)
            assert lost.status_code == 201, lost.text
            outage = UUID(lost.json()["id"])
            await pool.execute("update unavailability set recorded_at = $2 where id = $1", outage, recorded_at)
        places = {asset.first: 1200.0, asset.first + 1: -1000.0, asset.end - 2: 1200.0, asset.end - 1: -1000.0}
        cuts = [Adjustment(period, kw, 0.0, AdjustmentReason.AVAILABILITY) for period, kw in places.items()]
        found = await with_announced(pool, asset, cuts, own_cycles=False)
        assert [one.announced_kw for one in found] == pytest.approx([900, -800, 540, -700])


class TestAvailability:
    async def test_is_that_of_the_life_of_each_asset_within_the_window(self, battery: Battery) -> None:
        asset, day = await stored(battery), timedelta(days=1)
        pool, life = battery.edge.pool, asset.terms.window
        whole = Window(life.start - day, life.end + day)
        [(_, found)] = await load_available_of_each(pool, [asset], whole)
        assert (found.first, found.end) == (asset.first, asset.end)
        [(_, found)] = await load_available_of_each(pool, [asset], Window(life.start + HOUR, life.start + 2 * HOUR))
        assert (found.first, found.end) == (asset.first + 4, asset.first + 8)
        for over in (Window(life.start - day, life.start), Window(life.end, life.end + day)):
            assert await load_available_of_each(pool, [asset], over) == []


class TestTheAssetsOfABattery:
    async def test_are_those_that_live_in_a_window_or_are_not_over(self, battery: Battery, operator: Any) -> None:
        """Of which one begins when the other ends."""
        owner, pool, life = battery.organisation, battery.edge.pool, (battery.start, battery.end)
        later = new_asset(battery.physical, start=wire(life[1]), end=wire(life[1] + HOUR))
        made = await operator.post(f"/organisations/{owner.id}/virtual-assets", json=later)
        assert made.status_code == 201, made.text
        one, two = [
            await pool.fetchval("select key from asset where id = $1", UUID(asset["id"]))
            for asset in (battery.asset, made.json())
        ]
        [key] = [promise.physical_asset_key for promise in (await stored(battery)).promises]
        for start, end, keys in (
            (life[0] - HOUR, life[0], []),
            (life[0] - HOUR, life[0] + QUARTER, [one]),
            (life[1] - QUARTER, life[1], [one]),
            (life[1] - QUARTER, life[1] + QUARTER, [one, two]),
            (life[1], life[1] + QUARTER, [two]),
            (life[1] + HOUR, life[1] + 2 * HOUR, []),
        ):
            found = await store.read_assets_backed_by(pool, key, Window(start, end))
            assert [asset.key for asset in found] == keys
        async with pool.acquire() as db:
            trial = db.transaction()
            await trial.start()
            for now, keys in ((life[1] - QUARTER, [one, two]), (life[1], [two]), (life[1] + HOUR, [])):
                assert [asset.key for asset in await store.lock_assets_backed_by(db, key, now)] == keys
            due = life[1] - QUARTER
            await enqueue_backed_assets(JobRun(db=db, kind="", key=str(key), payload={}, due=due, attempt=1))
            jobs = "select key, due from job where kind = $1 and key = any($2::text[])"
            rows = await db.fetch(jobs, CLOSE_GATE, [str(one), str(two)])
            await trial.rollback()
        assert {row["key"]: row["due"] for row in rows} == {str(one): due, str(two): due}


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
