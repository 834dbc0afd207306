"""A month as the operator closes it, and the statement that an owner gets of it."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

from playwright.async_api import expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene


class TestAMonth:
    async def test_is_a_document_to_the_owner_before_it_is_issued(self, open_tab: OpenTab):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open("/revenue", "Hanse Storage")
            await page.get_by_role("row", name=re.compile("preliminary")).first.get_by_role("link").click()
            await expect(page.get_by_text("Paid to Hanse Storage")).to_be_visible()
            await expect(page.get_by_role("heading", name="Lines by day")).to_be_visible()
            await tab.check_in_both_themes()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="CSV").click()
            assert b"TRADING" in (await (await started.value).path()).read_bytes()

    async def test_leads_from_an_amount_to_its_days_whatever_month_the_address_misspells(self, open_tab: OpenTab):
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/settlement?month=2026-9", re.compile(r"^\w+ \d{4}$"))
            await page.get_by_role("link", name=re.compile("by day$")).first.click()
            await expect(page.get_by_role("heading", name="Wholesale by day")).to_be_visible()
            await tab.check_in_both_themes()
            await page.get_by_role("button", name="All lines").click()
            await expect(page.get_by_role("heading", name="Lines by day")).to_be_visible()

    async def test_adds_up_names_what_is_missing_and_is_issued_without_it_only_when_typed(
        self, open_tab: OpenTab, scene: Scene
    ):
        first = scene.now.astimezone(BERLIN).replace(day=1)
        month = (first - timedelta(days=2)).strftime("%Y-%m")
        async with open_tab("operator") as tab:
            page = tab.page
            await tab.open("/settlement")
            await tab.settle()
            await expect(page.locator("#screen h1")).to_have_text((first - timedelta(days=2)).strftime("%B %Y"))
            await expect(page.get_by_text("Proof of zero holds.")).to_be_visible()
            await expect(page.get_by_role("row", name=re.compile("^All parties"))).to_contain_text("0.00")
            await tab.check_in_both_themes()
            issue = page.get_by_role("button", name="Issue 1 statement")
            await page.get_by_role("button", name="The month after").click()
            await expect(page.get_by_text("is not over yet")).to_be_visible()
            await page.get_by_role("button", name="The month before").click()
            await expect(page.get_by_text("Cannot be issued yet")).to_be_visible()
            await expect(issue).to_be_disabled()
            await expect(issue).to_have_accessible_description("All statements are issued together, or none.")
            await expect(page.get_by_text("Imbalance prices")).to_be_visible()
            await tab.check()
            await page.get_by_role("button", name="Issue without them…").click()
            # Asked once: how many documents, what they come to and what is missing.
            asked = page.locator("form").filter(has_text="for good without them?")
            await expect(asked).to_contain_text(re.compile(r"1 document, €[\d,.]+ to be paid out in all\."))
            await expect(asked).to_contain_text(re.compile("Missing: .*imbalance prices"))
            forced = page.get_by_role("button", name=re.compile("all the same$"))
            await expect(forced).to_be_disabled()
            await page.get_by_label(f"Type {month} to issue it without them").fill(month)
            await forced.click()
            await expect(page.get_by_text(re.compile("issued and will not change"))).to_be_visible(timeout=90_000)
            await expect(page.get_by_role("row", name=re.compile("^Hanse Storage")).first).to_contain_text(
                re.compile(r"\d{4}-0001")
            )
            await tab.check()
            await page.get_by_role("link", name=re.compile("-0001 of Hanse Storage")).click()
            await expect(page.get_by_text("issued, never changes")).to_be_visible()
            await expect(page.get_by_role("heading", name="What the batteries did")).to_be_visible()
            await tab.check_in_both_themes()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="PDF").click()
            download = await started.value
            assert re.fullmatch(r"statement-\d{4}-0001\.pdf", download.suggested_filename)
            assert (await download.path()).read_bytes().startswith(b"%PDF-")

    async def test_is_found_by_its_owner_among_messages_and_statements(self, open_tab: OpenTab):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open("/inbox", "Inbox")
            message = page.get_by_role("button", name=re.compile(r"Statement \d{4}-0001"))
            await message.click()
            await page.get_by_role("link", name=re.compile("document|statement", re.IGNORECASE)).first.click()
            await expect(page.get_by_text("issued, never changes")).to_be_visible()
            await tab.open("/revenue", "Hanse Storage")
            await expect(page.get_by_role("row", name=re.compile(r"\d{4}-0001, issued"))).to_be_visible()

    async def test_says_of_each_battery_what_it_earned(self, open_tab: OpenTab, scene: Scene):
        organisation = scene.owner.organisation_id
        path = f"/organisations/{organisation}/statements"
        drafts = await asyncio.to_thread(scene.owner.get, path, status="PRELIMINARY")
        assert drafts
        statement = await asyncio.to_thread(scene.owner.get, f"{path}/{drafts[0]['id']}")
        async with open_tab("owner") as tab:
            await tab.open(f"/statements/{organisation}/{statement['id']}")
            await tab.settle()
            card = tab.page.get_by_role("region", name="What the batteries did")
            await expect(card).to_be_visible()
            assert statement["figures"]["assets"]
            for asset in statement["figures"]["assets"]:
                row = card.get_by_role("row", name=re.compile(f"^{asset['name']}"))
                await expect(row.get_by_role("cell").nth(9)).to_have_text(re.compile(r"^[−\d][\d,]*\.\d\d$"))

    async def test_is_the_operators_and_nobody_elses(self, open_tab: OpenTab):
        async with open_tab("trader") as tab:
            await tab.open("/settlement", "Settlement")
            await expect(tab.page.get_by_text("Settlement is the operator’s")).to_be_visible()

    async def test_shows_batteries_beside_what_they_earned(self, open_tab: OpenTab):
        async with open_tab("owner") as tab:
            await tab.open("/revenue", "Hanse Storage")
            card = tab.page.get_by_role("region", name="What the batteries did")
            await card.scroll_into_view_if_needed()
            await expect(card.get_by_role("row", name=re.compile("^Stade"))).to_contain_text(
                re.compile(r"9\d\.\d %|100\.0 %")
            )
