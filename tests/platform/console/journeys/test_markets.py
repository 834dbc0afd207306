"""A day's markets and reserves: proposed, ordered and taken back at the gates, and bid for with the keyboard alone."""

from __future__ import annotations

import asyncio
import re
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest
from playwright.async_api import expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, RATIO, Scene, Somebody, new_member


class Dealer:
    """A trader with one battery of their own, so that no other journey counts it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.person: Somebody = new_member(scene.base_url, scene.operator, "Saale Handel", "dealer")
        self.day = (scene.now.astimezone(BERLIN) + timedelta(days=2)).date().isoformat()
        self.path = f"/organisations/{self.person.organisation_id}"
        start = datetime.combine(date.fromisoformat(self.day), time(), BERLIN)
        body = {
            "name": "Saale",
            "start": start.isoformat(),
            "end": (start + timedelta(days=2)).isoformat(),
            "deliveryZone": "Amprion",
            "ratedChargePower": 4000,
            "ratedDischargePower": 4000,
            "energyCapacity": 8000,
            "dailyCycleLimit": 2,
            "backing": [{"physicalAssetID": scene.assets["Hürth"], "share": 1}],
            **RATIO,
        }
        grant = f"/physical-assets/{scene.assets['Hürth']}/grants/{scene.operator.organisation_id}"
        seen = ["Read:physical-assets", "Read:schedules", "Read:monitoring", "Update:schedules"]
        scene.owner.put(grant, {"permissions": seen})
        self.asset = scene.operator.post(f"{self.path}/virtual-assets", body)["id"]

    def plan(self, stage: str) -> Any:
        path = f"{self.path}/virtual-assets/{self.asset}/market-plans"
        return self.person.post(path, {"deliveryDay": self.day, "stage": stage})

    def orders(self) -> list[Any]:
        found = self.person.get(f"{self.path}/orders", **{"delivery-day": self.day})
        return [one for one in found if one["status"] != "CANCELLED"]

    def earned(self, stage: str) -> float:
        path = f"{self.path}/virtual-assets/{self.asset}/markets"
        stages = self.person.get(path, **{"delivery-day": self.day})
        return float(next(one["earned"] for one in stages if one["stage"] == stage))

    def execute(self, order: Any) -> None:
        trades = [
            {
                "time": one["time"],
                "side": one["side"],
                "volume": one["volume"],
                "price": 40 if one["side"] == "BUY" else 90,
            }
            for one in order["volumes"]
        ]
        self.scene.operator.post("/orders/results", [{"orderID": order["id"], "executed": True, "trades": trades}])


@pytest.fixture(scope="session")
def dealer(scene: Scene) -> Dealer:
    return Dealer(scene)


def euros(value: float) -> str:
    return f"{value:,.2f}"


class TestMarketsOfADay:
    async def test_propose_place_and_take_back_orders_and_say_what_was_earned(self, open_tab: OpenTab, dealer: Dealer):
        plan = await asyncio.to_thread(dealer.plan, "IDA1")
        assert plan["worth"] > 0
        async with open_tab("dealer") as tab:
            page = tab.page
            await tab.open(f"/markets/{dealer.day}?gate=IDA1", "Markets of a day")
            side = page.get_by_role("region", name="Intraday auction 1")
            await expect(side).to_contain_text(f"+€{euros(plan['worth'])}")
            await expect(side).to_contain_text("Plans change when it is executed")
            await expect(page.locator(".gate-arc")).to_have_count(
                sum(1 for trip in plan["trips"] if trip["bought"] and trip["sold"])
            )
            await tab.check_in_both_themes()
            await side.get_by_role("button", name="Place order").click()
            at_gate = page.get_by_role("region", name="Orders at this gate")
            await expect(at_gate).to_contain_text("stands")
            (order,) = await asyncio.to_thread(dealer.orders)
            assert (order["stage"], order["apply"], order["schedule"] != []) == ("IDA1", True, True)
            await at_gate.get_by_role("button", name="Take back the order of Saale").click()
            await expect(at_gate).to_have_count(0)
            assert await asyncio.to_thread(dealer.orders) == []
            await side.get_by_role("button", name="Place order").click()
            await expect(at_gate).to_contain_text("stands")
            (order,) = await asyncio.to_thread(dealer.orders)
            await asyncio.to_thread(dealer.execute, order)
            await expect(at_gate).to_contain_text("executed")
            earned = await asyncio.to_thread(dealer.earned, "IDA1")
            sums = page.get_by_role("region", name="Earned")
            await expect(sums.get_by_role("row", name=re.compile("^Stands"))).to_contain_text(euros(earned))
            await page.set_viewport_size({"width": 390, "height": 844})
            await tab.settle()
            assert await page.evaluate("document.querySelector('#screen').scrollWidth") <= 390
            await tab.check_layout()


class TestReserves:
    async def test_are_bid_for_several_days_with_the_keyboard_alone(self, open_tab: OpenTab, scene: Scene):
        """FCR cleared at 20 to 64 EUR/MW a block on twelve days: 28 would have been taken on ten, 56 on three."""
        today = scene.now.astimezone(BERLIN).date()
        day, after = (today + timedelta(days=days) for days in (4, 5))
        await asyncio.to_thread(publish_fcr, scene, today)
        wilster = scene.assets["Wilster"]
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/reserves/{day}?of={wilster}", "Reserves")
            await tab.settle()
            await tab.tab_to("FCR 00–04")
            await page.keyboard.type("4@28 2@56")
            line = page.get_by_role("row", name=re.compile("^FCR"))
            await expect(line).to_contain_text("83 %")
            await expect(line).to_contain_text("25 %")
            await expect(line).to_contain_text("last 64.00")
            await page.keyboard.press("ArrowDown")
            await page.keyboard.type("60@9.80")
            await expect(page.get_by_text("Name its energy price as well.")).to_be_visible()
            await page.keyboard.press("Shift+Tab")
            await page.keyboard.type("120")
            await expect(page.get_by_text(re.compile(r"^\d+ MW too many up"))).to_be_visible()
            place = page.get_by_role("button", name=re.compile("^Place"))
            await expect(place).to_be_disabled()
            await page.keyboard.press("Tab")
            await page.keyboard.press("Control+a")
            await page.keyboard.type("5@9,80/130")
            await expect(page.get_by_text("Up: 5 MW for 4 h is 20 of 50 MWh")).to_be_visible()
            await tab.tab_to(after.strftime("%a ") + str(after.day))
            await page.keyboard.press("Space")
            await expect(place).to_have_text(re.compile("^Place 4 bids"))
            await tab.check_in_both_themes()
            await page.keyboard.press("Control+Enter")
            await expect(page.get_by_text("4 bids placed.")).to_be_visible()
            for one in (day, after):
                assert await asyncio.to_thread(standing, scene.owner, wilster, one) == {
                    "NEGPOS_00_04": [(4000, 28.0, None), (2000, 56.0, None)],
                    "POS_00_04": [(5000, 9.8, 130.0)],
                }
            await page.set_viewport_size({"width": 390, "height": 844})
            await tab.settle()
            assert await page.evaluate("document.querySelector('#screen').scrollWidth") <= 390
            await tab.check_layout()
            # What is emptied is taken back.
            await page.get_by_role("textbox", name="FCR 00–04").fill("")
            await page.keyboard.press("Control+Enter")
            await expect(page.get_by_text("2 bids taken back.")).to_be_visible()
        assert list(await asyncio.to_thread(standing, scene.owner, wilster, day)) == ["POS_00_04"]

    async def test_of_several_batteries_are_placed_battery_by_battery_and_one_may_be_refused(
        self, open_tab: OpenTab, scene: Scene
    ):
        """18 MW of FCR are within four fifths of Wolmirstedt's 25 MW and beyond those of Hürth's 20."""
        day = scene.now.astimezone(BERLIN).date() + timedelta(days=12)
        both = [scene.assets[name] for name in ("Wolmirstedt", "Hürth")]
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/reserves/{day}?of={both[0]}", "Reserves")
            field = page.get_by_role("textbox", name="FCR 00–04")
            await field.fill("18@30")
            await page.get_by_label("Name of a template").fill("Night")
            await page.get_by_role("button", name="Keep", exact=True).click()
            await page.get_by_label("Hürth", exact=True).check()
            tab.expect_refusal(422)
            await page.get_by_role("button", name="Place 2 bids").click()
            refused = page.get_by_role("alert").filter(has_text="1 bid placed; not taken:")
            await expect(refused).to_contain_text(re.compile(r"Hürth.* MW"))
            await expect(field).to_have_value("18@30")
            assert [await asyncio.to_thread(standing, scene.owner, one, day) for one in both] == [
                {"NEGPOS_00_04": [(18_000, 30.0, None)]},
                {},
            ]
            page.on("dialog", lambda dialog: dialog.accept())
            await page.get_by_role("button", name="The day after").click()
            await expect(field).to_have_value("")
            await page.get_by_label("Template", exact=True).select_option(label="Night")
            await expect(field).to_have_value("18@30")
            await page.get_by_role("button", name="Discard").click()
            await expect(field).to_have_value("")

    async def test_whose_gate_has_passed_are_shown_and_not_typed(self, open_tab: OpenTab, scene: Scene):
        tomorrow = scene.now.astimezone(BERLIN).date() + timedelta(days=1)
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/reserves/{tomorrow}?of={scene.assets['Wilster']}", "Reserves")
            await expect(page.locator(".figure", has_text="FCR gate")).to_contain_text("closed")
            await expect(page.get_by_role("row", name=re.compile("^FCR"))).to_be_visible()
            await expect(page.locator(".reserves-field")).to_have_count(0)
            await expect(page.get_by_role("button", name=re.compile("^Place"))).to_be_disabled()

    async def test_are_offered_of_virtual_batteries_by_orders(self, open_tab: OpenTab, dealer: Dealer):
        day = (date.fromisoformat(dealer.day) + timedelta(days=1)).isoformat()
        async with open_tab("dealer") as tab:
            page = tab.page
            await tab.open(f"/reserves/{day}", "Reserves")
            await page.get_by_role("textbox", name="FCR 08–12").fill("1@30")
            await page.get_by_role("button", name=re.compile("^Place 1 offer")).click()
            await expect(page.get_by_text("1 offer placed.")).to_be_visible()
        found = await asyncio.to_thread(dealer.person.get, f"{dealer.path}/orders", **{"delivery-day": day})
        assert [(one["product"], one["capacity"], float(one["capacityPrice"])) for one in found[0]["reserves"]] == [
            ("NEGPOS_08_12", 1000, 30.0)
        ]


def publish_fcr(scene: Scene, today: date) -> None:
    rows = []
    for number in range(12):
        start = datetime.combine(today - timedelta(days=12 - number), time(), BERLIN)
        span = {"start": start.isoformat(), "end": (start + timedelta(hours=4)).isoformat()}
        rows.append({"series": "FCR_DE", **span, "price": 5 + number})
    scene.operator.post("/reference-prices", rows)


def standing(owner: Somebody, asset: str, day: date) -> dict[str, list[tuple[float, float, float | None]]]:
    entries = owner.get(
        f"/physical-assets/{asset}/ancillary/bids", **{"delivery-day": day.isoformat(), "status": "OFFERED"}
    )
    return {
        entry["product"]: [
            (
                bid["offeredCapacity"],
                float(bid["capacityPrice"]),
                float(bid["energyPrice"]) if "energyPrice" in bid else None,
            )
            for bid in entry["bids"]
        ]
        for entry in entries
    }
