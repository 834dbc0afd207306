"""Who may do what with an asset: its owner, a grantee with one single permission at a time, a stranger."""

from uuid import uuid4

import pytest
from tests.asset_operations import OPERATIONS, ask
from tests.assets import register_asset

from gridloom.app import ROUTE_MODULES
from gridloom.platform.http import operations_of
from gridloom.platform.identity.permissions import GRANTABLE


def test_the_table_holds_every_operation_under_an_asset():
    declared = {
        (operation.method, operation.path.removeprefix("/physical-assets/{physicalAssetID}"))
        for operation in operations_of(*ROUTE_MODULES)
        if operation.path.startswith("/physical-assets/{physicalAssetID}") and "/grants" not in operation.path
    }
    assert len(declared) == len(OPERATIONS)
    for method, rest, _, needed in OPERATIONS:
        matching = [
            operation
            for operation in operations_of(*ROUTE_MODULES)
            if operation.method == method
            and operation.path.startswith("/physical-assets/{physicalAssetID}")
            and operation.path.count("/") == rest.count("/") + 2
            and operation.path.split("/")[3:4] == rest.split("?")[0].split("/")[1:2]
        ]
        assert needed in {operation.access.permission for operation in matching}, (method, rest)


@pytest.mark.parametrize("granted", sorted(GRANTABLE))
async def test_a_grantee_with_one_permission_may_do_exactly_that(new_organisation, granted):
    owner, grantee = await new_organisation(), await new_organisation()
    asset = await register_asset(owner)
    answer = await owner.admin.put(asset.path(f"/grants/{grantee.id}"), json={"permissions": [granted]})
    assert answer.status_code == 200, answer.text
    for method, rest, body, needed in OPERATIONS:
        answer = await ask(grantee.admin, method, asset.path(rest), body)
        if needed == granted:
            assert answer.status_code < 500, (method, rest, answer.text)
            assert answer.status_code != 403, (method, rest, answer.text)
        else:
            assert answer.status_code == 403, (method, rest, answer.text)
    listed = [each["id"] for each in (await grantee.admin.get("/physical-assets")).json()]
    assert listed == ([asset.id] if granted == "Read:physical-assets" else [])


async def test_a_grant_does_not_lift_what_the_users_role_lacks(new_organisation):
    owner, grantee = await new_organisation(), await new_organisation()
    asset = await register_asset(owner)
    await owner.admin.put(asset.path(f"/grants/{grantee.id}"), json={"permissions": sorted(GRANTABLE)})
    for method, rest, body, needed in OPERATIONS:
        answer = await ask(grantee.viewer, method, asset.path(rest), body)
        assert (answer.status_code == 403) == (not needed.startswith("Read:")), (method, rest, answer.text)


async def test_holders_are_shown_to_the_owner_and_the_operator_alone(operator, new_organisation):
    owner, grantee = await new_organisation(), await new_organisation()
    asset = await register_asset(owner)
    for reader in (grantee.id, (await operator.get("/auth/me")).json()["organisationID"]):
        grant = asset.path(f"/grants/{reader}")
        assert (await owner.admin.put(grant, json={"permissions": ["Read:schedules"]})).status_code == 200
    for reader, sees_them in ((owner.viewer, True), (operator, True), (grantee.viewer, False)):
        answer = await reader.get(asset.path("/commitments"))
        assert answer.status_code == 200, answer.text
        assert all(("holders" in point) is sees_them for point in answer.json()["commitments"])


async def test_the_owner_may_do_everything_and_a_stranger_nothing(new_organisation):
    owner, stranger = await new_organisation(), await new_organisation()
    asset = await register_asset(owner)
    for method, rest, body, _ in OPERATIONS:
        mine = await ask(owner.admin, method, asset.path(rest), body)
        assert mine.status_code not in (403, 500), (method, rest, mine.text)
        theirs = await ask(stranger.admin, method, asset.path(rest), body)
        assert theirs.status_code == 403, (method, rest, theirs.text)


async def test_an_unknown_asset_is_not_found_and_a_malformed_id_is_refused(new_organisation, anonymous):
    owner = await new_organisation()
    for method, rest, body, _ in OPERATIONS:
        unknown = await ask(owner.admin, method, f"/physical-assets/{uuid4()}{rest}", body)
        assert unknown.status_code == 404, (method, rest, unknown.text)
        malformed = await ask(owner.admin, method, f"/physical-assets/one{rest}", body)
        assert malformed.status_code == 400, (method, rest, malformed.text)
        nobody = await ask(anonymous, method, f"/physical-assets/{uuid4()}{rest}", body)
        assert nobody.status_code == 401, (method, rest, nobody.text)
