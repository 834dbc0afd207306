"""One battery, sold once: what each room sees of the others over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
from tests.people import OrganisationUnderTest
from tests.virtual_assets.conftest import new_asset, register, wire

from gridloom.kernel.market_time import market_day_of, market_day_window

DAY = market_day_of(datetime.now(UTC)) + timedelta(days=3)
START = market_day_window(DAY).start
RATED = {"ratedChargePower": 10_000, "ratedDischargePower": 10_000, "energyCapacity": 20_000}


async def promised(operator: httpx2.AsyncClient, owner: OrganisationUnderTest, power: float, energy: float) -> str:
    """A battery of 10 MW of which so much is promised for two days."""
    battery = await register(operator, owner.id, **RATED)
    body = new_asset(
        [battery],
        start=wire(START - timedelta(days=1)),
        end=wire(START + timedelta(days=1)),
        ratedChargePower=power,
        ratedDischargePower=power,
        energyCapacity=energy,
    )
    answer = await operator.post(f"/organisations/{owner.id}/virtual-assets", json=body)
    assert answer.status_code == 201, answer.text
    return f"/physical-assets/{battery['id']}"


async def offer(owner: OrganisationUnderTest, battery: str, product: str, kilowatts: float) -> httpx2.Response:
    bid = {"capacityPrice": 1, "offeredCapacity": kilowatts}
    if not product.startswith("NEGPOS"):
        bid["energyPrice"] = 1
    entry = {"deliveryDay": DAY.isoformat(), "product": product, "bids": [bid]}
    return await owner.trader.post(f"{battery}/ancillary/bids", json=[entry])


async def use(owner: OrganisationUnderTest, battery: str, power: float) -> httpx2.Response:
    return await owner.trader.put(f"{battery}/schedule", json={"schedule": [{"time": wire(START), "power": power}]})


async def lose(owner: OrganisationUnderTest, battery: str, *, hours: int, charge: float, discharge: float) -> None:
    """An outage of power from the start on."""
    outage = {
        "description": "",
        "type": "OUTAGE",
        "start": wire(START),
        "end": wire(START + timedelta(hours=hours)),
        "volume": {"energyCapacity": 0, "powerCapacity": {"charge": charge, "discharge": discharge}},
    }
    answer = await owner.engineer.post(f"{battery}/unavailability", json=outage)
    assert answer.status_code == 201, answer.text


class TestABatteryThatIsPromised:
    async def test_as_a_whole_gives_nothing_to_anyone_else(self, operator: Any, new_organisation: Any) -> None:
        owner = await new_organisation()
        battery = await promised(operator, owner, 10_000, 20_000)
        answers = [await offer(owner, battery, product, 1000) for product in ("NEGPOS_00_04", "POS_00_04", "NEG_00_04")]
        answers.append(await use(owner, battery, 1000))
        for answer in answers:
            assert answer.status_code == 409, answer.text
            body = answer.json()
            assert body["type"].endswith("/capacity-taken")
            assert body["holders"] == ["VIRTUAL_ASSET"]
            assert set(body["free"].values()) == {0}
        assert (await owner.viewer.get(f"{battery}/health")).json()["conflicts"] == []

    async def test_that_fails_has_nothing_left_and_owes_nothing(self, operator: Any, new_organisation: Any) -> None:
        owner = await new_organisation()
        battery = await promised(operator, owner, 8000, 8000)
        await lose(owner, battery, hours=8, charge=3000, discharge=5000)
        answer = await offer(owner, battery, "NEGPOS_00_04", 1000)
        assert answer.status_code == 409, answer.text
        assert (answer.json()["free"]["charge"], answer.json()["free"]["discharge"]) == (0, 0)

    async def test_in_part_sells_the_rest_once(self, operator: Any, new_organisation: Any) -> None:
        owner = await new_organisation()
        battery = await promised(operator, owner, 4000, 8000)
        assert (await offer(owner, battery, "NEGPOS_00_04", 3000)).status_code == 201
        assert (await use(owner, battery, 3000)).status_code == 200
        assert (await use(owner, battery, 3001)).status_code == 409
        assert (await offer(owner, battery, "NEGPOS_00_04", 4000)).status_code == 409
        assert (await offer(owner, battery, "NEG_00_04", 3000)).status_code == 201
        window = {"start": wire(START), "end": wire(START + timedelta(minutes=15))}
        (point,) = (await owner.viewer.get(f"{battery}/commitments", params=window)).json()["commitments"]
        discharge, energy = point["discharge"], point["energy"]
        parts = [discharge[name] for name in ("available", "promised", "offered", "ownSchedule", "free", "missing")]
        assert parts == [10_000, 4000, 0, 3000, 0, 0]
        assert discharge["ancillary"] == {"fcr": 3000, "afrrCapacity": 0, "afrrEnergy": 0}
        assert energy["ancillary"] == {"fcr": 1500, "afrrCapacity": 3000, "afrrEnergy": 0}
        assert energy["free"] == 20_000 - 8000 - 1500 - 3000 - 750
        assert sum(holder["power"] for holder in point["holders"] if holder["power"] > 0) == 10_000

    async def test_shows_its_holders_to_its_owner_and_the_operator_only(
        self, operator: Any, new_organisation: Any
    ) -> None:
        owner, guest = await new_organisation(), await new_organisation()
        battery = await promised(operator, owner, 4000, 8000)
        grant = await owner.admin.put(f"{battery}/grants/{guest.id}", json={"permissions": ["Read:schedules"]})
        assert grant.status_code == 200, grant.text
        window = {"start": wire(START), "end": wire(START + timedelta(minutes=15))}
        for client, sees in ((owner.viewer, True), (operator, True), (guest.viewer, False)):
            (point,) = (await client.get(f"{battery}/commitments", params=window)).json()["commitments"]
            assert ("holders" in point) is sees
            if sees:
                name = (await operator.get(f"/organisations/{owner.id}")).json()["name"]
                assert {holder["organisationName"] for holder in point["holders"]} == {name}

    async def test_loses_its_own_schedule_before_what_is_promised(self, operator: Any, new_organisation: Any) -> None:
        owner = await new_organisation()
        battery = await promised(operator, owner, 4000, 8000)
        assert (await use(owner, battery, 6000)).status_code == 200
        await lose(owner, battery, hours=1, charge=0, discharge=5000)
        (conflict,) = (await owner.viewer.get(f"{battery}/health")).json()["conflicts"]
        assert (conflict["kind"], conflict["available"]) == ("SCHEDULE", 1000)
        assert conflict["missing"] == {"charge": 0, "discharge": 5000, "energy": 0}
