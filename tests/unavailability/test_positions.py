"""An outage at every position around what is held of a battery: announced, moved and tried out, on all kinds of day."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from tests.ancillary.bidding import entry, place, record
from tests.assets import AssetUnderTest, register_asset
from tests.clock_changes import next_day_of
from tests.conftest import migrated_database, running
from tests.people import People

from gridloom.kernel.market_time import block_window
from gridloom.kernel.window import Window
from gridloom.settings import Settings

DAYS = {f"{hours} hours": next_day_of(hours, in_days=62) for hours in (24, 23, 25)}
"""So far ahead that an auction of what is delivered then can still open."""
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
WHOLE = {"energyCapacity": 20_000, "powerCapacity": {"charge": 10_000, "discharge": 12_000}}

# From where to where, counted from the start or the end of what is held, and whether it is hit.
POSITIONS = {
    "long before": (("start", -25 * HOUR), ("start", -24 * HOUR), False),
    "just before": (("start", -30 * MINUTE), ("start", 0 * MINUTE), False),
    "a minute into it": (("start", -30 * MINUTE), ("start", 1 * MINUTE), True),
    "across its start": (("start", -HOUR), ("start", HOUR), True),
    "from its start on": (("start", 0 * MINUTE), ("start", 15 * MINUTE), True),
    "inside": (("start", HOUR), ("start", 2 * HOUR), True),
    "inside one quarter-hour": (("start", 61 * MINUTE), ("start", 62 * MINUTE), True),
    "all of it": (("start", 0 * MINUTE), ("end", 0 * MINUTE), True),
    "around it": (("start", -HOUR), ("end", HOUR), True),
    "open at both ends": (("start", -400 * 24 * HOUR), ("end", 400 * 24 * HOUR), True),
    "until its end": (("end", -15 * MINUTE), ("end", 0 * MINUTE), True),
    "across its end": (("end", -HOUR), ("end", HOUR), True),
    "its last minute": (("end", -1 * MINUTE), ("end", 30 * MINUTE), True),
    "just after": (("end", 0 * MINUTE), ("end", 30 * MINUTE), False),
    "long after": (("end", 24 * HOUR), ("end", 25 * HOUR), False),
}
ON_CLOCK_CHANGES = ("just before", "a minute into it", "inside", "all of it", "its last minute", "just after")
"""Where a length of the day that was taken for granted would show."""
FCR = {"capacityPrice": 12.5, "offeredCapacity": 5000}
AFRR = {"capacityPrice": 8.25, "offeredCapacity": 4000, "energyPrice": 120.01}


@pytest.fixture(scope="module")
async def market(settings: Settings) -> AsyncIterator[People]:
    """A service that takes bids years ahead."""
    async with migrated_database() as url:
        asked = replace(settings, database_url=url, gate_opening_fcr_days=3000, gate_opening_afrr_days=3000)
        async with running(asked) as edge, People(edge) as people:
            await people.operator()
            yield people


def wire(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def item_of(held: Window) -> dict[str, Any]:
    return {
        "start": wire(held.start),
        "end": wire(held.end),
        "deliveryZone": "TenneT",
        "ratedChargePower": 6000,
        "ratedDischargePower": 6000,
        "energyCapacity": 8000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
    }


async def hold(people: People, asset: AssetUnderTest, kind: str, day: date, held: Window) -> str:
    """Have something held of the battery, and say as what it stands in a conflict."""
    operator = (await people.operator()).client
    backing = [{"physicalAssetID": asset.id, "share": 1}]
    if kind == "PROMISE":
        holder = await people.new_organisation()
        own = (await operator.get("/auth/me")).json()["organisationID"]
        await asset.owner.admin.put(asset.path(f"/grants/{own}"), json={"permissions": ["Update:schedules"]})
        body = {**item_of(held), "name": "Loom", "backing": backing}
        made = await operator.post(f"/organisations/{holder.id}/virtual-assets", json=body)
        assert made.status_code == 201, made.text
        return "VIRTUAL_ASSET"
    if kind == "AUCTION":
        opening = {"start": wire(held.start - 60 * 24 * HOUR), "end": wire(held.start - 50 * 24 * HOUR)}
        body = {**opening, "item": item_of(held), "backing": backing, "participants": []}
        made = await operator.post("/auctions", json=body)
        assert made.status_code == 201, made.text
        return "AUCTION"
    product, bid = ("NEGPOS_00_04", FCR) if kind.startswith("FCR") else ("NEG_00_04", AFRR)
    (placed,) = (await place(asset, entry(product, bid, day=day.isoformat()))).json()
    if kind.endswith("AWARD"):
        await record(asset, product, placed["bids"][0]["id"], capacity=bid["offeredCapacity"], day=day.isoformat())
    return "ANCILLARY_BID"


def outage(start: datetime, end: datetime) -> dict[str, Any]:
    return {"description": "", "type": "OUTAGE", "start": wire(start), "end": wire(end), "volume": WHOLE}


@pytest.mark.parametrize("kind", ["FCR_BID", "FCR_AWARD", "AFRR_BID", "AFRR_AWARD", "AUCTION", "PROMISE"])
@pytest.mark.parametrize("day", DAYS)
async def test_an_outage_is_taken_everywhere_and_names_what_it_hits(market: People, kind: str, day: str) -> None:
    asset = await register_asset(await market.new_organisation())
    held = block_window(DAYS[day], 0, 4)
    stands_as = await hold(market, asset, kind, DAYS[day], held)
    edges = {"start": held.start, "end": held.end}
    engineer, told = asset.owner.engineer, {}
    tried = POSITIONS if day == "24 hours" else {name: POSITIONS[name] for name in ON_CLOCK_CHANGES}
    for name, ((from_edge, after), (to_edge, until), is_hit) in tried.items():
        body = outage(edges[from_edge] + after, edges[to_edge] + until)
        preview = await engineer.post(asset.path("/unavailability-previews"), json=body)
        assert preview.status_code == 200, (name, preview.text)
        assert (preview.json()["cut"] > 0) == is_hit, name
        made = await engineer.post(asset.path("/unavailability"), json=body)
        assert made.status_code == 201, (name, made.text)
        elsewhere = outage(held.start - 40 * 24 * HOUR, held.start - 39 * 24 * HOUR)
        own = asset.path(f"/unavailability/{made.json()['id']}")
        away = await engineer.change(own, json={"start": elsewhere["start"], "end": elsewhere["end"]})
        assert (away.status_code, away.json()["conflicts"]) == (200, []), (name, away.text)
        moved = await engineer.change(own, json={"start": body["start"], "end": body["end"]})
        assert moved.status_code == 200, (name, moved.text)
        for answer in (made, moved):
            kinds = {conflict["kind"] for conflict in answer.json()["conflicts"]}
            told[name] = kinds
            assert kinds == ({stands_as} if is_hit else set()), (name, answer.text)
        assert (await engineer.delete(own)).status_code == 204
    assert len(told) == len(tried)
