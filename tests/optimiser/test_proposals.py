"""What is proposed, the PUT accepts: over random assets, with blocks, outages, cycles and schedules in the way."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from tests.people import OrganisationUnderTest, People
from tests.virtual_assets.conftest import Battery, new_asset, register, wire

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
    app: Application, operator: httpx2.AsyncClient, organisation: OrganisationUnderTest, rng: random.Random
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
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=rng.randint(2, 30))
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


class TestAProposal:
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
