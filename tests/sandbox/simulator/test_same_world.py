"""The same seed makes the same world, however often its simulator is killed on the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.simulator.worlds import SimulatedWorld, simulated_world

from gridloom.kernel.market_time import market_day_of
from gridloom.sandbox.simulator.api_session import written
from gridloom.settings import Settings

pytestmark = pytest.mark.slow

PUBLISHED = (
    "DAY_AHEAD_DE_LU",
    "IDA1_DE_LU",
    "IDA3_DE_LU",
    "INTRADAY_DE_LU",
    "FCR_DE",
    "AFRR_ENERGY_POS_DE_MARGINAL",
)
DEATHS = 3
UNTIL = timedelta(hours=38, minutes=30)
"""From midnight: two mornings with auctions, schedules, balancing power and trades."""


async def facts_of(world: SimulatedWorld, start: datetime, end: datetime, lived_until: datetime) -> dict[str, Any]:
    """Everything that happened, without ids and real times; the world may have lived on."""
    window = {"start": start.isoformat(), "end": end.isoformat()}
    names = {one["id"]: one["name"] for one in await world.get("/organisations")}
    batteries = {one["id"]: one["name"] for one in await world.get("/physical-assets")}
    virtual: dict[str, str] = {}
    found: dict[str, Any] = {"batteries": sorted(batteries.values())}
    for listed in await world.pages("/auctions"):
        if datetime.fromisoformat(listed["start"]) > end:
            continue
        auction = await world.get(f"/auctions/{listed['id']}")
        item = auction["item"]
        name = f"{item['deliveryZone']} {item['start']}"
        found[f"auction {name}"] = (auction["start"], auction["end"], auction["hurdlePrice"], item["ratedChargePower"])
        if "virtualAssetID" in auction:
            virtual[auction["virtualAssetID"]] = name
        if datetime.fromisoformat(auction["end"]) <= end:
            results = await world.get(f"/auctions/{auction['id']}/results")
            bids = [(names[bid["organisationID"]], bid["price"], bid["fate"]) for bid in results["bids"]]
            found[f"results {name}"] = bids
    for organisation_id in names:
        for asset in await world.pages(f"/organisations/{organisation_id}/virtual-assets", **window):
            name = virtual.setdefault(asset["id"], asset["name"])
            blocks = await world.get(f"/organisations/{organisation_id}/virtual-assets/{asset['id']}/blocks", **window)
            # In an order of their own: blocks that were carved out at once are listed by ids that chance makes.
            schedules = sorted(
                (
                    *(block[field] for field in ("market", "start", "ratedDischargePower", "ratedChargePower")),
                    *(point["power"] for point in block["schedule"]),
                )
                for block in blocks
                if datetime.fromisoformat(block["start"]) < end
            )
            found[f"virtual battery {name}"] = (names[organisation_id], asset["start"], asset["end"], schedules)
    known = {**batteries, **virtual}
    for kind in ("wholesale-trades", "fcr", "afrr-capacity", "afrr-energy", "net-off", "tolling-contracts"):
        rows = await world.pages(f"/settlements/{kind}", **{"as-of": written(lived_until)})
        found[kind] = sorted(str((known[row["assetID"]], *_plain(row))) for row in rows)
    for series in PUBLISHED:
        rows = await world.pages("/reference-prices", series=series, **window)
        found[series] = [(row["start"], row["price"]) for row in rows]
    for asset_id, name in batteries.items():
        telemetry = await world.get(f"/monitoring/{asset_id}/datapoints", resolution="15-minute", **window)
        found[f"telemetry {name}"] = {
            signal: [(point["time"], point["value"]) for point in points]
            for signal, points in telemetry["data"].items()
        }
        dispatch = (await world.get(f"/physical-assets/{asset_id}/dispatch", **window))["dispatch"]
        found[f"dispatch {name}"] = [
            (point["time"], point["power"], sorted(_name_part(part, known) for part in point["parts"]))
            for point in dispatch
        ]
        outages = await world.pages(f"/physical-assets/{asset_id}/unavailability", **window)
        found[f"outages {name}"] = [(one["type"], one["start"], one["end"]) for one in outages]
    return found


def _list_differences(one: Any, other: Any) -> list[Any]:
    """What differs, in pairs, down to the single values."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [(name, *pair) for name in one for pair in _list_differences(one[name], other[name])]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [(first, second) for first, second in zip(one, other, strict=True) if first != second]
    return [] if one == other else [(one, other)]


def _name_part(part: dict[str, Any], known: dict[str, str]) -> tuple[str, str, float]:
    return part["kind"], known.get(part.get("virtualAssetID", ""), ""), part["power"]


def _plain(row: dict[str, Any]) -> list[str]:
    """A settled row without what differs between worlds."""
    return [
        f"{name}={row[name]}"
        for name in sorted(row)
        if name not in ("assetID", "tradeID", "recordedAt", "version") and not name.endswith(("At", "By", "ID"))
    ]


async def test_a_world_is_the_same_though_its_simulator_was_killed_again_and_again(
    world: SimulatedWorld, settings: Settings, tmp_path: Path
):
    """Killed are processes, each with hashes of its own: what depends on them would differ."""
    days = world.settings.simulator_days + (market_day_of(datetime.now(UTC)) - market_day_of(world.made_at)).days
    async with simulated_world(settings, tmp_path, days=days) as mortal:
        start = await mortal.now()
        end = start + UNTIL
        for number in range(1, DEATHS + 2):
            await mortal.live_until(start + number * (end - start) / (DEATHS + 1), salt=number)
        disturbed = await facts_of(mortal, start, end - timedelta(hours=4), end)
    undisturbed = await facts_of(world, start, end - timedelta(hours=4), end)
    assert disturbed.keys() == undisturbed.keys()
    assert len(undisturbed["wholesale-trades"]) > 100
    differing = {name: _list_differences(disturbed[name], fact) for name, fact in undisturbed.items()}
    assert {name: different[:3] for name, different in differing.items() if different} == {}
