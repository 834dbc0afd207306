"""What happened meanwhile: each message leads to its place and its fix, and what was read stays read."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene
from tests.platform.console.journeys.test_conflicts import put_power

MAX_MESSAGES = 12
LINKS = "(links) => [...new Set(links.map((one) => one.getAttribute('href').replace('/console', '')))]"


class TestAnInbox:
    async def test_tells_what_was_won_lost_and_changed_and_keeps_what_was_read(self, open_tab: OpenTab, scene: Scene):
        await asyncio.to_thread(put_power, scene, "08:00", 700)
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open("/inbox", "Inbox")
            changed = page.get_by_role("button", name=re.compile("Jonas Petersen changed"))
            await expect(changed.first).to_be_visible()
            await expect(page.get_by_role("button", name=re.compile("Won: 12 MW"))).to_contain_text(
                "You pay €13,480.00"
            )
            await expect(page.get_by_role("button", name=re.compile("Lost: 8 MW"))).to_contain_text("never shown")
            await expect(page.get_by_text(re.compile("outbid", re.IGNORECASE))).to_have_count(0)
            # It has a plan already: nothing is asked for.
            await page.get_by_text("With a fix").click()
            await expect(changed.first).to_be_visible()
            await expect(page.get_by_role("button", name=re.compile("Won: 12 MW"))).to_have_count(0)
            await page.get_by_text("All", exact=True).click()
            badge = page.get_by_role("navigation", name="Screens", exact=True).get_by_role("link", name="Inbox")
            await expect(badge).to_contain_text(re.compile(r"\d+ unread"))
            await tab.check_in_both_themes()
            before = int(re.sub(r"\D", "", await badge.inner_text()))
            await page.keyboard.press("j")
            await expect(page.get_by_role("heading", name="What happened")).to_be_visible()
            await expect(badge).to_contain_text(f"{before - 1} unread")
            await tab.check()
            await tab.open("/inbox", "Inbox")
            await expect(badge).to_contain_text(f"{before - 1} unread")
            await page.keyboard.press("j")
            await page.keyboard.press("u")
            await expect(badge).to_contain_text(f"{before} unread")
            await page.keyboard.press("j")
            await page.keyboard.press("Enter")
            await expect(page.locator("#screen h1")).not_to_have_text("Inbox")

    async def test_tells_each_person_what_they_want_to_be_told(self, open_tab: OpenTab):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open("/inbox", "Inbox")
            won = page.get_by_role("button", name=re.compile("Won: 12 MW"))
            await expect(won).to_be_visible()
            await page.get_by_role("button", name="What I am told").click()
            form = page.get_by_role("dialog")
            await form.get_by_label("Auctions won, lost or cancelled").uncheck()
            await form.get_by_label("Cuts and deviations from").fill("1.5")
            await tab.check()
            await form.get_by_role("button", name="Save").click()
            await expect(won).to_have_count(0)
            await tab.open("/inbox", "Inbox")
            await tab.settle()
            await expect(won).to_have_count(0)
            await page.get_by_role("button", name="What I am told").click()
            await form.get_by_label("Auctions won, lost or cancelled").check()
            await form.get_by_role("button", name="Save").click()
            await expect(won).to_be_visible()

    async def test_hears_of_a_colleagues_change_as_it_happens(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open("/inbox", "Inbox")
            await expect(page.locator(".inbox-items button").first).to_be_visible()
            await asyncio.to_thread(put_power, scene, "07:00", 900)
            first = page.locator(".inbox-items button").first
            await expect(first).to_contain_text("Jonas Petersen changed")
            await first.click()
            await page.get_by_role("link", name="History").click()
            await expect(page.locator("#screen h1")).to_have_text("Schedule history")

    @pytest.mark.parametrize("username", ["trader", "owner", "operator"])
    async def test_leads_with_every_message_to_a_place_that_is_there(self, open_tab: OpenTab, username: str):
        async with open_tab(username) as tab:
            page = tab.page
            await tab.open("/inbox", "Inbox")
            await tab.settle()
            messages = page.locator(".inbox-items button")
            for place in range(min(await messages.count(), MAX_MESSAGES)):
                await messages.nth(place).click()
                links = await page.locator("#screen a[href^='/console/']").evaluate_all(LINKS)
                for link in links:
                    await tab.go(link)
                    await tab.settle()
                    await expect(page.locator("#screen h1")).not_to_have_text("Inbox")
                    await expect(page.get_by_text(re.compile("There is no|You may not see"))).to_have_count(0)
                    await tab.go("/inbox")
                    await tab.settle()
                    await messages.nth(place).click()
