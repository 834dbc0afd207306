"""Who may do what with an asset: its owner, a grantee with one single permission at a time, a stranger."""

from typing import Any
from uuid import uuid4

import pytest
from tests.assets import PARAMETERS, register_asset

from gridloom.app import ROUTE_MODULES
from gridloom.edge import operations_of
from gridloom.identity.permissions import GRANTABLE

NOWHERE = "00000000-0000-7000-8000-000000000000"
ENTRY = {"title": "Visit", "type": "NOTE", "start": "2026-05-01T10:00:00Z"}
MESSAGE = {
    "unavailabilityType": "PLANNED",
    "eventStart": "2026-12-01T10:00:00Z",
    "eventEnd": "2026-12-01T14:00:00Z",
    "unavailableCapacity": 1,
    "cause": "Oil",
    "assetEic": "10Y1001A1001A82H",
}
UNAVAILABILITY = {
    "description": "",
    "type": "OTHER",
    "start": "2026-05-01T10:00:00Z",
    "end": "2026-05-01T11:00:00Z",
    "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 0}},
}
BIDS = [
    {
        "deliveryDay": "2030-01-01",
        "product": "POS_001",
        "bids": [{"capacityPrice": 0, "offeredCapacity": 1000, "energyPrice": 1}],
    }
]
RESULTS = [
    {
        "deliveryDay": "2030-01-01",
        "product": "POS_001",
        "results": [{"bidID": NOWHERE, "accepted": False, "acceptedCapacity": 0}],
    }
]

READ, UPDATE = "Read:physical-assets", "Update:physical-assets"

# Everything under an asset but its grants: the method, what follows the asset's path, the body, what it needs.
OPERATIONS: list[tuple[str, str, Any, str]] = [
    ("GET", "", None, READ),
    ("PATCH", "", {}, UPDATE),
    ("GET", "/parameters", None, READ),
    ("PUT", "/parameters", PARAMETERS, UPDATE),
    ("GET", "/parameters/history", None, READ),
    ("GET", "/schedule", None, "Read:schedules"),
    ("PUT", "/schedule", {"schedule": [{"time": "2030-01-01T00:00:00Z", "power": 0}]}, "Update:schedules"),
    ("GET", "/metadata", None, READ),
    ("GET", "/metadata/grid", None, READ),
    ("PUT", "/metadata/grid", {}, UPDATE),
    ("GET", "/availability", None, READ),
    ("GET", "/commitments", None, "Read:schedules"),
    ("GET", "/dispatch", None, "Read:schedules"),
    ("GET", "/performance", None, "Read:monitoring"),
    ("GET", "/health", None, READ),
    ("POST", "/ancillary/bids", BIDS, "Create:ancillary-bids"),
    ("GET", "/ancillary/bids", None, READ),
    ("DELETE", f"/ancillary/bids/{NOWHERE}", None, "Create:ancillary-bids"),
    ("GET", "/ancillary/bids-without-result?product-keys=2030-01-01_POS_001", None, READ),
    ("GET", "/ancillary/bids-by-product-keys?product-keys=2030-01-01_POS_001", None, READ),
    ("POST", "/ancillary/results", RESULTS, "Create:ancillary-results"),
    ("GET", "/ancillary/results", None, READ),
    ("GET", "/logbook", None, READ),
    ("POST", "/logbook", ENTRY, "Create:logbook"),
    ("GET", f"/logbook/{NOWHERE}", None, READ),
    ("POST", f"/logbook/{NOWHERE}/corrections", ENTRY, "Create:logbook"),
    ("POST", "/unavailability", UNAVAILABILITY, "Create:unavailabilities"),
    ("POST", "/unavailability-previews", UNAVAILABILITY, "Create:unavailabilities"),
    ("GET", "/unavailability", None, READ),
    ("GET", f"/unavailability/{NOWHERE}", None, READ),
    ("PATCH", f"/unavailability/{NOWHERE}", {}, "Create:unavailabilities"),
    ("DELETE", f"/unavailability/{NOWHERE}", None, "Create:unavailabilities"),
    ("POST", "/exchange-notifications", MESSAGE, "Create:exchange-notifications"),
    ("GET", "/exchange-notifications", None, READ),
    ("GET", f"/exchange-notifications/{NOWHERE}", None, READ),
    ("POST", f"/exchange-notifications/{NOWHERE}/revisions", {}, "Create:exchange-notifications"),
    ("GET", f"/exchange-notifications/{NOWHERE}/document", None, READ),
]


async def ask(client, method, path, body):
    return await client.request(method, path, **({} if body is None else {"json": body}))


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
        assert needed in {operation.access for operation in matching}, (method, rest)


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


async def test_a_grant_does_not_lift_what_the_users_role_lacks(new_organisation):
    owner, grantee = await new_organisation(), await new_organisation()
    asset = await register_asset(owner)
    await owner.admin.put(asset.path(f"/grants/{grantee.id}"), json={"permissions": sorted(GRANTABLE)})
    for method, rest, body, needed in OPERATIONS:
        answer = await ask(grantee.viewer, method, asset.path(rest), body)
        assert (answer.status_code == 403) == (not needed.startswith("Read:")), (method, rest, answer.text)


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
