"""Blocks whose schedules no longer fit are named when the battery behind them loses capacity."""

from datetime import datetime, timedelta
from uuid import UUID

import httpx2
import numpy as np
import pytest
from tests.virtual_assets.conftest import QUARTER, Battery, MakeBattery, new_asset, wire

from gridloom.kernel.window import Window
from gridloom.physical_assets.conflicts import find_conflicts
from gridloom.virtual_assets.backing.shortfall import load_shortfalls_of_each
from gridloom.virtual_assets.backing.store import read_recorded_outages
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

    async def test_is_announced_from_when_its_outage_last_grew(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        lost = await lose(battery, battery.start, battery.end, power=600)
        pool, grown = battery.edge.pool, battery.start - timedelta(hours=1)
        await pool.execute("update unavailability set recorded_at = $2 where id = $1", UUID(lost.json()["id"]), grown)
        key = await pool.fetchval("select key from asset where id = $1", UUID(battery.physical[0]["id"]))
        [outage] = await read_recorded_outages(pool, [key], battery.start, battery.end)
        assert outage.recorded_at == grown
        made = await pool.fetchval(
            "update unavailability set recorded_at = null where id = $1 returning created_at", UUID(lost.json()["id"])
        )
        [outage] = await read_recorded_outages(pool, [key], battery.start, battery.end)
        assert outage.recorded_at == made, "one of an older release, from when it was made"

    async def test_of_several_assets_read_together_is_that_of_each_alone(
        self, make_battery: MakeBattery, operator: httpx2.AsyncClient
    ) -> None:
        """Of one that begins later and whose gates close an hour before, and of one that is over before."""
        size = {"ratedChargePower": 400, "ratedDischargePower": 500, "energyCapacity": 800}
        battery = await make_battery(**size)
        lives = ((battery.start + 2 * QUARTER, battery.end), (battery.start - 8 * QUARTER, battery.start + 2 * QUARTER))
        ids = [battery.asset["id"]]
        for first, last in lives:
            body = new_asset(battery.physical, **size, start=wire(first), end=wire(last))
            made = await operator.post(
                f"/organisations/{battery.organisation.id}/virtual-assets",
                json=body | {"dispatchGateClosureSeconds": 3600},
            )
            assert made.status_code == 201, made.text
            ids.append(made.json()["id"])
        for power, place in ((900, 1), (1000, 4)):
            lost = await lose(battery, battery.start + place * QUARTER, battery.end, power=power, charge=800)
            assert lost.status_code == 201, lost.text
        pool = battery.edge.pool
        keys = [await pool.fetchval("select key from asset where id = $1", UUID(one)) for one in ids]
        assets = [asset for asset in [await read_asset_by_key(pool, key) for key in keys] if asset is not None]
        span, now = (assets[0].first - 4, assets[0].first + 8), battery.start + 3 * QUARTER
        together = await load_shortfalls_of_each(pool, assets, *span, now)
        for asset in assets:
            alone = (await load_shortfalls_of_each(pool, [asset], *span, now))[asset.key]
            found = together[asset.key]
            assert (found.first, found.missing.tolist()) == (alone.first, alone.missing.tolist())
            assert {key: short.tolist() for key, short in found.by_battery.items()} == {
                key: short.tolist() for key, short in alone.by_battery.items()
            }
        assert [np.flatnonzero(together[key].missing).tolist() for key in keys] == [[1, 2, 3], [0, 1, 2, 3, 4, 5], [5]]


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

    async def test_are_named_where_the_store_grows_too_small(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        assert (await battery.put([-1000.0] * 4 + [0.0, 400.0])).status_code == 200  # 225 kWh each, to 1900 kWh
        created = await lose(battery, battery.start, battery.end, energy=500)
        promise, conflict = created.json()["conflicts"]
        assert promise["missing"] == {"charge": 0, "discharge": 0, "energy": 500}
        assert conflict["id"] == battery.asset["blockIDs"][0]
        assert (conflict["start"], conflict["end"]) == (
            wire(battery.start + 2 * QUARTER),
            wire(battery.start + 4 * QUARTER),
        )
        assert (conflict["power"], conflict["available"]) == (-1000, 0)
        assert "will hold 1500 of 1500 kWh" in conflict["detail"]

    async def test_are_named_where_lost_power_leaves_the_store_too_full(self, make_battery: MakeBattery) -> None:
        """What is not discharged is still there when the charging comes: 632 kWh leave instead of 842."""
        battery = await make_battery()
        assert (await battery.put([800.0] * 4 + [-400.0] * 19)).status_code == 200
        created = await lose(battery, battery.start, battery.end, power=600)
        blocks = [each for each in created.json()["conflicts"] if each["kind"] == "VIRTUAL_ASSET_BLOCK"]
        assert [(each["power"], each["start"]) for each in blocks] == [
            (800, wire(battery.start)),
            (-400, wire(battery.start + 22 * QUARTER)),
        ]
        room_kwh = 2000 - (1000 - 600 / 0.95 + 18 * 100 * 0.9)
        assert [each["available"] for each in blocks] == pytest.approx([600, 4 * room_kwh / 0.9])
        assert f"will hold {2000 - room_kwh:g} of 2000 kWh" in blocks[1]["detail"]

    async def test_are_none_of_the_store_where_lost_power_leaves_it_room(self, make_battery: MakeBattery) -> None:
        """The schedule alone would fill 1900 of 1800 kWh; half of the charging is lost, and what is left fits."""
        battery = await make_battery()
        assert (await battery.put([-1000.0] * 4)).status_code == 200
        created = await lose(battery, battery.start, battery.end, power=500, energy=200)
        blocks = [each for each in created.json()["conflicts"] if each["kind"] == "VIRTUAL_ASSET_BLOCK"]
        assert [(each["power"], each["available"]) for each in blocks] == [(-1000, 500)]

    async def test_are_looked_for_with_as_many_statements_however_many_assets_a_battery_backs(
        self, make_battery: MakeBattery, operator: httpx2.AsyncClient
    ) -> None:
        battery = await make_battery()
        assert (await battery.put([800])).status_code == 200
        key = await battery.edge.pool.fetchval("select key from asset where id = $1", UUID(battery.physical[0]["id"]))
        window = Window(battery.start - timedelta(days=1), battery.start + timedelta(days=40))

        async def statements() -> int:
            asked: list[object] = []
            async with battery.edge.pool.acquire() as connection:
                await find_conflicts(connection, key, window, battery.start)  # a new connection asks about types first
                with connection.query_logger(asked.append):
                    found = await find_conflicts(connection, key, window, battery.start)
                    assert {conflict.kind for conflict in found} <= {"VIRTUAL_ASSET"}
            return len(asked)

        with_one = await statements()
        for place in range(1, 6):
            start = battery.start + timedelta(days=2 * place)
            url = f"/organisations/{battery.organisation.id}/virtual-assets"
            body = new_asset(battery.physical, start=wire(start), end=wire(start + timedelta(days=2)))
            assert (await operator.post(url, json=body)).status_code == 201
        assert await statements() == with_one
        start = battery.start + timedelta(days=6)
        answer = await lose(battery, start, start + QUARTER, power=500)
        assert [conflict["kind"] for conflict in answer.json()["conflicts"]] == ["VIRTUAL_ASSET"]
        assert await statements() < with_one + 5
