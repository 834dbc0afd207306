"""Blocks whose schedules no longer fit are named when the battery behind them loses capacity."""

from datetime import datetime, timedelta
from uuid import UUID

import httpx2
from tests.virtual_assets.conftest import QUARTER, Battery, MakeBattery, wire

from gridloom.virtual_assets.backing.shortfall import load_shortfalls_of_each
from gridloom.virtual_assets.store import read_asset_by_key


async def lose(
    battery: Battery,
    start: datetime,
    end: datetime,
    *,
    power: float = 0,
    energy: float = 0,
    charge: float | None = None,
) -> httpx2.Response:
    """An outage of the battery behind the asset: of the same power either way unless `charge` says otherwise."""
    return await battery.organisation.engineer.post(
        f"/physical-assets/{battery.physical[0]['id']}/unavailability",
        json={
            "description": "",
            "type": "OUTAGE",
            "start": wire(start),
            "end": wire(end),
            "volume": {
                "energyCapacity": energy,
                "powerCapacity": {"charge": power if charge is None else charge, "discharge": power},
            },
        },
    )


class TestAShortfall:
    async def test_is_that_of_periods_whose_gates_have_closed(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        lost = await lose(battery, battery.start, battery.end, power=600, charge=500)
        assert lost.status_code == 201, lost.text
        pool = battery.edge.pool
        key = await pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
        asset = await read_asset_by_key(pool, key)
        assert asset is not None
        five_minutes = timedelta(minutes=5)  # gates close eight minutes before their periods
        for now, closed in (
            (battery.start - QUARTER, 0),
            (battery.start - five_minutes, 1),
            (battery.start + 2 * QUARTER - five_minutes, 3),
            (battery.end, 4),
        ):
            found = await load_shortfalls_of_each(pool, [asset], asset.first, asset.first + 4, now)
            assert found[key].missing.tolist() == [0.5] * closed + [0] * (4 - closed)


class TestBlocksInConflict:
    async def test_are_named_by_the_unavailability_and_by_the_batterys_health(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        put = await battery.put([800, -800, -300, 0, 900])
        assert put.status_code == 200, put.text
        physical_id = battery.physical[0]["id"]
        path = f"/physical-assets/{physical_id}"
        start = battery.start + timedelta(minutes=7)
        created = await lose(battery, start, start + timedelta(minutes=60), power=500, charge=600)
        assert created.status_code == 201, created.text
        found = [
            (each["kind"], each["id"], each["start"], each["end"], each["power"], each["available"])
            for each in created.json()["conflicts"]
            if each["kind"] != "VIRTUAL_ASSET"
        ]
        block = battery.asset["blockIDs"][0]
        kind = "VIRTUAL_ASSET_BLOCK"
        assert found == [
            (kind, block, wire(battery.start), wire(battery.start + 2 * QUARTER), -800, 400),
            (kind, block, wire(battery.start + 4 * QUARTER), wire(battery.start + 5 * QUARTER), 900, 700),
        ]
        (promise,) = (each for each in created.json()["conflicts"] if each["kind"] == "VIRTUAL_ASSET")
        assert promise["missing"] == {"charge": 600, "discharge": 500, "energy": 0}
        assert (promise["start"], promise["end"]) == (wire(battery.start), wire(battery.start + 5 * QUARTER))
        assert {each["virtualAssetID"] for each in created.json()["conflicts"]} == {battery.asset["id"]}
        health = await battery.organisation.viewer.get(f"{path}/health")
        assert health.json()["conflicts"] == created.json()["conflicts"]

    async def test_are_none_where_promises_are_kept(self, make_battery: MakeBattery) -> None:
        battery = await make_battery(ratedChargePower=400, ratedDischargePower=400)
        assert (await battery.put([400, -400])).status_code == 200
        created = await lose(battery, battery.start, battery.end, power=600)
        assert created.status_code == 201, created.text
        assert created.json()["conflicts"] == []
