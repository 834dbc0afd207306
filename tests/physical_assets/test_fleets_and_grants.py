"""Fleets group an organisation's assets; grants open one asset to another organisation."""

import asyncio
from uuid import uuid4

from tests.assets import PARAMETERS, pointers, register_asset
from tests.emitted import events_of

from gridloom.physical_assets.grants.routes import WAS_INVITED


async def make_fleet(owner, *asset_ids, status=201, **changes):
    body = {"name": "North", "organisationID": str(owner.id), "physicalAssetIDs": list(asset_ids), **changes}
    answer = await owner.engineer.post("/fleets", json=body)
    assert answer.status_code == status, answer.text
    return answer


class TestFleet:
    async def test_holds_assets_which_are_in_one_fleet_at_most(self, new_organisation):
        owner = await new_organisation()
        one, two = sorted([(await register_asset(owner)).id, (await register_asset(owner)).id])
        first = (await make_fleet(owner, one, two)).json()
        assert first["physicalAssetIDs"] == [one, two]
        second = (await make_fleet(owner, two)).json()
        assert (await owner.viewer.get(f"/fleets/{first['id']}")).json()["physicalAssetIDs"] == [one]
        assert (await owner.viewer.get(f"/physical-assets/{two}")).json()["fleetID"] == second["id"]
        listed = (await owner.viewer.get("/fleets")).json()
        assert [fleet["id"] for fleet in listed] == [first["id"], second["id"]]
        page = await owner.viewer.get("/fleets", params={"limit": 1})
        rest = await owner.viewer.get(page.links["next"]["url"])
        assert page.json() + rest.json() == listed

    async def test_is_another_version_once_an_asset_has_left_for_another_fleet(self, new_organisation):
        owner = await new_organisation()
        asset = await register_asset(owner)
        fleet = await make_fleet(owner, asset.id)
        path = f"/fleets/{fleet.json()['id']}"
        await make_fleet(owner, asset.id, name="South")
        assert (await owner.viewer.get(path)).headers["etag"] != fleet.headers["etag"]
        late = await owner.engineer.change(path, json={"name": "East"}, headers={"If-Match": fleet.headers["etag"]})
        assert late.status_code == 412

    async def test_can_be_renamed_refilled_and_dissolved(self, new_organisation):
        owner = await new_organisation()
        asset = await register_asset(owner)
        fleet = await make_fleet(owner)
        path = f"/fleets/{fleet.json()['id']}"
        filled = await owner.engineer.change(
            path, json={"name": "South", "physicalAssetIDs": [asset.id]}, headers={"If-Match": fleet.headers["etag"]}
        )
        assert (filled.json()["name"], filled.json()["physicalAssetIDs"]) == ("South", [asset.id])
        renamed = await owner.engineer.change(path, json={"name": "East"})
        assert renamed.json() == filled.json() | {"name": "East"}
        assert renamed.headers["etag"] != filled.headers["etag"]
        late = await owner.engineer.change(path, json={}, headers={"If-Match": filled.headers["etag"]})
        assert late.status_code == 412
        seen = {"If-Match": (await owner.viewer.get(asset.path())).headers["etag"]}
        late = await owner.engineer.delete(path, headers={"If-Match": filled.headers["etag"]})
        assert late.status_code == 412
        gone = await owner.engineer.delete(path, headers={"If-Match": renamed.headers["etag"]})
        assert gone.status_code == 204
        assert (await owner.viewer.get(path)).status_code == 404
        assert (await owner.viewer.get(asset.path())).json()["fleetID"] is None
        stale = await owner.engineer.change(asset.path(), json={"fleetID": None}, headers=seen)
        assert stale.status_code == 412

    async def test_takes_only_the_organisations_own_physical_assets(self, app, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        foreign = await register_asset(other)
        answer = await make_fleet(owner, (await register_asset(owner)).id, foreign.id, str(uuid4()), status=422)
        assert pointers(answer) == ["/physicalAssetIDs/1", "/physicalAssetIDs/2"]
        add = "insert into asset (id, kind, organisation_id) values (gen_random_uuid(), 'VIRTUAL', $1) returning id"
        virtual = str(await app.pool.fetchval(add, owner.id))
        assert pointers(await make_fleet(owner, virtual, status=422)) == ["/physicalAssetIDs/0"]

    async def test_is_filled_by_the_operator_with_assets_of_its_organisation(self, new_organisation, operator):
        owner, other = await new_organisation(), await new_organisation()
        asset, foreign = await register_asset(owner), await register_asset(other)
        body = {"name": "North", "organisationID": str(owner.id), "physicalAssetIDs": [asset.id]}
        made = await operator.post("/fleets", json=body)
        assert made.json()["physicalAssetIDs"] == [asset.id]
        second = await register_asset(owner)
        path = f"/fleets/{made.json()['id']}"
        for ids, status in (([second.id, asset.id], 200), ([second.id, foreign.id], 422)):
            assert (await operator.change(path, json={"physicalAssetIDs": ids})).status_code == status
        filled = await owner.viewer.get(path)
        assert filled.json()["physicalAssetIDs"] == sorted([asset.id, second.id])

    async def test_of_another_organisation_is_closed_but_to_the_operator(self, new_organisation, operator):
        owner, other = await new_organisation(), await new_organisation()
        fleet_id = (await make_fleet(owner)).json()["id"]
        path = f"/fleets/{fleet_id}"
        assert (await other.viewer.get(path)).status_code == 403
        assert (await other.engineer.change(path, json={})).status_code == 403
        assert (await other.engineer.delete(path)).status_code == 403
        assert (await operator.get(path)).status_code == 200
        assert (await other.viewer.get("/fleets", params={"organisation-id": str(owner.id)})).status_code == 403
        seen = await operator.get("/fleets", params={"organisation-id": str(owner.id)})
        assert [fleet["id"] for fleet in seen.json()] == [fleet_id]
        own = (await operator.get("/auth/me")).json()["organisationID"]
        everyone = {fleet["organisationID"] for fleet in (await operator.get("/fleets")).json()}
        assert everyone - {own}, "the operator sees those of all"
        assert (await other.viewer.get("/fleets")).json() == []
        await make_fleet(owner, organisationID=str(other.id), status=403)
        assert (await owner.viewer.get(f"/fleets/{uuid4()}")).status_code == 404

    async def test_moving_assets_between_fleets_at_once_does_not_deadlock(self, new_organisation):
        owner = await new_organisation()
        assets = [(await register_asset(owner)).id for _ in range(4)]
        fleets = [(await make_fleet(owner)).json()["id"] for _ in range(3)]
        answers = await asyncio.gather(
            *(
                owner.engineer.change(f"/fleets/{fleet}", json={"physicalAssetIDs": assets if n % 2 else assets[::-1]})
                for n in range(4)
                for fleet in fleets
            )
        )
        assert {answer.status_code for answer in answers} == {200}
        held = [(await owner.viewer.get(f"/fleets/{fleet}")).json()["physicalAssetIDs"] for fleet in fleets]
        assert sorted(asset for each in held for asset in each) == sorted(assets)


class TestGrant:
    async def test_opens_the_asset_for_what_it_says_until_taken_back(self, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        path = asset.path(f"/grants/{other.id}")
        assert (await other.viewer.get(asset.path())).status_code == 403
        for etag in ("*", '"0"', '"1"'):
            unmet = await owner.admin.put(path, json={"permissions": ["Read:schedules"]}, headers={"If-Match": etag})
            assert unmet.status_code == 412
        put = await owner.admin.put(path, json={"permissions": ["Read:schedules", "Read:physical-assets"]})
        assert put.json()["permissions"] == ["Read:physical-assets", "Read:schedules"]
        assert (await other.viewer.get(asset.path())).status_code == 200
        assert (await other.viewer.get(path)).json() == (await owner.viewer.get(path)).json() == put.json()
        assert (await (await new_organisation()).viewer.get(path)).status_code == 403
        assert (await other.viewer.get(asset.path("/grants"))).status_code == 403
        assert (await other.admin.put(path, json={"permissions": ["Update:schedules"]})).status_code == 403
        assert (await other.admin.delete(path)).status_code == 403
        assert (await owner.admin.delete(path, headers={"If-Match": '"99"'})).status_code == 412
        assert (await owner.admin.delete(path)).status_code == 204
        assert (await other.viewer.get(asset.path())).status_code == 403
        assert (await owner.admin.delete(path)).status_code == 404
        assert (await owner.admin.get(path)).status_code == 404

    async def test_leaves_it_to_the_owner_to_hear_of_what_is_changed_by_it(self, app, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        permissions = {"permissions": ["Update:schedules", "Update:physical-assets"]}
        assert (await owner.admin.put(asset.path(f"/grants/{other.id}"), json=permissions)).status_code == 200
        schedule = {"schedule": [{"time": "2032-01-01T00:00:00Z", "power": 5}]}
        for path, body in (("/schedule", schedule), ("/parameters", PARAMETERS)):
            changed = await other.admin.put(asset.path(path), json=body)
            assert changed.status_code == 200, changed.text
        told = await events_of(app.pool, owner.id, subject=asset.path()[1:])
        assert [one.type for one in told] == ["schedule.updated", "physical-asset.parameters-changed"]
        assert await events_of(app.pool, other.id, subject=asset.path()[1:]) == []

    async def test_lists_what_it_opens_by_owner_and_fleet_page_by_page(self, new_organisation):
        owner, other, guest = await new_organisation(), await new_organisation(), await new_organisation()
        assets = [await register_asset(one) for one in (owner, other, owner, owner, guest)]
        for asset in assets[:4]:
            put = await asset.owner.admin.put(
                asset.path(f"/grants/{guest.id}"), json={"permissions": ["Read:physical-assets"]}
            )
            assert put.status_code == 200, put.text
        fleet = (await make_fleet(owner, assets[0].id, assets[3].id)).json()["id"]

        async def listed(**asked):
            page = await guest.viewer.get("/physical-assets", params={**asked, "limit": 2})
            found = page.json()
            for _ in assets:
                if "next" in page.links:
                    page = await guest.viewer.get(page.links["next"]["url"])
                    found += page.json()
            return [assets.index(next(one for one in assets if one.id == each["id"])) for each in found]

        assert await listed() == [0, 1, 2, 3, 4]
        assert await listed(**{"organisation-id": str(owner.id)}) == [0, 2, 3]
        assert await listed(**{"organisation-id": str(guest.id)}) == [4]
        assert await listed(**{"fleet-id": fleet}) == [0, 3]

    async def test_is_listed_with_the_others_page_by_page(self, new_organisation):
        readers = [await new_organisation() for _ in range(2)]
        owner = await new_organisation()
        asset = await register_asset(owner)
        readers.append(await new_organisation())
        for reader in readers:
            await owner.admin.put(asset.path(f"/grants/{reader.id}"), json={"permissions": ["Read:schedules"]})
        page = await owner.admin.get(asset.path("/grants"), params={"limit": 1})
        found = [one["organisationID"] for one in page.json()]
        while "link" in page.headers:
            page = await owner.admin.get(page.headers["link"][1:].split(">")[0])
            found += [one["organisationID"] for one in page.json()]
        assert found == sorted(str(reader.id) for reader in readers)

    async def test_changed_at_once_on_one_condition_changes_once(self, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        path = asset.path(f"/grants/{other.id}")
        words = ["Read:physical-assets", "Read:schedules", "Read:monitoring", "Read:revenue", "Create:logbook"]
        etag = (await owner.admin.put(path, json={"permissions": ["Update:schedules"]})).headers["etag"]
        for _ in range(5):
            answers = await asyncio.gather(
                *(owner.admin.put(path, json={"permissions": [w]}, headers={"If-Match": etag}) for w in words)
            )
            assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412, 412]
            etag = (await owner.admin.put(path, json={"permissions": ["Update:schedules"]})).headers["etag"]

    async def test_is_given_by_the_owners_administrators_alone(self, new_organisation, operator):
        owner, other = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        path = asset.path(f"/grants/{other.id}")
        body = {"permissions": ["Read:physical-assets"]}
        for client in (owner.trader, owner.engineer, owner.viewer, other.admin, operator):
            assert (await client.put(path, json=body)).status_code == 403

    async def test_refuses_what_makes_no_sense(self, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        path = asset.path(f"/grants/{other.id}")
        for permissions, status, pointer in (
            ([], 400, "/permissions"),
            (["Read:everything"], 400, "/permissions/0"),
            (["Read:schedules", "Manage:organisation"], 422, "/permissions/1"),
        ):
            answer = await owner.admin.put(path, json={"permissions": permissions})
            assert answer.status_code == status
            assert pointers(answer) == [pointer]
        body = {"permissions": ["Read:schedules"]}
        assert (await owner.admin.put(asset.path(f"/grants/{owner.id}"), json=body)).status_code == 422
        assert (await owner.admin.put(asset.path(f"/grants/{uuid4()}"), json=body)).status_code == 404
        assert (await owner.admin.put(asset.path("/grants/me"), json=body)).status_code == 400
        assert (await owner.admin.put(f"/physical-assets/{uuid4()}/grants/{other.id}", json=body)).status_code == 404

    async def test_is_of_a_physical_asset_alone(self, app, new_organisation):
        """A virtual one is its holder's, and shared with no other organisation."""
        owner, other = await new_organisation(), await new_organisation()
        add = "insert into asset (id, kind, organisation_id) values (gen_random_uuid(), 'VIRTUAL', $1) returning id"
        path = f"/physical-assets/{await app.pool.fetchval(add, owner.id)}/grants"
        body = {"permissions": ["Read:schedules"]}
        for answer in (
            await owner.admin.put(f"{path}/{other.id}", json=body),
            await owner.admin.get(f"{path}/{other.id}"),
            await owner.admin.get(path),
            await owner.admin.delete(f"{path}/{other.id}"),
        ):
            assert answer.status_code == 404
            assert "no physical asset" in answer.json()["detail"]

    async def test_of_revenue_is_for_organisations_that_were_not_invited_to_an_auction(
        self, new_organisation, monkeypatch
    ):
        owner, other = await new_organisation(), await new_organisation()
        asset, asked = await register_asset(owner), []

        async def was_invited(_, asset_id, organisation_id):
            asked.append((str(asset_id), organisation_id))
            return invited[0]

        monkeypatch.setattr(WAS_INVITED, "_given", was_invited)
        path, revenue = asset.path(f"/grants/{other.id}"), ["Read:schedules", "Read:revenue"]
        invited = [True]
        assert (await owner.admin.put(path, json={"permissions": revenue})).status_code == 409
        assert (await owner.admin.put(path, json={"permissions": ["Read:schedules"]})).status_code == 200
        invited[0] = False
        assert (await owner.admin.put(path, json={"permissions": revenue})).status_code == 200
        assert asked == [(asset.id, other.id)] * 2


class TestASafeRetry:
    async def test_is_refused_once_the_grant_is_taken_back(self, new_organisation):
        owner, guest = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        grant = asset.path(f"/grants/{guest.id}")
        permissions = ["Read:physical-assets", "Create:logbook"]
        assert (await owner.admin.put(grant, json={"permissions": permissions})).status_code in (200, 201)
        entry = {
            "title": "Seen",
            "description": "From the road",
            "type": "INCIDENT",
            "impact": "NEUTRAL",
            "start": "2026-05-01T10:00:00Z",
        }
        headers = {"Idempotency-Key": uuid4().hex}
        first = await guest.engineer.post(asset.path("/logbook"), json=entry, headers=headers)
        assert first.status_code == 201, first.text
        again = await guest.engineer.post(asset.path("/logbook"), json=entry, headers=headers)
        assert again.headers["idempotency-replayed"] == "true"
        assert (await owner.admin.delete(grant)).status_code == 204
        refused = await guest.engineer.post(asset.path("/logbook"), json=entry, headers=headers)
        assert refused.status_code == 403
