"""What a desk and an operator look through: lists with views of their own, organisations, and several bids at once."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

from playwright.async_api import Page, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene


def names(page: Page) -> Any:
    return page.locator("table.virtual-batteries tbody tr td:first-child strong")


class TestAList:
    async def test_is_sorted_filtered_and_kept_as_a_view_in_its_address(self, open_tab: OpenTab, scene: Scene):
        powers = await asyncio.to_thread(rated_powers, scene)
        assert len(powers) > 1
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/virtual-batteries", "Virtual batteries")
            await tab.settle()
            await page.get_by_role("button", name="Size").click()
            await page.get_by_role("button", name="Size").click()
            shown = await names(page).all_inner_texts()
            assert [powers[name] for name in shown] == sorted(powers.values(), reverse=True)
            await page.locator("summary", has_text="Columns").click()
            await page.get_by_label("Efficiency").uncheck()
            await page.get_by_label("Earned today, EUR").check()
            await expect(page.get_by_role("columnheader", name="Earned today")).to_be_visible()
            await tab.check_in_both_themes()
            await page.get_by_label("Name of a view").fill("Large")
            await page.get_by_role("button", name="Keep", exact=True).click()
            await tab.open("/virtual-batteries", "Virtual batteries")
            await expect(page.get_by_role("columnheader", name="Efficiency")).to_be_visible()
            await page.get_by_label("View", exact=True).select_option(label="Large")
            await expect(page.get_by_role("columnheader", name="Efficiency")).to_have_count(0)
            assert "sort=-size" in page.url
            await expect(page.get_by_role("columnheader", name="Size")).to_have_attribute("aria-sort", "descending")
            await page.get_by_label("Search").fill(shown[0])
            await expect(names(page)).to_have_count(sum(name == shown[0] for name in shown))

    async def test_of_physical_batteries_is_sorted_and_filtered_in_its_address(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open("/physical-assets?sort=-size&zone=TenneT&columns=size,problem", "Physical assets")
            await tab.settle()
            shown = page.locator("table.physical-batteries tbody tr")
            await expect(shown.locator("strong")).to_have_text(["Stade", "Wilster"])
            await expect(page.get_by_role("columnheader", name="Next problem")).to_be_visible()
            await expect(page.get_by_role("columnheader", name="Health")).to_have_count(0)
            await page.get_by_role("button", name="Battery").click()
            await page.get_by_role("combobox", name="Zone").select_option("")
            await expect(shown.locator("strong")).to_have_text(["Hürth", "Stade", "Wilster", "Wolmirstedt"])
            await page.get_by_label("Name of a view").fill("Short")
            await page.get_by_role("button", name="Keep", exact=True).click()
            await tab.open("/physical-assets", "Physical assets")
            await expect(page.get_by_role("columnheader", name="Health")).to_be_visible()
            await tab.check_in_both_themes()
            await page.get_by_label("View", exact=True).select_option(label="Short")
            await expect(page.get_by_role("columnheader", name="Health")).to_have_count(0)

    async def test_of_auctions_is_a_table_with_views(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open("/auctions", "Auctions")
            await page.get_by_role("link", name="Table").click()
            rows = page.locator("table.auction-table tbody tr")
            await page.get_by_role("button", name="Your bid").click()
            await page.get_by_label("Which auctions").select_option(label="Closed")
            await expect(rows.filter(has_text="13,480.00")).to_contain_text("won")
            least = await asyncio.to_thread(least_closed_bid, scene)
            await expect(rows.nth(0)).to_contain_text(least)
            await page.locator("summary", has_text="Columns").click()
            await page.get_by_label("Opens").check()
            await tab.check_in_both_themes()
            await page.get_by_label("Name of a view").fill("Closed ones")
            await page.get_by_role("button", name="Keep", exact=True).click()
            await page.get_by_role("link", name="One by one").click()
            await expect(page.get_by_role("radio", name="All")).to_be_checked()
            await page.get_by_role("link", name="Table").click()
            await page.get_by_label("View", exact=True).select_option(label="Closed ones")
            await expect(page.get_by_role("columnheader", name="Opens")).to_be_visible()
            await expect(rows.nth(0)).to_contain_text(least)
            await page.set_viewport_size({"width": 390, "height": 844})
            assert await page.evaluate("document.querySelector('#screen').scrollWidth") <= 390
            await rows.nth(0).get_by_role("link").first.click()
            await expect(page.get_by_role("region", name="Your bids")).to_be_visible()

    async def test_leads_to_the_page_of_each_organisation(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/administration/organisations", "Administration")
            await page.get_by_role("link", name="Nordlicht Trading").click()
            await expect(page.locator("#screen h1")).to_have_text("Nordlicht Trading")
            await tab.settle()
            people = page.get_by_role("region", name="People")
            await expect(people.get_by_role("row", name=re.compile("Jonas Petersen"))).to_contain_text("Trader")
            for name in ("Statements", "Batteries", "Usage of shares"):
                await expect(page.get_by_role("region", name=name)).to_be_visible()
            await tab.check_in_both_themes()
            await page.set_viewport_size({"width": 390, "height": 844})
            assert await page.evaluate("document.querySelector('#screen').scrollWidth") <= 390


def least_closed_bid(scene: Scene) -> str:
    """Of the trader's, also where other journeys have closed auctions meanwhile."""
    auctions = scene.trader.get("/auctions", limit="1000")
    closed = [one for one in auctions if one["status"] in ("WON", "LOST") and "currentBid" in one]
    return f"{min(float(one['currentBid']['price']) for one in closed):,.2f}"


class TestACourse:
    async def test_lays_one_day_over_another_and_comes_closer(self, open_tab: OpenTab, scene: Scene):
        midnight = (scene.now.astimezone(BERLIN) + timedelta(days=6)).replace(hour=0, minute=0, second=0, microsecond=0)
        path = f"/organisations/{scene.trader.organisation_id}/virtual-assets/{scene.virtual_asset_id}/schedule"
        powers = [{"time": (midnight + timedelta(minutes=15 * n)).isoformat(), "power": -1600} for n in range(8)]
        await asyncio.to_thread(scene.trader.put, path, {"schedule": powers})
        day, before = midnight.date(), midnight.date() - timedelta(days=1)
        async with open_tab("trader") as tab:
            page = tab.page
            battery = f"/virtual-batteries/{scene.virtual_asset_id}"
            await tab.open(f"{battery}/course?from={day}&beside={before}", re.compile("course$"))
            await tab.settle()
            first = page.get_by_role("row", name=re.compile(f"^from {day.strftime('%a')}"))
            await expect(first).to_contain_text("3.20")
            await expect(page.get_by_role("row", name=re.compile(f"^from {before.strftime('%a')}"))).to_be_visible()
            await expect(page.locator(".course-beside")).to_have_count(3)
            await tab.check_in_both_themes()
            # The six hours around noon, in which nothing is planned.
            await page.keyboard.press("+")
            await page.keyboard.press("+")
            await expect(first).to_contain_text("0.00")
            await page.keyboard.press("0")
            await expect(first).to_contain_text("3.20")


class TestSeveralBids:
    async def test_are_placed_at_once_within_the_limit_of_the_day(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open("/auctions", "Auctions")
            await page.get_by_role("button", name="Bid on several").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_label("Bid for 8 MW · 16 MWh, TenneT").fill("5000")
            await dialog.get_by_label("Bid for 10 MW · 20 MWh, 50Hertz").fill("2.000,50")
            await dialog.get_by_label("Limit for the day").fill("6000")
            review = dialog.get_by_role("button", name="Review 2 bids")
            await expect(dialog.get_by_text(re.compile("beyond it"))).to_be_visible()
            await expect(review).to_be_disabled()
            await dialog.get_by_label("Limit for the day").fill("60.000")
            await tab.check()
            await review.click()
            await dialog.get_by_role("button", name="Place 2 bids").click()
            await expect(dialog).to_have_count(0)
        for name, price in (("long", 5000), ("later", 2000.5)):
            bids = await asyncio.to_thread(scene.rival.get, f"/auctions/{scene.auctions[name]}/bids")
            assert float(bids[-1]["price"]) == price


def rated_powers(scene: Scene) -> dict[str, float]:
    found = {}
    for one in scene.operator.get("/organisations"):
        for asset in scene.operator.get(f"/organisations/{one['id']}/virtual-assets"):
            found[asset["name"]] = asset["ratedDischargePower"]
    return found
