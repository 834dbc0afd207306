"""The operator's own screens: what was delivered, who is on the platform, and the sandbox's clock."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, time, timedelta

from playwright.async_api import expect
from tests.console.journeys.conftest import OpenTab
from tests.console.journeys.scene import BERLIN, Scene


class TestTheOperator:
    async def test_reads_what_a_zone_is_to_deliver(self, open_tab: OpenTab, scene: Scene):
        tomorrow = (scene.now.astimezone(BERLIN) + timedelta(days=1)).date()
        path = f"/organisations/{scene.trader.organisation_id}/virtual-assets/{scene.virtual_asset_id}/schedule"
        noon = datetime.combine(tomorrow, time(12), BERLIN)
        # Out and in again, so that the days after it stay as they are.
        powers = (3000.0, -3000.0 / 0.94**2)
        points = [
            {"time": (noon + timedelta(minutes=15 * n)).isoformat(), "power": power} for n, power in enumerate(powers)
        ]
        await asyncio.to_thread(scene.trader.put, path, {"schedule": points})
        async with open_tab("operator") as tab:
            page = tab.page
            await asyncio.to_thread(scene.advance, "PT15M")
            await tab.open(f"/delivery/{tomorrow}")
            await expect(page.locator(".figures")).to_contain_text(re.compile(r"Scheduled, in and out\s*[1-9]"))
            await expect(page.get_by_role("img", name=re.compile("^Dispatched: .*TenneT"))).to_be_visible()
            await expect(page.get_by_role("row", name=re.compile("^Stade"))).to_be_visible()
            await tab.settle()
            await tab.check()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="CSV").click()
            assert b"Stade,TenneT" in (await (await started.value).path()).read_bytes()

    async def test_brings_an_organisation_onto_the_platform(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/administration/organisations", "Administration")
            await page.get_by_label("Name").fill("Elbe Flex")
            await page.get_by_role("button", name="Take it in").click()
            await expect(page.get_by_role("cell", name="Elbe Flex", exact=True)).to_be_visible()
            await tab.check()
        assert "Elbe Flex" in {one["name"] for one in scene.operator.get("/organisations")}


class TestKeys:
    async def test_reach_every_control_of_every_screen(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            for path in ("/", "/auctions", "/delivery", "/administration/organisations"):
                await tab.open(path)
                await tab.settle()
                assert await tab.unreached() == [], path
        async with open_tab("trader") as tab:
            day = (scene.now.astimezone(BERLIN) + timedelta(days=1)).date()
            for path in (
                "/auctions",
                f"/virtual-batteries/{scene.virtual_asset_id}/{day}",
                f"/revenue/virtual-assets/{scene.virtual_asset_id}",
            ):
                await tab.open(path)
                await tab.settle()
                assert await tab.unreached() == [], path
        async with open_tab("owner") as tab:
            for path in (
                f"/physical-assets/{scene.assets['Stade']}",
                f"/physical-assets/{scene.assets['Stade']}/grants",
            ):
                await tab.open(path)
                await tab.settle()
                assert await tab.unreached() == [], path
