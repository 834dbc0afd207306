"""Gates close by the platform's clock, to the moment, whatever the machine's own clock says."""

from dataclasses import replace
from datetime import datetime, time, timedelta
from uuid import uuid4

import pytest
from tests.assets import register_asset
from tests.conftest import migrated_database, running
from tests.people import People

from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.products import product_key
from gridloom.kernel.market_time import market_day_of

BIDS = {
    "NEGPOS_00_04": {"capacityPrice": 1, "offeredCapacity": 1000},
    "POS_00_04": {"capacityPrice": 1, "offeredCapacity": 1000, "energyPrice": 1},
    "NEG_001": {"capacityPrice": 0, "offeredCapacity": 1000, "energyPrice": 1},
}


async def set_clock(edge, moment: datetime) -> None:
    await edge.pool.execute("update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()", moment)


@pytest.mark.parametrize("product", BIDS)
async def test_a_bid_just_in_time_counts_and_one_just_too_late_is_refused(fresh_app, product):
    edge = await fresh_app()
    async with People(edge) as people:
        await people.operator()
        owner = await people.new_organisation()
        asset = await register_asset(owner)
        now = await edge.pool.fetchval("select platform_now()")
        day = market_day_of(now) + timedelta(days=10)
        closure = TenderGates().closure(product_key(day, product))
        body = [{"deliveryDay": day.isoformat(), "product": product, "bids": [BIDS[product]]}]
        await set_clock(edge, closure - timedelta(seconds=30))
        known = [{**body[0], "bids": [{**BIDS[product], "id": str(uuid4())}]}]
        early = await owner.trader.post(asset.path("/ancillary/bids"), json=known)
        assert early.status_code == 201, early.text
        await set_clock(edge, closure)
        again = await owner.trader.post(asset.path("/ancillary/bids"), json=known)
        assert (again.status_code, again.json()) == (201, early.json()), "it was placed in time"
        later = {**body[0], "product": "NEG_092", "bids": [BIDS["NEG_001"]]}
        beside = await owner.trader.post(asset.path("/ancillary/bids"), json=[*known, later])
        assert (beside.status_code, beside.json()[:1]) == (201, early.json()), "only what is new must be in time"
        late = await owner.trader.post(asset.path("/ancillary/bids"), json=body)
        assert late.status_code == 422
        assert late.json()["type"] == "/docs/problems/product-gate-closed"
        bid_id = early.json()[0]["bids"][0]["id"]
        withdrawn = await owner.trader.delete(asset.path(f"/ancillary/bids/{bid_id}"))
        assert withdrawn.status_code == 422
        # The result comes after the gate and is welcome then.
        result = {"bidID": bid_id, "accepted": True, "acceptedCapacity": 1000}
        recorded = await owner.trader.post(
            asset.path("/ancillary/results"),
            json=[{"deliveryDay": day.isoformat(), "product": product, "results": [result]}],
        )
        assert recorded.status_code == 201


async def test_a_gate_that_is_set_to_close_earlier_closes_earlier(settings):
    async with migrated_database() as url:
        asked = replace(settings, database_url=url, gate_closure_fcr=time(6))
        async with running(asked) as edge, People(edge) as people:
            await people.operator()
            owner = await people.new_organisation()
            asset = await register_asset(owner)
            day = market_day_of(await edge.pool.fetchval("select platform_now()")) + timedelta(days=10)
            usual = TenderGates().closure(product_key(day, "NEGPOS_00_04"))
            body = [{"deliveryDay": day.isoformat(), "product": "NEGPOS_00_04", "bids": [BIDS["NEGPOS_00_04"]]}]
            for hours_before, status in ((2.5, 201), (1.5, 422)):
                await set_clock(edge, usual - timedelta(hours=hours_before))
                answer = await owner.trader.post(asset.path("/ancillary/bids"), json=body)
                assert answer.status_code == status, answer.text
