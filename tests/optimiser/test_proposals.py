"""What is proposed, the PUT accepts: over random assets, with blocks, outages, cycles and schedules in the way."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from tests.people import OrganisationUnderTest, People
from tests.virtual_assets.conftest import Battery, new_asset, register, tomorrow, wire

from gridloom.platform.http.application import Application

QUARTER = timedelta(minutes=15)


def sent_prices(start: datetime, end: datetime, seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    count = (end - start) // QUARTER
    return {
        "values": [
            {"time": wire(start + place * QUARTER), "price": round(rng.gauss(40, 70), 2)} for place in range(count)
        ]
    }


async def random_battery(
    app: Application,
    operator: httpx2.AsyncClient,
    organisation: OrganisationUnderTest,
    rng: random.Random,
    ahead: timedelta = timedelta(0),
) -> Battery:
    """Any power, size, losses, cycles and life; now and then a second block, a schedule, an outage."""
    power, hours = rng.choice([7.5, 500.0, 1000.0, 40_000.0]), rng.choice([0.5, 1.0, 2.0, 4.0])
    physical = await register(
        operator,
        organisation.id,
        ratedChargePower=power * 1.2,
        ratedDischargePower=power * 1.2,
        energyCapacity=power * hours * 1.3,
        chargeEfficiency=1.0,
        dischargeEfficiency=1.0,
    )
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=rng.randint(2, 30)) + ahead
    changes: dict[str, Any] = {
        "start": wire(start),
        "end": wire(start + rng.randint(3, 60) * timedelta(hours=1)),
        "ratedChargePower": power * rng.choice([0.5, 1.0]),
        "ratedDischargePower": power,
        "energyCapacity": power * hours,
        "chargeEfficiency": rng.choice([0.85, 0.943, 1.0]),
        "dischargeEfficiency": rng.choice([0.85, 0.943, 1.0]),
        "finalSoCTolerance": rng.choice([0.0, 0.01, 0.1]),
    }
    if rng.random() < 0.5:
        changes["dailyCycleLimit"] = rng.choice([0.5, 1.0, 2.0])
    if rng.random() < 0.3:
        changes["annualCycleLimit"] = rng.choice([1.0, 300.0])
    answer = await operator.post(
        f"/organisations/{organisation.id}/virtual-assets", json=new_asset([physical], **changes)
    )
    assert answer.status_code == 201, answer.text
    battery = Battery(organisation, organisation.trader, answer.json(), [physical], app)
    periods = (battery.end - battery.start) // QUARTER
    if rng.random() < 0.4:
        length = rng.randint(1, periods)
        await battery.carve(rng.randint(0, periods - length), length, "WHOLESALE", power * 0.25, power * 0.25)
    if rng.random() < 0.4:
        await battery.put([-power * 0.1] * rng.randint(1, min(8, periods)), rng.randint(0, max(0, periods - 8)))
    if rng.random() < 0.3:
        await operator.post(
            f"/physical-assets/{physical['id']}/unavailability",
            json={
                "description": "Fuse",
                "type": "OUTAGE",
                "start": wire(battery.start + rng.randint(0, periods // 2) * QUARTER),
                "end": wire(battery.start + rng.randint(periods // 2 + 1, periods) * QUARTER),
                "volume": {"energyCapacity": 0, "powerCapacity": {"charge": power * 0.7, "discharge": power * 0.7}},
            },
        )
    return battery


async def propose_and_apply(battery: Battery, rng: random.Random, seed: int) -> str:
    """Ask for the best schedule of a random window and put it; what became of it."""
    periods = (battery.end - battery.start) // QUARTER
    first = rng.choice([0, 0, rng.randint(0, periods - 2)])
    last = rng.choice([periods, periods, rng.randint(first + 2, periods)])
    start, end = battery.start + first * QUARTER, battery.start + last * QUARTER
    body: dict[str, Any] = {"start": wire(start), "end": wire(end), "prices": sent_prices(start, end, seed)}
    if rng.random() < 0.3:
        body["endStateOfCharge"] = "FREE"
    answer = await battery.client.post(f"{battery.url}/optimisations", json=body)
    if answer.status_code == 422:
        assert answer.json()["type"].endswith("/no-feasible-schedule"), answer.text
        assert {"rule", "firstPeriod"} <= answer.json().keys()
        return "no way"
    assert answer.status_code == 200, answer.text
    proposal = answer.json()
    assert sum(trip["gain"] for trip in proposal["trips"]) == pytest.approx(proposal["value"], abs=0.01)
    applied = await battery.client.put(
        f"{battery.url}/schedule",
        json={"schedule": proposal["schedule"]},
        headers={"If-Match": answer.headers["etag"]},
    )
    assert applied.status_code == 200, f"{seed}: {applied.text}"
    if body.get("endStateOfCharge") != "FREE":
        assert applied.json()["imbalance"]["balanced"], applied.text
    assert proposal["gap"] <= 0.02
    return "applied"


async def lose_energy(operator: httpx2.AsyncClient, battery: Battery, rng: random.Random) -> None:
    """Some of the energy capacity, for some of the life: its content goes with it and comes back."""
    periods = (battery.end - battery.start) // QUARTER
    first = rng.randint(0, periods - 2)
    body = {"description": "Racks", "type": "MAINTENANCE", "start": wire(battery.start + first * QUARTER)}
    body["end"] = wire(battery.start + rng.randint(first + 1, periods) * QUARTER)
    missing = rng.choice([0.3, 0.5, 0.7]) * battery.physical[0]["parameters"]["energyCapacity"]
    volume = {"energyCapacity": missing, "powerCapacity": {"charge": 0, "discharge": 0}}
    path = f"/physical-assets/{battery.physical[0]['id']}/unavailability"
    answer = await operator.post(path, json=body | {"volume": volume})
    assert answer.status_code == 201, answer.text


async def repair_and_apply(battery: Battery, rng: random.Random) -> str:
    power, periods = battery.asset["ratedDischargePower"], (battery.end - battery.start) // QUARTER
    asked = battery.points([rng.choice([-power, 0.0, power]) for _ in range(periods)])
    answer = await battery.client.post(f"{battery.url}/repairs", json={**asked, "objective": "NEAREST"})
    if answer.status_code == 422:
        assert answer.json()["type"].endswith("/no-feasible-schedule"), answer.text
        return "no way"
    assert answer.status_code == 200, answer.text
    applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": answer.json()["schedule"]})
    assert applied.status_code == 200, applied.text
    assert applied.json()["imbalance"]["balanced"], applied.text
    return "applied"


class TestAProposal:
    @pytest.mark.parametrize("seeds", [range(10)])
    async def test_under_announced_outages_of_energy_is_taken_by_the_put(
        self, app: Application, people: People, operator: httpx2.AsyncClient, seeds: range
    ) -> None:
        organisation, outcomes = await people.new_organisation(), []
        for seed in seeds:
            rng = random.Random(seed)
            battery = await random_battery(app, operator, organisation, rng, timedelta(hours=60))
            for _ in range(rng.choice([1, 2])):
                await lose_energy(operator, battery, rng)
            outcomes += [await propose_and_apply(battery, rng, seed), await repair_and_apply(battery, rng)]
        assert outcomes.count("applied") > len(outcomes) / 2

    async def test_brings_along_what_it_sells_while_some_of_the_energy_is_out_of_reach(
        self, app: Application, people: People, operator: httpx2.AsyncClient
    ) -> None:
        """Half of 2 MWh, of which 1 is stored, goes out of reach for an hour in which a MWh is worth 100 EUR, and 50
        before: a MWh is bought, so that one is in reach to be sold. As scheduled it would be half a MWh."""
        organisation = await people.new_organisation()
        lossless = {"chargeEfficiency": 1.0, "dischargeEfficiency": 1.0}
        physical = await register(operator, organisation.id, **lossless)
        start = tomorrow() + timedelta(days=2)
        span = {"start": wire(start), "end": wire(start + timedelta(hours=12))}
        url = f"/organisations/{organisation.id}/virtual-assets"
        made = await operator.post(url, json=new_asset([physical], **span, **lossless, finalSoCTolerance=0))
        battery = Battery(organisation, organisation.trader, made.json(), [physical], app)
        outage = {"start": wire(start + 4 * QUARTER), "end": wire(start + 8 * QUARTER), "description": "Racks"}
        volume = {"energyCapacity": 1000, "powerCapacity": {"charge": 0, "discharge": 0}}
        path = f"/physical-assets/{physical['id']}/unavailability"
        lost = await operator.post(path, json={**outage, "type": "MAINTENANCE", "volume": volume})
        assert lost.status_code == 201, lost.text
        prices = [50.0] * 4 + [100.0] * 4 + [60.0] * 40
        values = [{"time": wire(start + place * QUARTER), "price": price} for place, price in enumerate(prices)]
        answer = await battery.client.post(f"{battery.url}/optimisations", json={**span, "prices": {"values": values}})
        assert answer.json()["value"] == pytest.approx(50.0), answer.text
        powers = [point["power"] for point in answer.json()["schedule"][:8]]
        assert powers == pytest.approx([-1000.0] * 4 + [1000.0] * 4)
        applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": answer.json()["schedule"]})
        assert applied.status_code == 200, applied.text
        assert applied.json()["imbalance"]["balanced"]

    @pytest.mark.parametrize("seeds", [range(12)], ids=["some"])
    async def test_is_taken_by_the_put(
        self, app: Application, people: People, operator: httpx2.AsyncClient, seeds: range
    ) -> None:
        organisation = await people.new_organisation()
        outcomes = [
            await propose_and_apply(await random_battery(app, operator, organisation, rng), rng, seed)
            for seed in seeds
            for rng in [random.Random(seed)]
        ]
        assert outcomes.count("applied") > len(outcomes) / 2

    @pytest.mark.slow
    async def test_of_hundreds_of_assets_is_taken_by_the_put(
        self, app: Application, people: People, operator: httpx2.AsyncClient
    ) -> None:
        """`make bench BENCH=optimiser` does the same for five hundred."""
        organisation = await people.new_organisation()
        for seed in range(100, 140):
            rng = random.Random(seed)
            await propose_and_apply(await random_battery(app, operator, organisation, rng), rng, seed)
