"""What a battery has promised stands in the way of retiring and moving it, and its holders learn of every change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.assets import PARAMETERS, AssetUnderTest, pointers, register_asset

from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency
from gridloom.capacity.store import LockedBatteries, write_holdings
from gridloom.kernel.market_time import format_instant, market_day_of, period_number, period_start
from gridloom.physical_assets.availability import changes
from gridloom.platform.http.application import Application

NOW = period_number(datetime.now(UTC))
FIRST = NOW + 960  # ten days ahead
LOSSES = OneWayEfficiency(1.0, 1.0)
PROMISE = Holding(HoldingKind.VIRTUAL_ASSET, uuid4(), FIRST, FIRST + 8, 1_000, 2_000, 3_000, losses=LOSSES)
OFFER = Holding(HoldingKind.AUCTION, uuid4(), FIRST + 4, FIRST + 6, 300, 400, 500, losses=LOSSES)
BID = Holding(HoldingKind.AFRR_CAPACITY, uuid4(), FIRST + 2, FIRST + 18, 0, 600.5, 600.5, product="POS_00_04")
WAITING = replace(BID, holder_id=uuid4(), is_firm=False, end=FIRST + 50)
OVER = replace(PROMISE, holder_id=uuid4(), first=NOW - 9, end=NOW)

Hold = Callable[..., Awaitable[int]]


@pytest.fixture
async def asset(new_organisation: Any) -> AssetUnderTest:
    return await register_asset(await new_organisation())


@pytest.fixture
async def hold(app: Application, asset: AssetUnderTest) -> AsyncIterator[Hold]:
    """Has the battery hold exactly this; nothing is left of it after the test."""
    key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))

    async def set_holdings(*holdings: Holding) -> int:
        await app.pool.execute("delete from capacity_holding where asset_key = $1", key)
        await write_holdings(app.pool, [], [(key, one) for one in holdings])
        return int(key)

    yield set_holdings
    await set_holdings()


def at(period: int) -> str:
    return format_instant(period_start(period))


async def retire(asset: AssetUnderTest) -> Any:
    return await asset.owner.engineer.change(asset.path(), json={"status": "INACTIVE"})


class TestRetiring:
    async def test_waits_for_every_firm_commitment_to_come_and_names_them_by_their_start(
        self, asset: AssetUnderTest, hold: Hold
    ) -> None:
        await hold(BID, PROMISE, OFFER, WAITING, OVER)
        refused = await retire(asset)
        assert (refused.status_code, refused.json()["type"]) == (409, "/docs/problems/asset-committed")
        assert f"(3: AFRR_CAPACITY, AUCTION, VIRTUAL_ASSET) stand until {at(BID.end)}" in refused.json()["detail"]
        promise, bid, offer = refused.json()["commitments"]
        assert promise == {
            "kind": "VIRTUAL_ASSET",
            "start": at(FIRST),
            "end": at(FIRST + 8),
            "charge": 1_000,
            "discharge": 2_000,
            "virtualAssetID": str(PROMISE.holder_id),
        }
        assert bid == {
            "kind": "AFRR_CAPACITY",
            "start": at(FIRST + 2),
            "end": at(FIRST + 18),
            "charge": 0,
            "discharge": 600.5,
            "bidID": str(BID.holder_id),
            "productDateCode": f"{market_day_of(period_start(BID.first))}_POS_00_04",
        }
        assert (offer["auctionID"], offer["charge"], offer["discharge"]) == (str(OFFER.holder_id), 300, 400)
        assert (await asset.owner.viewer.get(asset.path())).json()["status"] == "ACTIVE"
        await hold(WAITING, OVER)
        assert (await retire(asset)).json()["status"] == "INACTIVE", "a bid may still wait for its result"

    async def test_is_possible_while_all_is_out_for_all_of_that_time_which_then_has_to_stay_so(
        self, asset: AssetUnderTest, hold: Hold
    ) -> None:
        await hold(PROMISE)
        whole = {"charge": PARAMETERS["ratedChargePower"], "discharge": PARAMETERS["ratedDischargePower"]}
        outage = {
            "description": "",
            "type": "OUTAGE",
            "start": at(FIRST),
            "end": at(FIRST + 8),
            "volume": {"energyCapacity": PARAMETERS["energyCapacity"], "powerCapacity": whole},
        }
        lost = await asset.owner.engineer.post(asset.path("/unavailability"), json=outage)
        assert lost.status_code == 201, lost.text
        assert (await retire(asset)).status_code == 200
        for more, status in ({"ratedChargePower": 10_001}, 409), ({"ratedChargePower": 9_999}, 200):
            put = await asset.owner.engineer.put(asset.path("/parameters"), json={**PARAMETERS, **more})
            assert put.status_code == status, "more than is out would be left"
        [version] = (await asset.owner.viewer.get(asset.path("/parameters/history?limit=1"))).json()
        assert (version["version"], version["ratedChargePower"]) == (2, 9_999)
        await hold(PROMISE, BID)
        assert (await asset.owner.engineer.put(asset.path("/parameters"), json=PARAMETERS)).status_code == 200, (
            "what was not covered before is no reason"
        )
        assert (await retire(asset)).status_code == 200, "it is INACTIVE already"
        gone = await asset.owner.engineer.change(asset.path(), json={"status": "DECOMMISSIONED"})
        assert (gone.status_code, [one["kind"] for one in gone.json()["commitments"]]) == (409, ["AFRR_CAPACITY"])
        assert (await asset.owner.engineer.change(asset.path(), json={"status": "ACTIVE"})).status_code == 200
        assert (await retire(asset)).status_code == 409


class TestTheHealth:
    async def test_looks_as_far_ahead_as_an_outage_of_what_is_promised(self, asset: AssetUnderTest, hold: Hold) -> None:
        await hold(replace(PROMISE, end=FIRST + 96 * 300, discharge_kw=12_000))
        first = FIRST + 96 * 200
        outage = {
            "description": "",
            "type": "OUTAGE",
            "start": at(first),
            "end": at(first + 1),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 500}},
        }
        made = await asset.owner.engineer.post(asset.path("/unavailability"), json=outage)
        assert made.status_code == 201, made.text
        [conflict] = (await asset.owner.viewer.get(asset.path("/health"))).json()["conflicts"]
        assert (conflict["kind"], conflict["start"], conflict["end"]) == ("VIRTUAL_ASSET", at(first), at(first + 1))
        assert conflict["missing"] == {"charge": 0, "discharge": 500, "energy": 0}


class TestTheDeliveryZone:
    async def test_stays_while_a_virtual_asset_lies_in_it_that_is_not_over(
        self, asset: AssetUnderTest, hold: Hold
    ) -> None:
        async def move(zone: str) -> Any:
            return await asset.owner.engineer.change(asset.path(), json={"deliveryZone": zone})

        await hold(PROMISE)
        refused = await move("Amprion")
        assert (refused.status_code, pointers(refused)) == (422, ["/deliveryZone"])
        assert (await move("TenneT")).status_code == 200, "where it is"
        await hold(OVER, BID)
        assert (await move("Amprion")).json()["deliveryZone"] == "Amprion"


class TestAChangeOfWhatABatteryCanDo:
    async def test_is_propagated_under_the_batterys_lock(self) -> None:
        other = LockedBatteries(frozenset({8}), datetime.now(UTC))
        with pytest.raises(AssertionError):
            await changes.enqueue_revalidation(None, other, 7)  # type: ignore[arg-type]
