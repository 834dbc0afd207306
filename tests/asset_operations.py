"""Every operation under a physical asset with the smallest request for it, and the permission that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.assets import PARAMETERS, register_asset

from gridloom.platform.identity.permissions import GRANTABLE

if TYPE_CHECKING:
    import httpx2
    from tests.people import People

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
    ("GET", "/dispatch/acknowledgements", None, "Read:schedules"),
    (
        "POST",
        "/dispatch/acknowledgements",
        {"version": 1, "time": "2026-01-05T10:00:00Z", "status": "APPLIED", "at": "2026-01-05T10:00:01Z"},
        "Create:monitoring",
    ),
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

MONITORING: list[tuple[str, str, Any, str]] = [
    ("GET", "/signals", None, "Read:monitoring"),
    ("POST", "/datapoints", {"active_power": {"time": ["2026-05-01T10:00:00Z"], "value": [1]}}, "Create:monitoring"),
    ("GET", "/datapoints", None, "Read:monitoring"),
    ("GET", "/datapoints/latest", None, "Read:monitoring"),
    ("GET", "/datapoints/sum/detailed", None, "Read:monitoring"),
]
"""The same under `/monitoring/{physicalAssetID}`, but for the stream."""


async def ask(client: httpx2.AsyncClient, method: str, path: str, body: Any) -> httpx2.Response:
    return await client.request(method, path, **({} if body is None else {"json": body}))


async def assert_grants_decide(people: People, *starts: str, root: str = "/physical-assets") -> None:
    """Of the operations whose path goes on so: a grant of all but the needed permission does not open one, a grant of
    it alone does."""
    table = OPERATIONS if root == "/physical-assets" else MONITORING
    chosen = [row for row in table if row[1].startswith(starts)]
    assert chosen
    owner, grantee = await people.new_organisation(), await people.new_organisation()
    asset = await register_asset(owner)
    for needed in sorted({row[3] for row in chosen}):
        for granted, is_open in (({needed}, True), (GRANTABLE - {needed}, False)):
            put = await owner.admin.put(asset.path(f"/grants/{grantee.id}"), json={"permissions": sorted(granted)})
            assert put.status_code in (200, 201), put.text
            for method, rest, body, _ in (row for row in chosen if row[3] == needed):
                answer = await ask(grantee.admin, method, f"{root}/{asset.id}{rest}", body)
                assert answer.status_code < 500, answer.text
                assert (answer.status_code != 403) is is_open, (method, rest, sorted(granted), answer.text)
