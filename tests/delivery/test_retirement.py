"""A battery with commitments is not retired, unless it is known to be out for all of them; then it does nothing."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, new_asset, wire

from gridloom.kernel.market_time import market_day_of, market_day_window

RETIRED = ("INACTIVE", "DECOMMISSIONED")


def path(battery: dict[str, Any], rest: str = "") -> str:
    return f"/physical-assets/{battery['id']}{rest}"


async def retire(yard: Yard, battery: dict[str, Any], status: str = "DECOMMISSIONED") -> Any:
    return await yard.owner.engineer.change(path(battery), json={"status": status})


async def lose(
    yard: Yard, battery: dict[str, Any], start: datetime, end: datetime, power: float = 1000, energy: float = 2000
) -> Any:
    answer = await yard.owner.engineer.post(
        path(battery, "/unavailability"),
        json={
            "description": "The end",
            "type": "OUTAGE",
            "start": wire(start),
            "end": wire(end),
            "volume": {"energyCapacity": energy, "powerCapacity": {"charge": power, "discharge": power}},
        },
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


class TestRetiringABattery:
    @pytest.mark.parametrize("status", RETIRED)
    async def test_that_backs_a_virtual_asset_is_refused_with_its_holdings(self, yard: Yard, status: str) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        answer = await retire(yard, battery, status)
        assert answer.status_code == 409
        assert answer.json()["type"] == "/docs/problems/asset-committed"
        [stands] = answer.json()["commitments"]
        assert (stands["kind"], stands["virtualAssetID"]) == ("VIRTUAL_ASSET", virtual["id"])
        assert (stands["start"], stands["end"]) == (virtual["start"], virtual["end"])
        assert (await yard.owner.viewer.get(path(battery))).json()["status"] == "ACTIVE"

    async def test_without_a_holder_is_allowed_and_undone_at_will(self, yard: Yard) -> None:
        battery = await yard.battery()
        for status in (*RETIRED, "ACTIVE"):
            assert (await retire(yard, battery, status)).json()["status"] == status

    async def test_is_refused_unless_its_whole_volume_is_out_for_all_its_holdings(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        start, end = (datetime.fromisoformat(virtual[edge]) for edge in ("start", "end"))
        await lose(yard, battery, start, end - QUARTER)
        assert (await retire(yard, battery)).status_code == 409, "a quarter-hour is left"
        await lose(yard, battery, end - QUARTER, end, energy=1999)
        assert (await retire(yard, battery)).status_code == 409, "a kilowatt-hour is left"
        await lose(yard, battery, end - QUARTER, end, power=0, energy=1)
        assert (await retire(yard, battery)).status_code == 200

    async def test_holds_until_its_holdings_are_over(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        start, end = (datetime.fromisoformat(virtual[edge]) for edge in ("start", "end"))
        outage = path(battery, f"/unavailability/{(await lose(yard, battery, start, end))['id']}")
        assert (await retire(yard, battery)).status_code == 200
        engineer = yard.owner.engineer
        more = {
            "ratedChargePower": 1000,
            "ratedDischargePower": 1001,
            "energyCapacity": 2000,
            "chargeEfficiency": 0.9,
            "dischargeEfficiency": 0.9,
        }
        refused = [
            await engineer.delete(outage),
            await engineer.change(outage, json={"start": wire(start + QUARTER)}),
            await engineer.put(path(battery, "/parameters"), json=more),
        ]
        assert {answer.json()["type"] for answer in refused} == {"/docs/problems/asset-committed"}
        assert (await engineer.change(outage, json={"end": wire(end + QUARTER)})).status_code == 200
        assert (await retire(yard, battery, "ACTIVE")).status_code == 200
        assert (await engineer.delete(outage)).status_code == 204

    async def test_leaves_its_unavailabilities_to_its_owner_though_a_bid_is_accepted_after_it(self, yard: Yard) -> None:
        battery = await yard.battery()
        day = market_day_of(yard.start) + timedelta(days=2)
        window = market_day_window(day)
        product = {"deliveryDay": day.isoformat(), "product": "NEG_16_20"}
        step = {"capacityPrice": 10, "offeredCapacity": 1000, "energyPrice": 50}
        bids = await yard.owner.trader.post(path(battery, "/ancillary/bids"), json=[{**product, "bids": [step]}])
        assert bids.status_code == 201, bids.text
        other = await lose(yard, battery, window.end, window.end + QUARTER, power=100, energy=0)
        assert (await retire(yard, battery)).status_code == 200, "a bid without a result is no commitment"
        result = {"bidID": bids.json()[0]["bids"][0]["id"], "accepted": True, "acceptedCapacity": 1000}
        results = [{**product, "results": [{**result, "settlementPrice": 10}]}]
        answer = await yard.owner.admin.post(path(battery, "/ancillary/results"), json=results)
        assert answer.status_code == 201, answer.text
        engineer, url = yard.owner.engineer, path(battery, f"/unavailability/{other['id']}")
        assert (await engineer.change(url, json={"description": "Fan"})).status_code == 200
        assert (await engineer.delete(url)).status_code == 204
        covering = await lose(yard, battery, window.start, window.end)
        url = path(battery, f"/unavailability/{covering['id']}")
        assert (await engineer.change(url, json={"end": wire(window.start + QUARTER)})).status_code == 409
        assert (await engineer.delete(url)).status_code == 409, "from now on it is out for its commitment"

    async def test_has_it_dispatched_nothing_and_owe_what_is_missing(self, yard: Yard) -> None:
        retired, other = await yard.battery(), await yard.battery()
        virtual = await yard.virtual(retired, other, ratedChargePower=2000, ratedDischargePower=2000)
        await yard.schedule(virtual, [1500.0, 1500.0])
        await lose(yard, retired, await yard.now(), datetime.fromisoformat(virtual["end"]))
        assert (await retire(yard, retired)).status_code == 200
        await yard.gate_of(3)
        assert {point["power"] for point in (await yard.dispatch(retired))["dispatch"]} <= {0}
        assert (await yard.powers(other, 2))[0] == 1000
        health = (await yard.owner.viewer.get(path(retired, "/health"))).json()
        [conflict, *_] = [one for one in health["conflicts"] if one["kind"] == "VIRTUAL_ASSET"]
        assert (conflict["missing"]["charge"], conflict["missing"]["discharge"]) == (1000, 1000)
        points = [{"time": wire(yard.start + 8 * QUARTER), "power": 1.0}]
        put = await yard.owner.trader.put(path(retired, "/schedule"), json={"schedule": points})
        assert put.status_code in (409, 422)

    async def test_and_promising_it_at_the_same_time_never_both_succeed(self, yard: Yard) -> None:
        for _ in range(4):
            battery = await yard.battery()
            body = new_asset([battery], start=wire(yard.start), end=wire(yard.start + timedelta(days=1)))
            promised, retired = await asyncio.gather(
                yard.operator.post(f"/organisations/{yard.trader.id}/virtual-assets", json=body), retire(yard, battery)
            )
            assert sorted([promised.status_code, retired.status_code]) in ([200, 409], [201, 409])
