"""The schedules of a portfolio's assets are replaced together or not at all."""

from __future__ import annotations

import asyncio

from tests.assets import pointers
from tests.virtual_assets.conftest import Battery, new_asset, register


async def make_portfolio(make_battery, operator, count=3):
    """Assets of one organisation, all but the last one in the portfolio."""
    first = await make_battery()
    batteries = [first]
    while len(batteries) < count:
        physical = [await register(operator, first.organisation.id)]
        body = new_asset(physical)
        answer = await operator.post(f"/organisations/{first.organisation.id}/virtual-assets", json=body)
        batteries.append(Battery(first.organisation, first.client, answer.json(), physical, first.edge))
    url = f"/organisations/{first.organisation.id}/portfolios"
    ids = [battery.asset["id"] for battery in batteries[:-1]]
    made = await first.client.post(url, json={"name": "North", "virtualAssetIDs": ids})
    return f"{url}/{made.json()['id']}/schedules", batteries


async def entry(battery, powers, **more):
    etag = (await battery.client.get(battery.url)).headers["ETag"]
    return {"virtualAssetID": battery.asset["id"], "ifMatch": etag, **battery.points(powers), **more}


async def scheduled(battery):
    return [point["power"] for point in (await battery.life())["schedule"][:2]]


class TestThePortfoliosSchedules:
    async def test_are_replaced_together(self, make_battery, operator):
        url, [one, two, _] = await make_portfolio(make_battery, operator)
        body = {"schedules": [await entry(two, [-300]), await entry(one, [-200, 100])]}
        answer = await one.client.put(url, json=body)
        assert answer.status_code == 200, answer.text
        assert [await scheduled(one), await scheduled(two)] == [[-200, 100], [-300, 0]]
        for battery, accepted in zip((two, one), answer.json(), strict=True):
            assert accepted["virtualAssetID"] == battery.asset["id"]
            assert (await battery.client.get(battery.url)).headers["ETag"] == f'"{accepted["etag"]}"'
            assert accepted["imbalance"]["balanced"] is (battery is one)

    async def test_are_refused_together_and_each_asset_is_named_with_its_problem(self, make_battery, operator):
        url, [one, two, outside] = await make_portfolio(make_battery, operator)
        stale = await entry(one, [-200])
        assert (await one.put([50])).status_code == 200
        entries = [await entry(outside, [1]), await entry(two, [0, 5000]), stale]
        for first, status, type in ((0, 412, "precondition-failed"), (1, 422, "power-beyond-available")):
            kept = entries if first == 0 else [await entry(one, [-200]), entries[1]]
            answer = await one.client.put(url, json={"schedules": kept})
            assert (answer.status_code, answer.json()["type"]) == (status, f"/docs/problems/{type}"), answer.text
            listed = {asset["virtualAssetID"]: asset for asset in answer.json()["assets"]}
            if first == 0:
                assert {asset["status"] for asset in listed.values()} == {412, 422}
                now = (await one.client.get(one.url)).headers["ETag"]
                assert f'"{listed[one.asset["id"]]["etag"]}"' == now
                assert pointers(answer) == [
                    "/schedules/0/virtualAssetID", "/schedules/1/schedule/1/power", "/schedules/2/ifMatch",
                ]  # fmt: skip
            else:
                assert list(listed) == [two.asset["id"]]
        assert [await scheduled(one), await scheduled(two)] == [[50, 0], [0, 0]]

    async def test_name_the_etag_of_each_asset_once(self, make_battery, operator):
        url, [one, two, _] = await make_portfolio(make_battery, operator)
        doubled = {"schedules": [await entry(one, [1]), await entry(one, [2])]}
        for body, status, place in (
            (doubled, 400, "/schedules/1/virtualAssetID"),
            ({"schedules": [await entry(one, [1]), await entry(two, [1], ifMatch=None)]}, 428, "/schedules/1/ifMatch"),
            ({"schedules": [await entry(one, [1], schedule=[])]}, 400, "/schedules/0/schedule"),
        ):
            answer = await one.client.put(url, json=body)
            assert (answer.status_code, pointers(answer)) == (status, [place]), answer.text
        assert await scheduled(one) == [0, 0]

    async def test_leave_connections_to_others_where_many_wait(self, make_battery, operator):
        url, [one, two, _] = await make_portfolio(make_battery, operator)
        body = {"schedules": [await entry(one, [-200]), await entry(two, [-200])]}
        async with one.edge.pool.acquire() as db, db.transaction():
            await db.execute("select from virtual_asset for update")
            waiting = [asyncio.create_task(one.client.put(url, json=body)) for _ in range(one.edge.pool.get_max_size())]
            await asyncio.wait(waiting, timeout=0.5)
            async with asyncio.timeout(5):
                assert (await operator.get("/physical-assets")).status_code == 200
        statuses = sorted(answer.status_code for answer in await asyncio.gather(*waiting))
        assert statuses == [200] + [412] * (len(waiting) - 1)
