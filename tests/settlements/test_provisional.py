"""Accepted balancing bids are awards at once, marked as provisional, until they are settled."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from tests.ancillary.bidding import CAPACITY, DAY, FCR, SPRING, entry, place, record
from tests.assets import AssetUnderTest, register_asset

from gridloom.ancillary.awards import provisional_award_of
from gridloom.ancillary.products import parse_product_key
from gridloom.ancillary.result_store import AcceptedStep
from gridloom.kernel.market_time import block_window


@pytest.fixture
async def asset(new_organisation: Any) -> AssetUnderTest:
    return await register_asset(await new_organisation())


async def awards(operator: httpx2.AsyncClient, asset: AssetUnderTest, kind: str = "fcr") -> Any:
    return (await operator.get(f"/settlements/{kind}", params={"asset-id": asset.id})).json()


async def accept(asset: AssetUnderTest, product: str, *bids: dict[str, Any], day: str = DAY, **more: Any) -> list[str]:
    placed = (await place(asset, entry(product, *bids, day=day))).json()
    ids = [bid["id"] for bid in placed[0]["bids"]]
    for bid_id in ids:
        await record(asset, product, bid_id, day=day, **more)
    return ids


class TestAProvisionalAward:
    async def test_has_the_blocks_price_by_the_hour(self, operator: httpx2.AsyncClient, asset: AssetUnderTest) -> None:
        await accept(asset, "NEGPOS_08_12", FCR, capacity=5000, settlementPrice=60)
        [award] = await awards(operator, asset)
        assert (award["capacity"], award["settlementPrice"], award["deliveryHours"]) == (5.0, 15.0, 4.0)
        assert award["origin"] == "PROVISIONAL"

    async def test_weighs_several_steps_and_pays_afrr_as_bid(
        self, operator: httpx2.AsyncClient, asset: AssetUnderTest
    ) -> None:
        first = {"capacityPrice": 8, "offeredCapacity": 3000, "energyPrice": 100}
        second = {"capacityPrice": 12, "offeredCapacity": 1000, "energyPrice": 100}
        placed = (await place(asset, entry("POS_08_12", first, second))).json()
        for bid in placed[0]["bids"]:
            await record(asset, "POS_08_12", bid["id"], capacity=bid["offeredCapacity"])
        [award] = await awards(operator, asset, "afrr-capacity")
        assert (award["capacity"], award["price"]) == (4.0, 9.0)

    async def test_follows_a_correction(self, operator: httpx2.AsyncClient, asset: AssetUnderTest) -> None:
        await accept(await register_asset(asset.owner), "NEGPOS_12_16", FCR, capacity=5000)
        [bid_id] = await accept(asset, "NEGPOS_08_12", FCR, capacity=5000, settlementPrice=60)
        await accept(asset, "NEGPOS_12_16", FCR, accepted=False)  # which was never one
        await record(asset, "NEGPOS_08_12", bid_id, accepted=False, correction=True)
        [award] = await awards(operator, asset)
        assert award["product"] == "NEGPOS_08_12"
        assert award["capacity"] == 0.0
        [bid_id] = await accept(asset, "POS_08_12", CAPACITY, capacity=2000)
        await record(asset, "POS_08_12", bid_id, accepted=False, correction=True)
        [award] = await awards(operator, asset, "afrr-capacity")
        assert (award["product"], award["capacity"]) == ("POS_08_12", 0.0)

    async def test_is_marked_in_the_data_points(self, asset: AssetUnderTest) -> None:
        await accept(asset, "NEGPOS_08_12", FCR, capacity=5000, settlementPrice=60)
        window = block_window(date.fromisoformat(DAY), 8, 12)
        answer = await asset.owner.trader.get(
            f"/revenue-reporting/physical-assets/{asset.id}/data-points",
            params={
                "start": window.start.isoformat(),
                "end": window.end.isoformat(),
                "datapoints": "revenue_fcr,revenue_wholesale",
                "resolution": "daily",
            },
        )
        marks = {entry["dataPointName"]: entry.get("provisional") for entry in answer.json()["metaData"]}
        assert marks == {"revenue_fcr": True, "revenue_wholesale": None}
        assert answer.json()["data"]["revenue_fcr"][0]["value"] == pytest.approx(300.0)


class TestAwardOf:
    def test_divides_by_three_hours_in_spring(self) -> None:
        award = provisional_award_of(
            parse_product_key(f"{SPRING}_NEGPOS_00_04"), [AcceptedStep(1000.0, Decimal("66.86"))]
        )
        assert award.price_eur_mw_h == Decimal("22.286667")
