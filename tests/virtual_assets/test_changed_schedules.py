"""What a change of a schedule is validated against, and what it leaves behind."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from tests.platform.database.statements import gather
from tests.virtual_assets.conftest import QUARTER, Battery, MakeBattery
from tests.virtual_assets.test_revalidation import lose, make
from tests.virtual_assets.test_schedules import problem

__all__ = ["make"]  # a fixture


async def key_of(battery: Battery) -> int:
    return int(await battery.edge.pool.fetchval("select key from asset where id = $1", battery.asset["id"]))


async def versions_of(battery: Battery) -> list[int]:
    rows = await battery.edge.pool.fetch(
        "select version from schedule_version where asset_key = $1 order by version", await key_of(battery)
    )
    return [row["version"] for row in rows]


async def details_of(battery: Battery) -> list[Any]:
    entries = await battery.organisation.admin.get("/audit-log", params={"resource": battery.block_url})
    return [entry["details"] for entry in entries.json()]


async def event_versions_of(battery: Battery) -> list[int]:
    rows = await battery.edge.pool.fetch(
        """select (data ->> 'version')::int as version from event_outbox
           where type = 'schedule.updated' and subject = $1
           union select (data ->> 'version')::int from event where type = 'schedule.updated' and subject = $1
           order by version""",
        f"virtual-assets/{battery.asset['id']}",
    )
    return [row["version"] for row in rows]


async def known_battery(make_battery: MakeBattery) -> Battery:
    battery = await make_battery()
    assert (await battery.put([10])).status_code == 200
    return battery


class TestAChangeOfASchedule:
    async def test_leaves_a_version_an_event_and_a_line_of_the_log(self, make_battery: MakeBattery):
        battery = await known_battery(make_battery)
        answer = await battery.put([20, 30], offset=4)
        assert answer.status_code == 200
        assert await versions_of(battery) == [1, 2, 3]
        assert await details_of(battery) == [{"version": 3, "periods": 2}, {"version": 2, "periods": 1}]
        assert await event_versions_of(battery) == [2, 3]

    async def test_follows_a_move_to_a_portfolio_with_its_etag(self, make_battery: MakeBattery):
        battery = await known_battery(make_battery)
        portfolios = f"/organisations/{battery.organisation.id}/portfolios"
        portfolio = (await battery.client.post(portfolios, json={"name": "North"})).json()
        moved = await battery.client.change(battery.url, json={"portfolioID": portfolio["id"]})
        etag = {"If-Match": moved.headers["ETag"]}
        answer = await battery.client.put(battery.block_url, json=battery.points([5]), headers=etag)
        assert answer.status_code == 200, answer.text
        assert answer.headers["ETag"] == (await battery.client.get(battery.url)).headers["ETag"]

    async def test_is_for_the_owner_alone(self, make_battery: MakeBattery):
        battery, other = await known_battery(make_battery), await known_battery(make_battery)
        url = f"/organisations/{other.organisation.id}/virtual-assets/{battery.asset['id']}"
        answer = await other.client.put(
            f"{url}/blocks/{battery.asset['blockIDs'][0]}", json=battery.points([5]), params={}
        )
        assert answer.status_code == 404
        assert await versions_of(battery) == [1, 2]

    async def test_is_refused_where_a_battery_has_lost_power_that_no_revalidation_has_seen(
        self, make_battery: MakeBattery
    ):
        battery = await known_battery(make_battery)
        await lose(battery, 20, 30, power=900)
        problem(await battery.put([500], offset=22), 422, "power-beyond-available")
        assert (await battery.put([90], offset=22)).status_code == 200
        assert (await battery.put([500], offset=40)).status_code == 200

    async def test_is_refused_where_a_battery_is_rated_for_less(self, make_battery: MakeBattery, operator: Any):
        battery = await known_battery(make_battery)
        parameters = {"ratedChargePower": 1000, "ratedDischargePower": 500, "energyCapacity": 2000}
        answer = await operator.put(
            f"/physical-assets/{battery.physical[0]['id']}/parameters",
            json={**parameters, "chargeEfficiency": 0.9, "dischargeEfficiency": 0.9},
        )
        assert answer.status_code == 200, answer.text
        problem(await battery.put([900], offset=22), 422, "power-beyond-available")

    async def test_is_refused_once_its_gate_has_closed(self, make: MakeBattery):
        battery = await known_battery(make)
        await battery.edge.pool.execute(
            "update sandbox_clock set ahead = $1::timestamptz - clock_timestamp()",
            battery.start + 9 * QUARTER - timedelta(minutes=5),
        )
        problem(await battery.put([30], offset=9), 409, "gate-closed")
        assert await versions_of(battery) == [1, 2]
        assert (await battery.put([30], offset=17)).status_code == 200

    async def test_builds_on_the_rows_where_a_fail_over_has_lost_a_version(self, make_battery: MakeBattery):
        """Another change has made the same version and revision again, with another name and schedule."""
        battery = await known_battery(make_battery)
        key, pool = await key_of(battery), battery.edge.pool
        end_kwh = await pool.fetchval("select end_kwh from virtual_asset where asset_key = $1", key)
        [day] = await pool.fetch("select day, power_kw from virtual_schedule where asset_key = $1", key)
        [energy] = await pool.fetch(
            "select change_kwh, lowest_kwh, highest_kwh, exported_kwh from virtual_energy where asset_key = $1", key
        )
        lost = await battery.put([1000] * 3, offset=1)
        await pool.execute("update virtual_schedule set power_kw = $3 where asset_key = $1 and day = $2", key, *day)
        await pool.execute(
            """update virtual_energy set change_kwh = $2, lowest_kwh = $3, highest_kwh = $4, exported_kwh = $5
               where asset_key = $1""",
            key,
            *energy,
        )
        await pool.execute("update virtual_asset set name = 'L 2', end_kwh = $2 where asset_key = $1", key, end_kwh)
        etag = {"If-Match": lost.headers["ETag"]}
        answer = await battery.client.put(battery.block_url, json=battery.points([7], 20), headers=etag)
        assert answer.status_code == 412
        assert (await battery.put([7], offset=20)).status_code == 200
        assert [point["power"] for point in (await battery.life())["schedule"][:21]] == [10, *[0] * 19, 7]
        lowest_kwh = await pool.fetchval("select lowest_kwh from virtual_energy where asset_key = $1", key)
        assert min(lowest_kwh) > -20

    async def test_of_no_block_leaves_the_schedule_as_it_is(self, make_battery: MakeBattery):
        """A window without wholesale power takes no power but 0."""
        battery = await known_battery(make_battery)
        assert (await battery.carve(16, 16, "FCR", 1000, 1000)).status_code == 201
        for _ in range(2):
            answer = await battery.client.put(f"{battery.url}/schedule", json=battery.points([0], offset=20))
            assert answer.status_code == 200, answer.text


class TestTheRevision:
    def test_goes_up_with_every_change_of_the_row(self):
        found, _ = gather()
        changes = [one for one in found if "update virtual_asset" in " ".join(one.sql.split())]
        assert len({one.place for one in changes}) >= 5
        raised = re.compile(r"revision = revision \+ 1\b")
        assert [one.place for one in changes if not raised.search(one.sql)] == []


class TestAChangeByParts:
    """As a distributed database takes it: a statement for each table."""

    async def test_leaves_what_a_change_in_one_statement_leaves(self, make_battery: MakeBattery, by_parts: Any) -> None:
        whole, parted = await make_battery(), await make_battery()
        changes = [([-100.0, 50.0], 8), ([40.0], 20), ([-40.0], 20), ([0.0], 8)]
        for powers, offset in changes:
            expected = await whole.put(powers, offset)
            with by_parts():
                answer = await parted.put(powers, offset)
            assert (answer.status_code, expected.status_code) == (200, 200), answer.text
            assert answer.json()["imbalance"] == expected.json()["imbalance"]
        assert await versions_of(parted) == await versions_of(whole)
        assert await event_versions_of(parted) == await event_versions_of(whole)
        assert len(await details_of(parted)) == len(await details_of(whole))
        assert (await parted.life())["schedule"] == (await whole.life())["schedule"]

    async def test_of_an_asset_that_was_taken_away_is_404(
        self, make_battery: MakeBattery, operator: Any, by_parts: Any
    ) -> None:
        battery = await known_battery(make_battery)
        assert (await operator.delete(battery.url)).status_code == 204
        with by_parts():
            assert (await battery.put([5])).status_code == 404
