"""Portfolios group an organisation's own virtual assets."""

from typing import Any
from uuid import UUID

from tests.concurrency import answers_after_lock, assert_etag_follows
from tests.emitted import events_of
from tests.virtual_assets.conftest import QUARTER, new_asset, wire
from tests.virtual_assets.test_schedules import problem

from gridloom.platform.identity.store.organisations import lock_organisation


class TestPortfolio:
    async def test_is_made_read_listed_and_changed(self, make_battery):
        battery = await make_battery()
        url, trader = f"/organisations/{battery.organisation.id}/portfolios", battery.client
        made = await trader.post(url, json={"name": "North", "virtualAssetIDs": [battery.asset["id"]]})
        assert made.status_code == 201
        portfolio = made.json()
        assert portfolio["virtualAssetIDs"] == [battery.asset["id"]]
        assert (await battery.read())["portfolioID"] == portfolio["id"]
        one = f"{url}/{portfolio['id']}"
        read = await trader.get(one)
        assert read.json() == portfolio
        assert read.headers["ETag"] == made.headers["ETag"]
        assert (await trader.get(url)).json() == [portfolio]
        changed = await trader.change(one, json={"name": "South"}, headers={"If-Match": read.headers["ETag"]})
        assert (changed.json()["name"], changed.json()["virtualAssetIDs"]) == ("South", [battery.asset["id"]])
        stale = await trader.change(one, json={"name": "East"}, headers={"If-Match": read.headers["ETag"]})
        assert stale.status_code == 412
        assert (await trader.change(one, json={"virtualAssetIDs": []})).json()["virtualAssetIDs"] == []
        assert (await battery.read())["portfolioID"] is None
        told = await events_of(battery.edge.pool, battery.organisation.id, subject=one[1:])
        assert [each.type for each in told] == ["portfolio.changed"] * 2
        author = (await trader.get("/auth/me")).json()["id"]
        assert told[0].data == {"portfolioID": portfolio["id"], "authorID": author}
        assert {each.permission for each in told} == {"Read:virtual-assets"}

    async def test_answers_a_change_with_the_etag_of_what_is_read_then(self, make_battery):
        battery = await make_battery()
        url, trader = f"/organisations/{battery.organisation.id}/portfolios", battery.client
        one = f"{url}/{(await trader.post(url, json={'name': 'North'})).json()['id']}"
        changes: list[dict[str, Any]] = [
            {"name": "South"},
            {"virtualAssetIDs": [battery.asset["id"]]},
            {"virtualAssetIDs": []},
        ]
        for change in changes:
            await assert_etag_follows(trader, one, await trader.change(one, json=change))

    async def test_is_not_overwritten_by_a_change_that_did_not_see_the_last_one(self, make_battery):
        battery = await make_battery()
        url, trader = f"/organisations/{battery.organisation.id}/portfolios", battery.client
        made = await trader.post(url, json={"name": "North"})
        one = f"{url}/{made.json()['id']}"

        async def rename(db: Any) -> None:
            await lock_organisation(db, battery.organisation.id)
            await db.execute(
                "update portfolio set name = 'Early', version = version + 1 where id = $1", UUID(made.json()["id"])
            )

        asked = trader.change(one, json={"name": "Late"}, headers={"If-Match": made.headers["ETag"]})
        [late] = await answers_after_lock(battery.edge, rename, asked)
        assert late.status_code == 412
        assert (await trader.get(one)).json()["name"] == "Early"

    async def test_takes_an_asset_over_from_another(self, make_battery):
        battery = await make_battery()
        url, trader = f"/organisations/{battery.organisation.id}/portfolios", battery.client
        bodies = [{"name": name, "virtualAssetIDs": [battery.asset["id"]]} for name in ("West", "East")]
        first, second = [(await trader.post(url, json=body)).json() for body in bodies]
        assert (await trader.get(f"{url}/{first['id']}")).json()["virtualAssetIDs"] == []
        assert second["virtualAssetIDs"] == [battery.asset["id"]]
        page = await trader.get(url, params={"limit": 1})
        rest = await trader.get(page.links["next"]["url"])
        assert [portfolio["id"] for portfolio in page.json() + rest.json()] == [first["id"], second["id"]]

    async def test_leaves_those_of_another_alone(self, make_battery, operator):
        battery = await make_battery()
        body = new_asset(battery.physical, start=wire(battery.end), end=wire(battery.end + QUARTER))
        second = await operator.post(f"/organisations/{battery.organisation.id}/virtual-assets", json=body)
        url, ids = f"/organisations/{battery.organisation.id}/portfolios", [battery.asset["id"], second.json()["id"]]
        west, east = [
            (await battery.client.post(url, json={"name": name, "virtualAssetIDs": [one]})).json()
            for name, one in zip(("West", "East"), ids, strict=True)
        ]
        changes: list[dict[str, Any]] = [{"virtualAssetIDs": [ids[0]]}, {"virtualAssetIDs": []}, {"name": "North"}]
        for change in changes:
            assert (await battery.client.change(f"{url}/{west['id']}", json=change)).status_code == 200
        assert (await battery.client.get(f"{url}/{east['id']}")).json() == east

    async def test_refuses_what_is_not_the_organisations(self, make_battery):
        battery, other = await make_battery(), await make_battery()
        url, trader = f"/organisations/{battery.organisation.id}/portfolios", battery.client
        body = {"name": "Mixed", "virtualAssetIDs": [battery.asset["id"], other.asset["id"]]}
        answer = problem(await trader.post(url, json=body), 422, "unknown-virtual-asset")
        assert [error["pointer"] for error in answer["errors"]] == ["/virtualAssetIDs/1"]
        many = {"name": "Many", "virtualAssetIDs": [str(UUID(int=number)) for number in range(21)]}
        answer = problem(await trader.post(url, json=many), 422, "unknown-virtual-asset")
        assert [error["pointer"] for error in answer["errors"]] == [f"/virtualAssetIDs/{n}" for n in range(20)]
        assert (await trader.get(url)).json() == []
        foreign = f"/organisations/{other.organisation.id}/portfolios"
        assert (await trader.get(foreign)).status_code == 403
        unknown = "01890000-0000-7000-8000-000000000000"
        assert (await trader.get(f"{url}/{unknown}")).status_code == 404
        assert (await trader.get(f"/organisations/{unknown}/portfolios")).status_code in (403, 404)
        problem(await trader.change(f"{url}/{unknown}", json={}), 404, "not-found")

    async def test_of_another_organisation_is_none_of_this_one(self, make_battery, operator):
        battery, other = await make_battery(), await make_battery()
        foreign = await other.client.post(f"/organisations/{other.organisation.id}/portfolios", json={"name": "Theirs"})
        portfolio_id = foreign.json()["id"]
        own = f"/organisations/{battery.organisation.id}"
        problem(await battery.client.get(f"{own}/portfolios/{portfolio_id}"), 404, "not-found")
        problem(
            await battery.client.change(f"{own}/portfolios/{portfolio_id}", json={"name": "Ours"}), 404, "not-found"
        )
        change = {"portfolioID": portfolio_id}
        problem(await battery.client.change(battery.url, json=change), 422, "unknown-portfolio")
        start = battery.end
        body = new_asset(battery.physical, start=wire(start), end=wire(start + QUARTER), **change)
        problem(await operator.post(f"{own}/virtual-assets", json=body), 422, "unknown-portfolio")
        assert (await other.client.get(foreign.headers["Location"])).json() == foreign.json()

    async def test_is_named_at_allocation(self, make_battery, operator):
        battery = await make_battery()
        url = f"/organisations/{battery.organisation.id}/portfolios"
        portfolio = (await battery.client.post(url, json={"name": "Later"})).json()
        assert portfolio["virtualAssetIDs"] == []
        problem(await battery.client.change(f"{url}/{portfolio['id']}", json={}), 400, "bad-request")
