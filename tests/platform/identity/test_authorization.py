"""What a caller may reach, on the real database."""

from dataclasses import replace
from uuid import uuid4

import pytest
from tests.assets import register_asset

from gridloom.kernel.ids import uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.platform.http.admit import OutsideKeyAssets
from gridloom.platform.identity.authorization import authorize_asset, authorize_organisation
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store import grants

READ = Permission.READ_SCHEDULES


@pytest.fixture
async def owner(new_organisation):
    return await new_organisation("Owner")


@pytest.fixture
async def other(new_organisation):
    return await new_organisation("Other")


@pytest.fixture
async def asset(app, owner):
    asset_id = uuid7()
    key = await grants.insert_asset(app.pool, asset_id, "PHYSICAL", owner.id)
    return asset_id, key


def caller(organisation, role=Role.ADMIN):
    return organisation.people[role].tokens.caller


class TestAssetReach:
    async def test_is_the_owners_with_the_permission(self, app, owner, asset):
        reach = await authorize_asset(app.pool, caller(owner), asset[0], READ)
        assert (reach.key, reach.organisation_id) == (asset[1], owner.id)
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, caller(owner, Role.VIEWER), asset[0], Permission.UPDATE_SCHEDULES)

    async def test_of_a_key_ends_with_its_own_permissions(self, app, owner, asset):
        key = replace(caller(owner), kind="API_KEY", permissions=frozenset({Permission.READ_MONITORING}))
        await authorize_asset(app.pool, key, asset[0], Permission.READ_MONITORING)
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, key, asset[0], READ)

    async def test_of_a_key_for_certain_assets_ends_at_those_and_holds_no_virtual_one(self, app, owner, asset):
        others = [uuid7(), uuid7()]
        for asset_id, kind in zip(others, ("PHYSICAL", "VIRTUAL"), strict=True):
            await grants.insert_asset(app.pool, asset_id, kind, owner.id)
        key = replace(caller(owner), kind="API_KEY", physical_asset_ids=frozenset({asset[0]}))
        assert (await authorize_asset(app.pool, key, asset[0], READ, kind=None)).key == asset[1]
        for asset_id in others:
            with pytest.raises(OutsideKeyAssets):
                await authorize_asset(app.pool, key, asset_id, READ, kind=None)

    async def test_of_an_unknown_asset_is_not_found(self, app, owner):
        with pytest.raises(NotFound):
            await authorize_asset(app.pool, caller(owner), uuid4(), READ)

    async def test_of_the_wrong_kind_is_not_found(self, app, owner, asset):
        with pytest.raises(NotFound):
            await authorize_asset(app.pool, caller(owner), asset[0], READ, kind="VIRTUAL")
        assert (await authorize_asset(app.pool, caller(owner), asset[0], READ, kind=None)).kind == "PHYSICAL"

    async def test_needs_the_grant_and_the_permission(self, app, other, asset):
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, caller(other), asset[0], READ)
        await grants.put_grant(app.pool, asset[1], other.id, [Permission.READ_SCHEDULES], uuid4())
        assert (await authorize_asset(app.pool, caller(other), asset[0], READ)).key == asset[1]
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, caller(other), asset[0], Permission.UPDATE_SCHEDULES)
        powerless = replace(caller(other), permissions=frozenset())
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, powerless, asset[0], READ)

    async def test_ends_with_the_grant(self, app, other, asset):
        await grants.put_grant(app.pool, asset[1], other.id, [Permission.READ_SCHEDULES], uuid4())
        assert await grants.delete_grant(app.pool, asset[1], other.id)
        assert not await grants.delete_grant(app.pool, asset[1], other.id)
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, caller(other), asset[0], READ)

    async def test_of_the_operator_needs_a_grant_on_physical_assets(self, app, people, asset):
        operator = (await people.operator()).tokens.caller
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, operator, asset[0], READ)

    async def test_of_the_operator_covers_what_a_physical_asset_earns_and_of_no_other_organisation(
        self, app, people, asset, other
    ):
        operator = (await people.operator()).tokens.caller
        asset_id, key = asset
        assert (await authorize_asset(app.pool, operator, asset_id, Permission.READ_REVENUE)).key == key
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, caller(other), asset_id, Permission.READ_REVENUE)

    async def test_of_the_operator_covers_virtual_assets(self, app, people, owner, other):
        operator = (await people.operator()).tokens.caller
        asset_id = uuid7()
        await grants.insert_asset(app.pool, asset_id, "VIRTUAL", owner.id)
        assert (await authorize_asset(app.pool, operator, asset_id, READ, kind="VIRTUAL")).organisation_id == owner.id
        with pytest.raises(Forbidden):
            await authorize_asset(app.pool, caller(other), asset_id, READ, kind="VIRTUAL")


class TestOrganisationReach:
    async def test_is_ones_own_and_the_operators(self, app, people, owner, other):
        assert await authorize_organisation(app.pool, caller(owner, Role.VIEWER), owner.id) == owner.id
        assert await authorize_organisation(app.pool, (await people.operator()).tokens.caller, owner.id) == owner.id
        with pytest.raises(Forbidden):
            await authorize_organisation(app.pool, caller(other), owner.id)
        with pytest.raises(NotFound):
            await authorize_organisation(app.pool, caller(other), uuid4())


class TestGrant:
    async def test_keeps_its_version_when_nothing_changes(self, app, other, asset):
        first = await grants.put_grant(app.pool, asset[1], other.id, [Permission.READ_SCHEDULES], uuid4())
        again = await grants.put_grant(app.pool, asset[1], other.id, [Permission.READ_SCHEDULES], uuid4())
        assert again == first
        giver = uuid4()
        await app.pool.execute("select pg_sleep(0.002)")  # instants are shown in milliseconds
        changed = await grants.put_grant(app.pool, asset[1], other.id, [Permission.READ_MONITORING], giver)
        assert changed.etag != first.etag
        assert (changed.granted_by, changed.created_at) == (giver, first.created_at)
        assert changed.updated_at > first.updated_at
        assert await grants.read_grant(app.pool, asset[1], other.id) == changed
        assert await grants.list_grants(app.pool, asset[1], after=None, limit=10) == [changed]

    async def test_is_listed_with_others_page_by_page(self, app, new_organisation, asset):
        others = [await new_organisation() for _ in range(3)]
        given = [await grants.put_grant(app.pool, asset[1], one.id, [READ], uuid4()) for one in others]
        whole = sorted(given, key=lambda one: one.organisation_id)
        first = await grants.list_grants(app.pool, asset[1], after=None, limit=2)
        rest = await grants.list_grants(app.pool, asset[1], after=first[-1].organisation_id, limit=2)
        assert first + rest == whole


class TestARepeatedRequest:
    async def test_is_refused_once_the_grant_that_allowed_it_is_gone(self, owner, other):
        asset = await register_asset(owner)
        grant = asset.path(f"/grants/{other.id}")
        assert (await owner.admin.put(grant, json={"permissions": ["Create:logbook"]})).status_code == 200
        entry = {"title": "Filters", "type": "OTHER", "start": "2026-01-01T00:00:00Z"}
        key = {"Idempotency-Key": uuid4().hex}
        first = await other.engineer.post(asset.path("/logbook"), json=entry, headers=key)
        again = await other.engineer.post(asset.path("/logbook"), json=entry, headers=key)
        assert (first.status_code, again.status_code) == (201, 201), first.text
        assert again.json() == first.json()
        assert (await owner.admin.delete(grant)).status_code == 204
        late = await other.engineer.post(asset.path("/logbook"), json=entry, headers=key)
        assert late.status_code == 403
        assert first.json()["id"] not in late.text
