"""What can be done, and what is said, while an answer is on its way and after it was refused."""

from __future__ import annotations

import asyncio
from datetime import datetime, time, timedelta
from typing import Any

from playwright.async_api import Route, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene

RECONNECT = "dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))"
"""As after a lost connection: everything is read anew."""


class TestAnOwner:
    async def test_is_told_nothing_and_gives_nothing_before_it_is_read(self, open_tab: OpenTab, scene: Scene):
        answer = asyncio.Event()

        async def hold(route: Route) -> None:
            await answer.wait()
            await route.continue_()

        async with open_tab("owner") as tab:
            page = tab.page
            await page.route("**/datapoints?*", hold)
            await page.route("**/grants", hold)
            await tab.open(f"/physical-assets/{scene.assets['Stade']}", "Stade")
            figures = page.locator(".figures")
            await expect(figures).to_contain_text("being read")
            await expect(figures).not_to_contain_text("no telemetry today")
            await tab.go(f"/physical-assets/{scene.assets['Stade']}/grants")
            await expect(page.get_by_role("heading", name="Grants")).to_be_visible()
            await expect(page.get_by_role("button", name="Give", exact=True)).to_have_count(0)
            answer.set()
            await page.get_by_label("Organisation").select_option(label="Operator")
            await expect(page.get_by_label("see measurements and performance")).to_be_checked()
            await page.unroute_all(behavior="wait")

    async def test_reports_once_what_cannot_be_published_and_at_the_time_that_was_meant(
        self, open_tab: OpenTab, scene: Scene
    ):
        wilster = f"/physical-assets/{scene.assets['Wilster']}"
        day = (scene.now.astimezone(BERLIN) + timedelta(days=20)).date()
        async with open_tab("owner") as tab:
            page = tab.page
            tab.expect_refusal(422)  # the battery has no EIC
            await tab.open(wilster, "Wilster")
            await page.get_by_role("button", name="Report unavailability").click()
            await page.get_by_label("From").fill(f"{day:%d.%m.%Y} 08:00")
            await page.get_by_label("To", exact=True).fill(f"{day} 16:00")
            await page.get_by_label("Missing power").fill("2")
            await page.get_by_label("Reason").fill("Cable joint")
            await expect(page.get_by_role("button", name="Report 2 MW missing")).to_be_disabled()
            await expect(page.get_by_text("such as 2026-11-17 08:00")).to_be_visible()
            await page.get_by_label("From").fill(f"{day} 08:00")
            await page.get_by_text("UTC", exact=True).click()
            await page.get_by_label("Publish an exchange notification").check()
            await page.get_by_role("button", name="Report 2 MW missing").click()
            again = page.get_by_role("button", name="Publish it again")
            await expect(page.get_by_text("Its exchange notification is not published")).to_be_visible()
            await tab.check()
            async with page.expect_response("**/exchange-notifications"):
                await again.click()
            await expect(again).to_be_enabled()
            await page.get_by_role("button", name="Close", exact=True).click()
            await expect(page.get_by_role("cell", name="Maintenance Cable joint")).to_be_visible()
        stored: list[dict[str, Any]] = await asyncio.to_thread(scene.owner.get, f"{wilster}/unavailability")
        starts = [datetime.fromisoformat(one["start"]) for one in stored if one["description"] == "Cable joint"]
        assert starts == [datetime.combine(day, time(8), BERLIN)]


class TestTheOperator:
    async def test_follows_delivery_over_the_first_quarter_hour_of_a_day(self, open_tab: OpenTab, scene: Scene):
        midnight = datetime.combine((scene.now.astimezone(BERLIN) + timedelta(days=1)).date(), time(), BERLIN)
        told = midnight + timedelta(minutes=5)
        released = asyncio.Event()

        async def tell(route: Route) -> None:
            await route.fulfill(json={"running": True, "seed": 1, "speed": 1.0, "now": told.isoformat()})

        async def hold(route: Route) -> None:
            await released.wait()
            await route.continue_()

        async with open_tab("operator") as tab:
            page = tab.page
            await page.route("**/console/api/sandbox/simulator", tell)
            await tab.open(f"/delivery/{midnight.date()}")
            await tab.settle()
            battery = page.get_by_role("row", name="Stade")
            await expect(battery).to_be_visible()
            await page.route("**/console/api/batch", hold)
            told = midnight + timedelta(minutes=20)
            await page.evaluate(RECONNECT)
            await expect(page.locator(".bar-clock")).to_contain_text("00:20")
            await expect(battery).to_be_visible()
            released.set()
            await tab.settle()
            await expect(battery).to_be_visible()
            await page.unroute_all(behavior="wait")
