"""The operator's own screens: what was delivered, who is on the platform, and the sandbox's clock."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, time, timedelta

from playwright.async_api import Route, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene
from tests.platform.console.journeys.test_first_load import silence_stade


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
            await expect(page.get_by_role("columnheader", name="Reserve")).to_be_visible()
            await tab.settle()
            await tab.check()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="CSV").click()
            assert b"Stade,TenneT" in (await (await started.value).path()).read_bytes()

    async def test_is_told_which_setting_a_feed_lacks_and_sees_what_a_run_found(self, open_tab: OpenTab):
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/administration/feeds", "Administration")
            tab.expect_refusal(409)
            entsoe = page.get_by_role("row", name=re.compile("^ENTSO-E"))
            await expect(entsoe).to_contain_text("not configured")
            await entsoe.get_by_role("button", name="Switch on").click()
            await expect(entsoe).to_contain_text("GRIDLOOM_ENTSOE_TOKEN")
            await page.get_by_role("button", name="Series and runs of SMARD").click()
            await expect(page.get_by_role("row", name=re.compile("^Day-ahead price"))).to_be_visible()
            await expect(page.get_by_text("It was not asked yet.")).to_be_visible()
            await tab.check()

    async def test_compares_the_last_quarter_hour_that_is_over(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            await tab.open("/delivery")
            await expect(tab.page.get_by_text(re.compile(r"MW, ended \d+ (s|min) ago"))).to_be_visible()
            yesterday = (scene.now.astimezone(BERLIN) - timedelta(days=1)).date()
            await tab.open(f"/delivery/{yesterday}")
            await expect(tab.page.get_by_text("the whole day, MWh")).to_be_visible()
            await expect(tab.page.get_by_role("heading", name="Deviation")).to_be_visible()
            await tab.settle()
            await tab.check()

    async def test_sees_skeletons_and_no_dashes_while_a_days_figures_are_read(self, open_tab: OpenTab):
        async with open_tab("operator") as tab:
            page, is_released = tab.page, asyncio.Event()

            async def hold(route: Route) -> None:
                if "/dispatch" in (route.request.post_data or ""):
                    await is_released.wait()
                await route.continue_()

            await page.route("**/console/api/batch", hold)
            await tab.open("/delivery")
            stade = page.get_by_role("row", name=re.compile("^Stade"))
            await expect(stade.locator(".skeleton")).to_have_count(5)
            await expect(page.locator(".delivery-table td").get_by_text("–", exact=True)).to_have_count(0)
            await expect(page.get_by_role("button", name="CSV")).to_be_disabled()
            is_released.set()
            await expect(stade.locator(".skeleton")).to_have_count(0)
            await expect(page.get_by_role("button", name="CSV")).to_be_enabled()
            await tab.settle()

    async def test_finds_every_organisations_virtual_batteries(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/virtual-batteries", "Virtual batteries")
            rows = page.get_by_role("row", name=re.compile("Nordlicht Trading"))
            await expect(rows.first).to_be_visible()
            await expect(page.get_by_role("row", name=re.compile("Südwind Energie")).first).to_be_visible()
            await page.get_by_role("link", name=re.compile("12 MW")).first.click()
            await expect(page.locator("#screen h1")).to_contain_text("12 MW")
            await tab.settle()
            await tab.check()

    async def test_is_told_what_fails_and_never_calm_without_looking(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            page = tab.page
            await page.route("**/console/api/batch", silence_stade)
            await tab.open("/")
            await tab.settle()
            queue = page.get_by_role("region", name="Queue by deadline")
            await expect(queue).to_contain_text("Telemetry of Stade is stale")
            await tab.check_in_both_themes()

            async def without_zones(route: Route) -> None:
                answer = await route.fetch()
                body = await answer.json()
                asked = json.loads(route.request.post_data or "{}")["paths"]
                for place, path in enumerate(asked):
                    if path.startswith("/delivery/zones"):
                        body[place] = {"status": 503, "body": None, "etag": None, "link": None}
                    elif path.endswith("/health"):
                        body[place]["body"]["checks"] = []
                        body[place]["body"]["conflicts"] = []
                await route.fulfill(response=answer, json=body)

            await page.route("**/console/api/batch", without_zones)
            await tab.open("/")
            await expect(queue).to_contain_text("Could not be asked just now: the zones.")
            await page.unroute_all(behavior="wait")

    async def test_brings_an_organisation_onto_the_platform(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/administration/organisations", "Administration")
            await page.get_by_label("Name").fill("Elbe Flex")
            await page.get_by_role("button", name="Add organisation").click()
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
