"""An owner's battery: telemetry as it comes, an unavailability with its effect, and what is written down."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta

from playwright.async_api import expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene


class TestAnOwner:
    async def test_follows_telemetry_live(self, open_tab: OpenTab, scene: Scene):
        stade = scene.assets["Stade"]
        async with open_tab("owner") as tab:
            await tab.open(f"/physical-assets/{stade}", "Stade")
            await tab.settle()
            await expect(tab.page.get_by_text("State of charge").first).to_be_visible()
            await tab.check()
            moment = (scene.now + timedelta(seconds=1)).isoformat()
            columns = {
                "active_power": {"time": [moment], "value": [7250.0]},
                "state_of_charge": {"time": [moment], "value": [61.3]},
            }
            await asyncio.to_thread(scene.owner.post, f"/monitoring/{stade}/datapoints", columns)
            figures = tab.page.locator(".figures")
            await expect(figures).to_contain_text("61.3")
            await expect(figures).to_contain_text("live")

    async def test_reads_what_the_site_said_of_its_dispatch(self, open_tab: OpenTab, scene: Scene):
        """Of each quarter-hour the last, as it comes."""
        path = f"/physical-assets/{scene.assets['Stade']}"
        quarter = scene.now.replace(minute=scene.now.minute // 15 * 15, second=0, microsecond=0)
        version = (await asyncio.to_thread(scene.owner.get, f"{path}/dispatch"))["version"]

        def say(time: datetime, status: str, **more: str) -> None:
            said = {"version": version, "time": time.isoformat(), "status": status, "at": time.isoformat(), **more}
            scene.owner.post(f"{path}/dispatch/acknowledgements", said)

        async with open_tab("owner") as tab:
            await asyncio.to_thread(say, quarter - timedelta(minutes=15), "RECEIVED")
            await asyncio.to_thread(say, quarter - timedelta(minutes=15), "APPLIED")
            await tab.open(path, "Stade")
            said = tab.page.get_by_role("region", name="Said by the site")
            await expect(said).to_contain_text("1 applied")
            await expect(said).not_to_contain_text("received")
            await asyncio.to_thread(say, quarter, "NOT_FOLLOWED", reason="The inverter does not answer")
            row = said.get_by_role("row", name=re.compile("not followed"))
            await expect(row).to_contain_text(quarter.astimezone(BERLIN).strftime("%H:%M"))
            await expect(row).to_contain_text("The inverter does not answer")
            await tab.check_in_both_themes()

    async def test_announces_an_unavailability_and_sees_it_in_the_fortnight(self, open_tab: OpenTab, scene: Scene):
        stade = scene.assets["Stade"]
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/physical-assets/{stade}", "Stade")
            await page.get_by_role("button", name="Report unavailability").click()
            await page.get_by_label("Type").select_option("MAINTENANCE")
            await page.get_by_label("Missing power").fill("4,5")
            await page.get_by_label("Missing energy").fill("9")
            await page.get_by_label("Reason").fill("Transformer oil change")
            await expect(page.get_by_text("this draft")).to_be_visible()
            await tab.settle()
            await tab.check()
            await page.get_by_role("button", name="Report 4.5 MW missing").click()
            await expect(page.get_by_role("cell", name="Maintenance Transformer oil change")).to_be_visible()
            await tab.open(f"/physical-assets/{stade}/logbook", "Stade")
            await expect(page.get_by_text("Transformer oil change").first).to_be_visible()
            await tab.check()

    async def test_reports_an_outage_with_the_keyboard_alone(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/physical-assets/{scene.assets['Hürth']}", "Hürth")
            await tab.settle()
            await tab.tab_to("Report unavailability")
            await page.keyboard.press("Enter")
            await expect(page.get_by_label("Missing power")).to_be_visible()
            await tab.tab_to("Missing power")
            await page.keyboard.press("Control+a")
            await page.keyboard.type("3")
            await tab.tab_to("Missing energy")
            await page.keyboard.press("Control+a")
            await page.keyboard.type("6")
            await tab.tab_to("Reason")
            await page.keyboard.type("Inverter tripped")
            await tab.tab_to("Report 3 MW missing")
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("cell", name=re.compile("Inverter tripped")).first).to_be_visible()

    async def test_sees_who_would_lose_before_reporting_it(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/physical-assets/{scene.assets['Stade']}", "Stade")
            await page.get_by_role("button", name="Report unavailability").click()
            start = (scene.now.astimezone(BERLIN) + timedelta(days=4)).replace(hour=8, minute=0)
            await page.get_by_label("From").fill(start.strftime("%Y-%m-%dT%H:%M"))
            await page.get_by_label("To", exact=True).fill((start + timedelta(hours=8)).strftime("%Y-%m-%dT%H:%M"))
            await page.get_by_label("Missing power").fill("34")
            await page.get_by_label("Missing energy").fill("10")
            effect = page.get_by_role("region", name="Its effect")
            await expect(effect).to_contain_text(re.compile(r"of 34\.0 MW are promised"))
            await expect(effect.get_by_role("row", name=re.compile("Nordlicht Trading 12.0 → "))).to_be_visible()
            await expect(effect.get_by_role("row", name="Together")).to_be_visible()
            await tab.check()
            await page.get_by_role("button", name="Cancel", exact=True).click()
            await expect(page.get_by_text("this draft")).to_have_count(0)

    async def test_writes_into_the_logbook(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            await tab.open(f"/physical-assets/{scene.assets['Wilster']}/logbook", "Wilster")
            await tab.page.get_by_role("button", name="Entry").click()
            await tab.page.get_by_label("Title").fill("Fire drill")
            await tab.check()
            await tab.page.get_by_role("button", name="Write it").click()
            await expect(tab.page.get_by_text("Fire drill")).to_be_visible()

    async def test_grants_in_words_to_an_organisation_it_knows_by_name(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/physical-assets/{scene.assets['Wilster']}/grants", "Wilster")
            row = page.get_by_role("row", name=re.compile("^Operator"))
            await expect(row).to_contain_text("see schedules, dispatch and commitments")
            await expect(row).not_to_contain_text(scene.operator.organisation_id)
            await page.get_by_label("Organisation").select_option(label="Südwind Energie")
            await page.get_by_label("see measurements and performance").check()
            await tab.check()
            await page.get_by_role("button", name="Give", exact=True).click()
            given = page.get_by_role("row", name=re.compile("^Südwind Energie"))
            await expect(given).to_contain_text("see measurements")
            await given.get_by_role("button", name="Take back").click()
            asked = page.get_by_role("region", name="Take back what Südwind Energie may do?")
            await expect(asked).to_contain_text("see measurements and performance")
            await asked.get_by_role("button", name="Back", exact=True).click()
            await expect(given).to_be_visible()
            await given.get_by_role("button", name="Take back").click()
            # Another administrator changes it while it is asked: what is taken back is what was read.
            grant = f"/physical-assets/{scene.assets['Wilster']}/grants/{scene.rival.organisation_id}"
            await asyncio.to_thread(scene.owner.put, grant, {"permissions": ["Read:physical-assets"]})
            tab.expect_refusal(412)
            await asked.get_by_role("button", name="Take back", exact=True).click()
            changed = page.get_by_text("Another administrator changed this grant meanwhile")
            await expect(changed).to_be_visible()
            await expect(given).not_to_contain_text("see measurements")
            await page.get_by_label("Organisation").select_option(label="Südwind Energie")
            await page.get_by_label("write logbook entries").check()
            await asyncio.to_thread(scene.owner.put, grant, {"permissions": ["Read:schedules"]})
            await page.get_by_role("button", name="Give", exact=True).click()
            await expect(given).to_contain_text("see schedules")
            await expect(changed.last).to_be_visible()
            await page.get_by_role("button", name="Give", exact=True).click()
            await expect(given).to_contain_text("write logbook entries")
            await given.get_by_role("button", name="Take back").click()
            await asked.get_by_role("button", name="Take back", exact=True).click()
            await expect(given).to_have_count(0)
            await tab.open("/administration/audit-log", "Administration")
            await expect(
                page.get_by_role("row", name=re.compile("Owner Hanse Storage Put grant")).first
            ).to_be_visible()

    async def test_reads_the_logbook_in_mw_and_nothing_from_tomorrow(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            await tab.open(f"/physical-assets/{scene.assets['Stade']}/logbook", "Stade")
            entries = tab.page.locator(".logbook li")
            await expect(
                entries.filter(has_text="8 MW of charging, 8 MW of discharging and 8 MWh").first
            ).to_be_visible()
            assert "kW" not in "".join(await entries.all_inner_texts())
            tomorrow = (scene.now.astimezone(BERLIN) + timedelta(days=1)).strftime("%a ")
            when = await tab.page.locator(".logbook-when").all_inner_texts()
            assert not [text for text in when if text.startswith(tomorrow)]


class TestATrader:
    async def test_is_told_why_a_battery_of_another_is_not_shown(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            tab.expect_refusal(403)
            await tab.page.goto(f"/console/physical-assets/{scene.assets['Stade']}")
            await expect(tab.page.get_by_text("You may not see this")).to_be_visible()
