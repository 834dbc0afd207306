"""A change under an asset answers the ETag of what is read then, and overwrites no change that it did not see."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.assets import PARAMETERS, register_asset
from tests.concurrency import answers_after_lock, assert_etag_follows
from tests.people import OrganisationUnderTest

from gridloom.capacity.store import lock_batteries

CHANGES: list[tuple[str, str, Any]] = [
    ("PATCH", "", {"name": "Renamed"}),
    ("PUT", "/parameters", {**PARAMETERS, "ratedChargePower": 9_000}),
    ("PUT", "/metadata/site", {"city": "Stade"}),
    ("PUT", "/schedule", {"schedule": [{"time": "2032-01-01T00:00:00Z", "power": 5}]}),
]


class TestAChange:
    @pytest.mark.parametrize(("method", "rest", "body"), CHANGES, ids=[f"{one[0]} {one[1]}" for one in CHANGES])
    async def test_answers_the_etag_of_what_is_read_then(self, new_organisation, method, rest, body):
        asset = await register_asset(await new_organisation())
        path, admin = asset.path(rest), asset.owner.admin
        before = {"If-Match": (await admin.get(path)).headers["etag"]}
        changed = await admin.request(method, path, json=body, headers=before)
        await assert_etag_follows(admin, path, changed)
        assert changed.headers["etag"] != before["If-Match"]
        assert (await admin.request(method, path, json=body, headers=before)).status_code == 412

    @pytest.mark.parametrize(("method", "rest", "body"), CHANGES, ids=[f"{one[0]} {one[1]}" for one in CHANGES])
    async def test_compares_the_etag_with_what_the_one_before_left(self, app, new_organisation, method, rest, body):
        """Two come with the same ETag while a third holds the battery."""
        asset = await register_asset(await new_organisation())
        path, admin = asset.path(rest), asset.owner.admin
        seen = {"If-Match": (await admin.get(path)).headers["etag"]}
        key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))
        answers = await answers_after_lock(
            app,
            lambda db: lock_batteries(db, [key]),
            *(admin.request(method, path, json=body, headers=seen) for _ in range(2)),
        )
        assert sorted(answer.status_code for answer in answers) == [200, 412]

    async def test_of_a_grant_answers_the_etag_of_what_is_read_then(self, new_organisation):
        asset, other = await register_asset(await new_organisation()), await new_organisation()
        path, admin = asset.path(f"/grants/{other.id}"), asset.owner.admin
        for permissions in (["Read:monitoring"], ["Read:monitoring", "Read:schedules"]):
            await assert_etag_follows(admin, path, await admin.put(path, json={"permissions": permissions}))

    @pytest.mark.parametrize("method", ["PUT", "DELETE"])
    async def test_of_a_grant_waits_for_what_is_under_way_with_the_battery(self, app, new_organisation, method):
        asset, other = await register_asset(await new_organisation()), await new_organisation()
        path, admin = asset.path(f"/grants/{other.id}"), asset.owner.admin
        body = {"permissions": ["Read:monitoring"]}
        seen = {"If-Match": (await admin.put(path, json=body)).headers["etag"]}
        key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))

        async def grant_anew(db: Any) -> None:
            await lock_batteries(db, [key])
            await db.execute("update asset_grant set version = version + 1 where asset_key = $1", key)

        late = admin.request(method, path, json=body if method == "PUT" else None, headers=seen)
        [answer] = await answers_after_lock(app, grant_anew, late)
        assert answer.status_code == 412


class TestAFleet:
    async def make(self, owner: OrganisationUnderTest) -> Any:
        body = {"name": "North", "organisationID": str(owner.id), "physicalAssetIDs": []}
        return await owner.engineer.post("/fleets", json=body)

    async def test_answers_a_change_with_the_etag_of_what_is_read_then(self, new_organisation):
        owner = await new_organisation()
        made = await self.make(owner)
        path = f"/fleets/{made.json()['id']}"
        await assert_etag_follows(owner.viewer, path, made)
        await assert_etag_follows(owner.viewer, path, await owner.engineer.change(path, json={"name": "South"}))
        asset = await register_asset(owner)
        alone = (await owner.viewer.get(asset.path())).headers["etag"]
        refilled = await owner.engineer.change(path, json={"physicalAssetIDs": [asset.id]})
        await assert_etag_follows(owner.viewer, path, refilled)
        assert (await owner.viewer.get(asset.path())).headers["etag"] != alone, "the asset has another fleet"
