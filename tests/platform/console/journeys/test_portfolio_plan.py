"""A trader's whole portfolio on one day: optimised, changed, refused and saved at once, with the keyboard alone."""

from __future__ import annotations

import asyncio
import csv
import re
import zipfile
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, RATIO, Scene

NAMES = ("Elbe", "Weser")
GRANTED = ["Read:physical-assets", "Read:schedules", "Read:monitoring", "Update:schedules"]


class Portfolio:
    """Two batteries of a portfolio, beside one that was won and is in none."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.day = (scene.now.astimezone(BERLIN) + timedelta(days=1)).date().isoformat()
        self.path = f"/organisations/{scene.rival.organisation_id}"
        start = self.midnight()
        self.ids: dict[str, str] = {}
        portfolio = scene.rival.post(f"{self.path}/portfolios", {"name": "North"})["id"]
        for name, backing, zone in (("Elbe", "Hürth", "Amprion"), ("Weser", "Wolmirstedt", "50Hertz")):
            body = {
                "name": name,
                "start": start.isoformat(),
                "end": (start + timedelta(days=3)).isoformat(),
                "deliveryZone": zone,
                "ratedChargePower": 4000,
                "ratedDischargePower": 4000,
                "energyCapacity": 8000,
                "dailyCycleLimit": 2,
                "backing": [{"physicalAssetID": scene.assets[backing], "share": 1}],
                "portfolioID": portfolio,
                **RATIO,
            }
            grant = f"/physical-assets/{scene.assets[backing]}/grants/{scene.operator.organisation_id}"
            scene.owner.put(grant, {"permissions": GRANTED})
            self.ids[name] = scene.operator.post(f"{self.path}/virtual-assets", body)["id"]

    def midnight(self) -> datetime:
        return datetime.combine(date.fromisoformat(self.day), time(), BERLIN)

    def stored(self, name: str) -> list[float]:
        window = {"start": self.midnight().isoformat(), "end": (self.midnight() + timedelta(days=1)).isoformat()}
        answer: dict[str, Any] = self.scene.rival.get(f"{self.path}/virtual-assets/{self.ids[name]}/schedule", **window)
        return [point["power"] for point in answer["schedule"]]

    def trade(self, name: str, hour: int, volume: float) -> None:
        moment = (self.midnight() + timedelta(hours=hour)).isoformat()
        row = {"tradeID": f"{name}-{hour}", "assetID": self.ids[name], "time": moment, "side": "SELL", "price": 90}
        self.scene.operator.post("/settlements/wholesale-trades", [{**row, "volume": volume, "market": "DAY_AHEAD"}])

    def position(self, name: str) -> list[dict[str, Any]]:
        window = {"start": self.midnight().isoformat(), "end": (self.midnight() + timedelta(days=1)).isoformat()}
        path = f"{self.path}/virtual-assets/{self.ids[name]}/position"
        answer: list[dict[str, Any]] = self.scene.rival.get(path, **window)
        return answer

    def put(self, name: str, hour: int, power: float) -> None:
        moment = self.midnight() + timedelta(hours=hour)
        body = {"schedule": [{"time": moment.isoformat(), "power": power}]}
        self.scene.rival.put(f"{self.path}/virtual-assets/{self.ids[name]}/schedule", body)


@pytest.fixture(scope="session")
def portfolio(scene: Scene) -> Portfolio:
    return Portfolio(scene)


def row(page: Page, name: str) -> Any:
    return page.locator(".plan-row").filter(has=page.get_by_role("link", name=name, exact=True))


class TestAPortfolio:
    async def test_is_planned_and_saved_at_once_with_the_keyboard_alone(self, open_tab: OpenTab, portfolio: Portfolio):
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open(f"/portfolio-plan/{portfolio.day}", "Portfolio plan")
            await tab.settle()
            await expect(page.get_by_text("3 of 3 selected")).to_be_visible()
            await tab.tab_to("Weser")
            await page.keyboard.press("Space")
            await expect(page.get_by_text("2 of 3 selected")).to_be_visible()
            await page.keyboard.press("Space")
            await page.keyboard.press("o")
            await expect(page.get_by_role("button", name="Save all 3")).to_be_enabled()
            preview = page.get_by_role("region", name="Preview")
            await expect(preview).to_contain_text("1 battery is in no portfolio and saved by itself")
            await tab.check_in_both_themes()
            await page.keyboard.press("Control+z")
            await expect(preview).to_contain_text("nothing is changed")
            await page.keyboard.press("Control+Shift+z")
            await page.keyboard.press("Control+s")
            await expect(preview).to_contain_text("Saved 3 plans.")
            await expect(page.get_by_role("button", name="Save")).to_be_disabled()
        for name in NAMES:
            stored = await asyncio.to_thread(portfolio.stored, name)
            assert min(stored) < 0 < max(stored)

    async def test_takes_rows_of_a_sheet_and_gives_them_back(self, open_tab: OpenTab, portfolio: Portfolio):
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open(f"/portfolio-plan/{portfolio.day}", "Portfolio plan")
            await tab.settle()
            await page.evaluate(
                "navigator.clipboard.writeText('Time\\tElbe\\tWeser\\n00:00\\t-1,5\\t-1.25\\n00:15\\t\\t0.3')"
            )
            await page.get_by_role("button", name="Paste").click()
            await expect(page.get_by_text(re.compile(r"Pasted 3 powers of 2 batteries\."))).to_be_visible()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="CSV").click()
            text = (await (await started.value).path()).read_text()
            cells = next(csv.DictReader(text.splitlines()))
            assert (cells["Time"], cells["Elbe"], cells["Weser"]) == (f"{portfolio.day} 00:00", "-1.5", "-1.25")
            async with page.expect_download() as started:
                await page.get_by_role("button", name="Excel").click()
            with zipfile.ZipFile(await (await started.value).path()) as book:
                assert book.testzip() is None
                assert b"<v>-1.25</v>" in book.read("xl/worksheets/sheet1.xml")
            await page.evaluate("navigator.clipboard.writeText('Time\\tRhine\\n00:00\\t1')")
            await page.get_by_role("button", name="Paste").click()
            await expect(page.get_by_role("alert")).to_contain_text("“Rhine” is none of the batteries shown.")
            await page.get_by_role("button", name="Discard").click()

    async def test_keeps_what_is_refused_and_saves_the_rest_by_one_key(self, open_tab: OpenTab, portfolio: Portfolio):
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open(f"/portfolio-plan/{portfolio.day}", "Portfolio plan")
            await tab.settle()
            before = await asyncio.to_thread(portfolio.stored, "Weser")
            await page.evaluate(
                "navigator.clipboard.writeText('Time\\tElbe\\tWeser\\n22:00\\t-0.2\\t-0.2\\n22:15\\t0.1\\t0.1')"
            )
            await page.get_by_role("button", name="Paste").click()
            await expect(page.get_by_role("button", name="Save all 2")).to_be_enabled()
            # A colleague's plan of one of them is stored meanwhile: all or none, and it is told which.
            await asyncio.to_thread(portfolio.put, "Weser", 23, -100)
            await expect(row(page, "Weser")).to_contain_text("A colleague saved another plan of this day.")
            await expect(page.get_by_text("Weser was saved by a colleague.")).to_be_visible()
            await expect(page.get_by_role("button", name="Save all 2")).to_be_disabled()
            await page.keyboard.press("x")
            await expect(page.get_by_text("Saved 1 plan.")).to_be_visible()
        assert (await asyncio.to_thread(portfolio.stored, "Elbe"))[88] == -200
        after = await asyncio.to_thread(portfolio.stored, "Weser")
        assert (after[88], after[92]) == (before[88], -100)

    async def test_shows_no_money_in_breach_and_copies_a_day_on_a_phone(self, open_tab: OpenTab, portfolio: Portfolio):
        async with open_tab("rival", size=(390, 844)) as tab:
            page = tab.page
            await tab.open(f"/portfolio-plan/{portfolio.day}", "Portfolio plan")
            await page.get_by_role("button", name="The day after").click()
            await tab.settle()
            await page.get_by_role("button", name=re.compile("^Copy ")).click()
            await expect(page.get_by_text(re.compile("^Copied .* to 3 batteries"))).to_be_visible()
            powers = "\\n".join(f"{hour:02}:00\\t4" for hour in range(24))
            await page.evaluate(f"navigator.clipboard.writeText('Time\\tElbe\\n{powers}')")
            await page.get_by_role("button", name="Paste").click()
            await expect(row(page, "Elbe")).to_contain_text("below empty")
            await expect(page.get_by_text(re.compile(r"Elbe.* (is|are) in breach\."))).to_be_visible()
            await expect(page.get_by_text("no figure while a plan is in breach")).to_be_visible()
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390
            await tab.check_layout()
            await page.get_by_role("button", name="Discard").click()


class TestAnOpenPosition:
    async def test_is_what_the_service_says_by_battery_market_and_quarter_hour(
        self, open_tab: OpenTab, portfolio: Portfolio
    ):
        await asyncio.to_thread(portfolio.put, "Elbe", 19, 1000)
        await asyncio.to_thread(portfolio.trade, "Elbe", 19, 0.4)
        points = await asyncio.to_thread(portfolio.position, "Elbe")
        assert points[76]["open"] == pytest.approx(0.15)
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open(f"/open-position/{portfolio.day}", "Open position")
            await page.get_by_label("Position of").select_option(label="Elbe")
            quarter = page.get_by_role("row", name=re.compile("^19:00–19:15"))
            await expect(quarter).to_contain_text("+0.15")
            together = page.get_by_role("row", name=re.compile("^Together"))
            open_mwh = sum(point["open"] for point in points)
            await expect(together).to_contain_text(f"{open_mwh:+.2f}".replace("-", "−"))
            market = page.get_by_role("row", name=re.compile("^Day-ahead"))
            await expect(market).to_contain_text("36.00")
            await tab.check_in_both_themes()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="CSV").click()
            rows = list(csv.DictReader((await (await started.value).path()).read_text().splitlines()))
            assert [float(row["open MWh"]) for row in rows] == pytest.approx(
                [point["open"] for point in points], abs=1e-6
            )
