"""Bidding and winning, and running an auction."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene


class TestATrader:
    async def test_raises_a_bid_in_two_steps_and_wins(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/auctions/{scene.auctions['open']}", "Auctions")
            await tab.settle()
            await tab.check()
            price = page.get_by_label("Price in EUR for the whole window")
            await price.fill("21.800,00")
            await price.press("Enter")
            await expect(page.get_by_text("Place this bid?")).to_be_visible()
            await expect(page.locator(".review-price")).to_contain_text("€21,200.00")
            await expect(page.locator(".review-price")).to_contain_text("€21,800.00")
            await tab.check()
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("€21,800.00 counts.")).to_be_visible()
            await expect(page.locator("tr.is-selected")).to_contain_text("21,800.00")
            bids = scene.trader.get(f"/auctions/{scene.auctions['open']}/bids")
            assert max(bids, key=lambda bid: bid["sequence"])["price"] == 21800

            await asyncio.to_thread(scene.advance, "PT45M")
            await expect(page.get_by_role("heading", name="is yours")).to_be_visible()
            await page.get_by_role("link", name="Open", exact=False).last.wait_for()
            await tab.check()

    async def test_is_told_at_once_what_is_wrong_with_a_price(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            await tab.open(f"/auctions/{scene.auctions['long']}", "Auctions")
            price = tab.page.get_by_label("Price in EUR for the whole window")
            for typed, said in (("1,500.123", "reads as 1500.123: at most 2 decimals"), ("300 kW", "no unit here")):
                await price.fill(typed)
                await price.press("Enter")
                await expect(tab.page.get_by_role("alert")).to_contain_text(said)
            await tab.check()

    async def test_bids_with_the_keyboard_alone(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/auctions/{scene.auctions['later']}", "Auctions")
            await tab.settle()
            assert await tab.tab_to("Skip to the screen") == 1
            await page.keyboard.press("Enter")
            assert await tab.tab_to("Price in EUR for the whole window") <= 8
            await page.keyboard.type("5400")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Place this bid?")).to_be_visible()
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("€5,400.00 counts.")).to_be_visible()

    async def test_takes_a_bid_back_knowing_which_one_stands_then(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            before = scene.trader.get(f"/auctions/{scene.auctions['long']}")["currentBid"]["price"]
            await tab.open(f"/auctions/{scene.auctions['long']}", "Auctions")
            await page.get_by_label("Price in EUR for the whole window").fill(f"{before + 142.6:.2f}")
            await page.keyboard.press("Enter")
            await page.keyboard.press("Enter")
            counts = page.get_by_text(f"€{before + 142.6:,.2f} counts.")
            await expect(counts).to_be_visible()
            await page.get_by_role("button", name="Withdraw").click()
            await expect(page.get_by_text(f"Your bid before, €{before:,.2f}, would stand again.")).to_be_visible()
            await page.get_by_role("button", name="Withdraw it").click()
            await expect(page.get_by_role("row", name=re.compile(f"{before:,.2f}.*stands"))).to_be_visible()
            await expect(counts).to_have_count(0)
            await page.get_by_role("button", name="Withdraw").click()
            await expect(page.get_by_text("No bid of yours would stand.")).to_be_visible()
            await page.get_by_role("button", name="Withdraw it").click()
            await expect(page.get_by_text("withdrawn")).to_have_count(2)

    async def test_finds_the_list_as_it_was_after_choosing_another_auction(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/auctions/{scene.auctions['lost']}", "Auctions")
            await page.get_by_text("Won", exact=True).click()
            await page.get_by_role("region", name="Closed").get_by_role("link").first.click()
            await expect(page.get_by_role("region", name="Won", exact=True)).to_be_visible()
            await expect(page.get_by_role("radio", name="Won")).to_be_checked()


class TestTheOperator:
    async def test_creates_an_auction_and_its_guest_sees_it_without_reload(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as guest, open_tab("operator") as tab:
            await guest.open("/auctions", "Auctions")
            page = tab.page
            await tab.open("/auctions", "Auctions")
            await page.get_by_role("button", name="New auction").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_label("Power").fill("3")
            await dialog.get_by_label(re.compile("^Stade")).check()
            await dialog.get_by_label(re.compile("^Wilster")).check()
            # Of one zone, and in proportion of what is free of each, which is drawn.
            await expect(dialog.get_by_label(re.compile("^Hürth"))).to_have_count(0)
            await expect(dialog.get_by_text(re.compile(r"% · \d\.\d of \d+\.\d MW free at least"))).to_have_count(2)
            await expect(dialog.get_by_role("img", name=re.compile("^Wilster: at least"))).to_be_visible()
            await dialog.get_by_label("Energy").fill("6")
            await dialog.get_by_label("Hurdle price").fill("€ 500,00")
            await dialog.get_by_label("Nordlicht Trading").check()
            await tab.check()
            await dialog.get_by_role("button", name="Create, inviting 1").click()
            await expect(page.get_by_role("heading", name="3 MW · 6 MWh · TenneT")).to_be_visible()
            await asyncio.to_thread(scene.advance, "PT6M")
            await expect(guest.page.get_by_text("3 MW · 6 MWh")).to_be_visible()

    async def test_reads_every_bid_of_a_cleared_one(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("operator") as tab:
            await tab.open(f"/auctions/{scene.auctions['won']}", "Auctions")
            await expect(tab.page.get_by_text("Nordlicht Trading won")).to_be_visible()
            await expect(tab.page.get_by_role("row")).to_have_count(4)
            await tab.check()

    async def test_reads_of_closed_ones_for_how_much_they_went_and_of_an_open_one_what_its_kind_brought(
        self, open_tab: OpenTab, scene: Scene
    ):
        async with open_tab("operator") as tab:
            await tab.open(f"/auctions/{scene.auctions['ahead']}", "Auctions")
            closed = tab.page.get_by_role("region", name="Closed")
            row = closed.get_by_role("link")
            await expect(row.filter(has_text="12 MW · 24 MWh")).to_contain_text("€13,480.00")
            await expect(row.filter(has_text="8 MW · 16 MWh")).to_contain_text("€9,100.00")
            await expect(row.filter(has_text="5 MW · 10 MWh")).to_contain_text("no valid bid")
            await expect(tab.page.get_by_text("2 organisations invited; it opens in")).to_be_visible()
            await tab.open(f"/auctions/{scene.auctions['long']}", "Auctions")
            await expect(tab.page.get_by_text(re.compile("it closes in .* There is (a|no) bid"))).to_be_visible()
            past = tab.page.get_by_role("row", name=re.compile("^12 MW"))
            await expect(past).to_contain_text("13,480.00")
            await tab.settle()
            await tab.check_in_both_themes()
