"""Physical assets for tests, registered over HTTP as a person would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx2
from tests.people import OrganisationUnderTest

PARAMETERS: dict[str, Any] = {
    "ratedChargePower": 10_000,
    "ratedDischargePower": 12_000,
    "energyCapacity": 20_000,
    "chargeEfficiency": 0.95,
    "dischargeEfficiency": 0.94,
}


@dataclass(frozen=True)
class AssetUnderTest:
    """An asset with its owner; `path` leads to what lies under it."""

    id: str
    owner: OrganisationUnderTest

    def path(self, rest: str = "") -> str:
        return f"/physical-assets/{self.id}{rest}"


def new_asset_body(owner: OrganisationUnderTest, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Speicher Nord",
        "organisationID": str(owner.id),
        "deliveryZone": "TenneT",
        "parameters": PARAMETERS,
        **changes,
    }


async def register_asset(owner: OrganisationUnderTest, **changes: Any) -> AssetUnderTest:
    answer = await owner.admin.post("/physical-assets", json=new_asset_body(owner, **changes))
    assert answer.status_code == 201, answer.text
    return AssetUnderTest(answer.json()["id"], owner)


def pointers(answer: httpx2.Response) -> list[str]:
    """Where a refusal says that the fault lies."""
    return [error["pointer"] for error in answer.json().get("errors", [])]
