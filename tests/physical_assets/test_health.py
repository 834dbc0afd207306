"""The health of an asset: the worst of its checks."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.assets import PARAMETERS, AssetUnderTest, register_asset
from tests.virtual_assets.conftest import new_asset, register, tomorrow, wire

from gridloom.physical_assets import telemetry
from gridloom.physical_assets.telemetry import LatestTelemetry


@pytest.fixture
def measured(monkeypatch):
    """Pretend that this was measured last, whatever is stored."""

    def pretend(age: timedelta, state_of_charge_percentage: float | None = 55.0) -> None:
        async def latest(db, asset_key):
            return LatestTelemetry(datetime.now(UTC) - age, state_of_charge_percentage)

        monkeypatch.setattr(telemetry.LATEST_TELEMETRY, "_given", latest)

    return pretend


async def health(asset):
    answer = await asset.owner.viewer.get(asset.path("/health"))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def take_away(asset, charge, discharge, later=timedelta(0)):
    now = datetime.now(UTC) + later
    answer = await asset.owner.engineer.post(
        asset.path("/unavailability"),
        json={
            "description": "",
            "type": "OUTAGE",
            "start": (now - timedelta(hours=1)).isoformat(),
            "end": (now + timedelta(hours=1)).isoformat(),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": charge, "discharge": discharge}},
        },
    )
    return answer.json()["id"]


class TestHealth:
    async def test_is_down_when_declared_so_even_without_telemetry(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await take_away(asset, 10_000, 12_000)
        assert (await health(asset))["status"] == "DOWN"
        retired = await register_asset(asset.owner)
        await asset.owner.engineer.change(retired.path(), json={"status": "DECOMMISSIONED"})
        assert (await health(retired))["status"] == "DOWN"

    async def test_is_degraded_when_a_rating_far_ahead_is_less_than_is_promised_then(
        self, operator, new_organisation, measured
    ):
        measured(timedelta(0))
        owner = await new_organisation()
        battery = await register(operator, owner.id)
        asset = AssetUnderTest(battery["id"], owner)
        end, lower_from = tomorrow() + timedelta(days=400), tomorrow() + timedelta(days=300)
        url = f"/organisations/{owner.id}/virtual-assets"
        promised = await operator.post(url, json=new_asset([battery], end=wire(end)))
        assert promised.status_code == 201, promised.text
        kept = {name: battery["parameters"][name] for name in PARAMETERS}
        lower = {**kept, "ratedDischargePower": 600, "validFrom": wire(lower_from)}
        assert (await owner.engineer.put(asset.path("/parameters"), json=lower)).status_code == 200
        found = await health(asset)
        assert found["status"] == "DEGRADED"
        assert [(each["virtualAssetID"], each["start"], each["available"]) for each in found["conflicts"]] == [
            (promised.json()["id"], wire(lower_from), 600)
        ]
