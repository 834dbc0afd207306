"""What a screen shows is what the interface answers: numbers of every screen, for who sees it, beside their sources."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene, Somebody
from tests.platform.console.journeys.test_virtual_battery import first_day

Place = Callable[[Page], Locator]
Fact = tuple[str, Place, str]
"""A screen, a place on it, and what the interface has for it."""


def decimal(value: float, digits: int = 0) -> str:
    text = f"{abs(value):,.{digits}f}"
    return f"−{text}" if value < 0 and re.search("[1-9]", text) else text


def euro(value: float, digits: int = 2) -> str:
    return f"{'−' if round(value, digits) < 0 else ''}€{decimal(abs(value), digits)}"


def row(name: str) -> Place:
    return lambda page: page.get_by_role("row", name=re.compile(f"^{re.escape(name)}")).first


def within(selector: str, text: str = "") -> Place:
    return lambda page: page.locator(selector).filter(has_text=text).first


def figure(label: str) -> Place:
    return within(".figure", label)


def midnight(day: date) -> str:
    return datetime.combine(day, time(), BERLIN).isoformat()


def days(first: date, count: int) -> dict[str, str]:
    return {"start": midnight(first), "end": midnight(first + timedelta(days=count))}


def kept_in(reader: Somebody, window: dict[str, str]) -> float:
    path = f"/revenue-reporting/organisations/{reader.organisation_id}/statement"
    return float(reader.get(path, **window, resolution="daily")["total"])


def money_facts(reader: Somebody, today: date) -> Iterator[Fact]:
    """What the organisation keeps, on the overview, in its report and in its newest document."""
    month = kept_in(reader, days(today - timedelta(days=29), 30))
    yield "/", within(".revenue-figures"), euro(kept_in(reader, days(today, 1)), 0)
    yield "/", within(".revenue-figures"), euro(month, 0)
    yield "/revenue", figure("What you keep"), euro(month, 0)
    yield "/revenue", within(".statement"), decimal(month, 2)
    path = f"/organisations/{reader.organisation_id}/statements"
    for one in reader.get(path, limit="1"):
        document = f"/statements/{reader.organisation_id}/{one['id']}"
        yield document, within(".document-total"), euro(abs(one.get("toDate", one["total"])))
        yield document, within(".matrix-total"), decimal(one["total"], 2)


def trader_facts(scene: Scene) -> Iterator[Fact]:
    reader = scene.trader
    yield from money_facts(reader, scene.now.astimezone(BERLIN).date())
    path = f"/organisations/{reader.organisation_id}/virtual-assets/{scene.virtual_asset_id}"
    asset, day = reader.get(path), date.fromisoformat(first_day(scene))
    size = f"{asset['ratedDischargePower'] / 1000:g} MW · {asset['energyCapacity'] / 1000:g} MWh"
    yield "/virtual-batteries", row(asset["name"]), size
    powers = [point["power"] for point in reader.get(f"{path}/schedule", **days(day, 1))["schedule"]]
    prices = reader.get("/reference-prices", series="DAY_AHEAD_DE_LU", **days(day, 1), limit="1000")
    worth = sum(power * one["price"] for power, one in zip(powers, prices, strict=True)) / 4000
    screen = f"/virtual-batteries/{scene.virtual_asset_id}/{day}"
    yield screen, figure("Plan value"), euro(worth, 0)
    yield screen, figure("End of delivery"), decimal(asset["endStateOfChargePercentage"], 1)
    yield f"/portfolio-plan/{day}", within(".plan-row", asset["name"]), euro(worth, 0)
    points = reader.get(f"{path}/position", **days(day, 1))
    scheduled = sum(point["scheduled"] for point in points)
    yield f"/open-position/{day}", row(asset["name"]), decimal(scheduled, 2)
    for name in ("won", "lost", "long"):
        auction = reader.get(f"/auctions/{scene.auctions[name]}")
        bids = reader.get(f"/auctions/{scene.auctions[name]}/bids")
        price = auction.get("currentBid", bids[-1])["price"]
        yield f"/auctions/{scene.auctions[name]}", within("table.bids"), decimal(price, 2)


def owner_facts(scene: Scene) -> Iterator[Fact]:
    reader, stade = scene.owner, scene.assets["Stade"]
    yield from money_facts(reader, scene.now.astimezone(BERLIN).date())
    latest = reader.get(f"/monitoring/{stade}/datapoints/latest")["data"]
    charge = decimal(latest["state_of_charge"]["value"], 1)
    yield "/", row("Stade"), charge
    yield f"/physical-assets/{stade}", figure("State of charge"), charge
    parameters = reader.get(f"/physical-assets/{stade}/parameters")
    for name in ("ratedChargePower", "ratedDischargePower", "energyCapacity"):
        newest = row(str(parameters["version"]))
        yield f"/physical-assets/{stade}/parameters", newest, f"{parameters[name] / 1000:g}"
    for entry in reader.get(f"/physical-assets/{stade}/ancillary/bids"):
        for bid in entry["bids"]:
            yield f"/physical-assets/{stade}/bids", within("#screen table"), decimal(float(bid["capacityPrice"]), 2)


def operator_facts(scene: Scene) -> Iterator[Fact]:
    reader, day = scene.operator, date.fromisoformat(first_day(scene))
    zones = [quarter for zone in reader.get("/delivery/zones", **days(day, 1)) for quarter in zone["quarters"]]
    scheduled = sum(one["scheduledExport"] + one["scheduledImport"] for one in zones) / 4000
    yield f"/delivery/{day}", figure("Scheduled, in and out"), decimal(scheduled, 1)
    yield f"/delivery/{day}", figure("Netted"), decimal(sum(2 * one["netted"] for one in zones) / 4000, 1)
    yield f"/delivery/{day}", figure("Dispatched"), decimal(sum(abs(one["dispatched"]) for one in zones) / 4000, 1)
    latest = reader.get(f"/monitoring/{scene.assets['Stade']}/datapoints/latest")["data"]
    yield "/", within(".overview-side", "Fleet"), decimal(latest["state_of_charge"]["value"], 1)
    month = scene.now.astimezone(BERLIN).strftime("%Y-%m")
    for party in (scene.owner, scene.trader):
        for one in reader.get(f"/organisations/{party.organisation_id}/statements", month=month):
            sums: dict[str, float] = {}
            for line in one["lines"]:
                sums[line["line"]] = sums.get(line["line"], 0) + line["amount"]
            for amount in (*sums.values(), one["total"]):
                if round(amount, 2):
                    yield f"/settlement?month={month}", row(one["organisationName"]), decimal(amount, 2)
    won = scene.auctions["won"]
    names = {one["id"]: one["name"] for one in reader.get("/organisations", limit="1000")}
    for bid in reader.get(f"/auctions/{won}/results")["bids"]:
        price = decimal(float(bid["price"]), 2)
        yield f"/auctions/{won}", within("#screen tr", price), names[bid["organisationID"]]


FACTS: dict[str, Callable[[Scene], Iterator[Fact]]] = {
    "trader": trader_facts,
    "owner": owner_facts,
    "operator": operator_facts,
}


class TestNumbersOnScreen:
    @pytest.mark.parametrize("username", FACTS)
    async def test_are_those_of_the_interface(self, open_tab: OpenTab, scene: Scene, username: str):
        facts: list[Any] = await asyncio.to_thread(lambda: list(FACTS[username](scene)))
        assert len(facts) > 8
        async with open_tab(username) as tab:
            await tab.open("/")
            at = "/"
            for path, place, text in facts:
                if path != at:
                    await tab.go(path)
                    at = path
                await expect(place(tab.page), f"{path}: {text}").to_contain_text(text)
