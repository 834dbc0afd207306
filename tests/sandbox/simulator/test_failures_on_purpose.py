"""Batteries that fail because the operator said so: what is measured, and what their owners say."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.sandbox.simulator.worlds import SimulatedWorld

from gridloom.kernel.market_time import PERIOD, floor_to_period

HOUR = timedelta(hours=1)


def failure(battery: Any, start: datetime, **given: Any) -> dict[str, Any]:
    return {
        "physicalAssetID": battery["id"],
        "start": start.isoformat(),
        "end": (start + HOUR).isoformat(),
        **given,
    }


async def test_shows_in_what_is_measured_and_where_it_is_announced_in_what_the_owner_says(world: SimulatedWorld):
    said, unsaid = (await world.get("/physical-assets"))[:2]
    start = floor_to_period(await world.now()) + 2 * PERIOD
    ordered = [failure(said, start, announced=True, share=0.5), failure(unsaid, start)]
    answer = await world.operator.put("/sandbox/simulator", json={"failures": ordered})
    assert answer.status_code == 200, answer.text
    assert [one["announced"] for one in answer.json()["failures"]] == [True, False]
    async with world.alive():
        end = start + HOUR + PERIOD
        moved = await world.operator.put("/sandbox/clock", json={"now": end.isoformat()})
        assert moved.status_code == 200, moved.text
    span = {"start": start.isoformat(), "end": (start + HOUR).isoformat()}
    for battery, left, announced in ((said, 0.5, 1), (unsaid, 0.0, 0)):
        target = f"/monitoring/{battery['id']}/datapoints"
        found = await world.get(target, resolution="raw", datapoints="available_discharge_power", **span)
        values = {point["value"] for point in found["data"]["available_discharge_power"]}
        assert values == {left * battery["parameters"]["ratedDischargePower"]}
        listed = await world.get(f"/physical-assets/{battery['id']}/unavailability", **span)
        assert [one["description"] for one in listed] == ["Failed on purpose"] * announced
    await world.operator.put("/sandbox/simulator", json={"failures": []})


@pytest.mark.parametrize(
    ("given", "status", "pointer"),
    [
        ({"physicalAssetID": "01890a5d-ac96-774b-bcce-b302099a8057"}, 422, "/failures/1/physicalAssetID"),
        ({"end": "2026-11-01T12:00:00Z"}, 400, "/failures/1/end"),
        ({"end": "2026-11-01T12:20:00Z"}, 400, "/failures/1/end"),
        ({"share": 0}, 400, "/failures/1/share"),
        ({"share": 1.01}, 400, "/failures/1/share"),
    ],
    ids=str,
)
async def test_is_refused_whole_where_one_of_them_cannot_be(
    world: SimulatedWorld, given: dict[str, Any], status: int, pointer: str
):
    battery = (await world.get("/physical-assets"))[0]
    good = failure(battery, datetime.fromisoformat("2026-11-01T12:00:00Z"))
    answer = await world.operator.put("/sandbox/simulator", json={"failures": [good, good | given]})
    assert answer.status_code == status, answer.text
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert (await world.get("/sandbox/simulator"))["failures"] == []
