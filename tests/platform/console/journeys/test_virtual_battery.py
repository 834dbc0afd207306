"""A trader's day: drawing and typing a plan into breach and out of it, saving it, and what it earned."""

from __future__ import annotations

import asyncio
import csv
import re
from datetime import date, datetime, time, timedelta

from playwright.async_api import Route, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene


def first_day(scene: Scene) -> str:
    """The first day of the battery that was won, all of which lies ahead."""
    return (scene.now.astimezone(BERLIN) + timedelta(days=1)).date().isoformat()


def second_day(scene: Scene) -> str:
    return _day_after(first_day(scene), 1)


def third_day(scene: Scene) -> str:
    return _day_after(first_day(scene), 2)


def fourth_day(scene: Scene) -> str:
    return _day_after(first_day(scene), 3)


def fifth_day(scene: Scene) -> str:
    return _day_after(first_day(scene), 4)


def sixth_day(scene: Scene) -> str:
    return _day_after(first_day(scene), 5)


def day_in_words(day: str) -> str:
    return date.fromisoformat(day).strftime("%a, %-d %b %Y")


def _day_after(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def schedule_of(scene: Scene, day: str | None = None, hours: int = 6) -> list[float]:
    """By quarter-hours from the day's midnight on."""
    organisation, asset = scene.trader.organisation_id, scene.virtual_asset_id
    start = datetime.combine(date.fromisoformat(day or first_day(scene)), time(), BERLIN)
    path = f"/organisations/{organisation}/virtual-assets/{asset}/schedule"
    window = {"start": start.isoformat(), "end": (start + timedelta(hours=hours)).isoformat()}
    return [point["power"] for point in scene.trader.get(path, **window)["schedule"]]


class TestATrader:
    async def test_types_a_plan_into_breach_and_out_and_saves_it(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{first_day(scene)}")
            await page.get_by_role("gridcell", name=re.compile("^00:00 ")).click()
            await page.keyboard.press("Shift+ArrowDown")
            await page.keyboard.press("Shift+ArrowDown")
            await page.keyboard.type("-12")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("above its capacity")).to_be_visible()
            await expect(page.get_by_role("button", name="Save")).to_be_disabled()
            await tab.check()
            await page.keyboard.press("Control+z")
            await expect(page.get_by_text("above its capacity")).to_have_count(0)
            await page.get_by_role("gridcell", name=re.compile("^02:00 ")).click()
            await page.keyboard.type("-4,5")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("1 changed")).to_be_visible()
            await expect(page.get_by_text(re.compile("charge .* more"))).to_be_visible()
            await tab.check()
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("No changes")).to_be_visible()
            assert (await asyncio.to_thread(schedule_of, scene))[8] == -4500

    async def test_pastes_from_a_spreadsheet_and_draws_by_dragging(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{first_day(scene)}")
            await page.evaluate("navigator.clipboard.writeText('kW\\n1500\\n-2500')")
            await page.get_by_role("gridcell", name=re.compile("^04:00 ")).click()
            await page.keyboard.press("Control+v")
            await expect(page.get_by_role("gridcell", name=re.compile("^04:15 −2.5 MW, changed"))).to_be_visible()
            area = await page.locator(".draw-area").bounding_box()
            assert area is not None
            await page.mouse.move(area["x"] + area["width"] * 0.75, area["y"] + area["height"] * 0.4)
            await page.mouse.down()
            await page.mouse.move(area["x"] + area["width"] * 0.8, area["y"] + area["height"] * 0.4, steps=8)
            await page.mouse.up()
            await expect(page.get_by_role("gridcell", name=re.compile("^18:00 2.4 MW, changed"))).to_be_visible()
            await page.get_by_role("button", name="Undo").click()
            await expect(page.get_by_text("2 changed")).to_be_visible()
            await page.get_by_role("button", name="Discard").click()
            await expect(page.get_by_text("No changes")).to_be_visible()

    async def test_plans_with_the_keyboard_alone(self, open_tab: OpenTab, scene: Scene):
        day = _day_after(first_day(scene), 3)
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{day}")
            await tab.settle()
            await tab.tab_to("00:00 ")
            await page.keyboard.press("ArrowDown")
            await page.keyboard.type("0.5")
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("gridcell", name=re.compile("^01:00 0.5 MW, changed"))).to_be_visible()
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("No changes")).to_be_visible()
        assert (await asyncio.to_thread(schedule_of, scene, day))[4] == 500


class TestWhatTheServiceProposes:
    async def test_is_shown_dismissed_shown_again_applied_and_saved(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{second_day(scene)}")
            proposal = page.get_by_role("region", name="Proposal")
            await page.get_by_role("button", name="Optimise").click()
            await expect(proposal).to_contain_text(re.compile("Optimised: .* quarters would change"))
            await expect(page.get_by_role("button", name="Save")).to_be_disabled()
            await tab.check()
            await proposal.get_by_role("button", name="Dismiss").click()
            await expect(page.get_by_text("No changes")).to_be_visible()
            await expect(page.get_by_role("gridcell", name=re.compile("changed"))).to_have_count(0)
            await page.get_by_role("button", name="Optimise").click()
            await proposal.get_by_role("button", name="Apply").click()
            await expect(page.get_by_text(re.compile("^\\d+ changed"))).to_be_visible()
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_text("No changes")).to_be_visible()
            await expect(page.get_by_text("within the tolerance")).to_be_visible()
            await page.get_by_role("link", name="History").click()
            await expect(page.get_by_text(re.compile(r"The day stands as version \d+ left it\."))).to_be_visible()
            await expect(page.get_by_role("button", name=re.compile("^Restore version"))).to_be_disabled()
        stored = await asyncio.to_thread(schedule_of, scene, second_day(scene), 24)
        assert min(stored) < 0 < max(stored)

    async def test_waits_for_the_prices_that_it_optimises_for(self, open_tab: OpenTab, scene: Scene):
        arrives = asyncio.Event()

        async def hold_prices(route: Route) -> None:
            await arrives.wait()
            await route.continue_()

        async with open_tab("trader") as tab:
            page = tab.page
            await page.route("**/reference-prices?*", hold_prices)
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{fourth_day(scene)}")
            optimise = page.get_by_role("button", name="Optimise")
            await expect(page.get_by_role("gridcell", name=re.compile("^00:00 "))).to_be_visible()
            await expect(optimise).to_be_disabled()
            arrives.set()
            await expect(optimise).to_be_enabled()
            await page.unroute("**/reference-prices?*")

    async def test_is_optimised_for_prices_that_are_only_expected(self, open_tab: OpenTab, scene: Scene):
        day = sixth_day(scene)
        start = datetime.combine(date.fromisoformat(day), time(), BERLIN)
        rows = [
            {
                "series": "DAY_AHEAD_DE_LU",
                "start": (start + timedelta(hours=hour)).isoformat(),
                "end": (start + timedelta(hours=hour + 1)).isoformat(),
                "price": 40 + hour,
            }
            for hour in range(6)
        ]
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{day}")
            await expect(page.get_by_text("median of the forecast")).to_be_visible()
            await page.get_by_role("button", name="Optimise").click()
            proposal = page.get_by_role("region", name="Proposal")
            await expect(proposal).to_contain_text(re.compile("Optimised: .* would change, worth"))
            await asyncio.to_thread(scene.operator.post, "/reference-prices", rows)
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{day}")
            await expect(page.get_by_text("dashed: expected, not published yet")).to_be_visible()
            await page.get_by_role("button", name="Optimise").click()
            await expect(proposal).to_contain_text(re.compile("Optimised: .* would change, worth"))
            await tab.check()

    async def test_repairs_a_plan_that_is_in_breach(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{third_day(scene)}")
            await page.get_by_role("gridcell", name=re.compile("^10:00 ")).click()
            await page.keyboard.press("Shift+ArrowDown")
            await page.keyboard.press("Shift+ArrowDown")
            await page.keyboard.press("Shift+ArrowDown")
            await page.keyboard.type("12")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("below empty")).to_be_visible()
            await page.get_by_role("button", name="Repair").click()
            proposal = page.get_by_role("region", name="Proposal")
            await expect(proposal).to_contain_text(re.compile("Repaired: .* would change"))
            await expect(proposal).not_to_contain_text("worth")
            await tab.check()
            await proposal.get_by_role("button", name="Apply").click()
            await expect(page.get_by_text("below empty")).to_have_count(0)

    async def test_balances_what_would_end_off_its_target(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{third_day(scene)}")
            await page.get_by_role("gridcell", name=re.compile("^10:00 ")).click()
            await page.keyboard.type("-6")
            await page.keyboard.press("Enter")
            await page.get_by_role("button", name="Balance the rest").click()
            proposal = page.get_by_role("region", name="Proposal")
            await expect(proposal).to_contain_text(re.compile("Balanced: .* would change"))
            await tab.check()
            await proposal.get_by_role("button", name="Apply").click()
            await expect(page.get_by_text("within the tolerance")).to_be_visible()


class TestAnOwner:
    async def test_reads_revenue_down_to_a_quarter_hour_and_downloads_it(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            await tab.open(f"/revenue/physical-assets/{scene.assets['Stade']}", "Stade")
            await tab.settle()
            await tab.check()
            sold = page.get_by_role("row", name=re.compile(r"^Wholesale, sold [\d.,]+ MWh at €"))
            await expect(sold).to_be_visible()
            await expect(page.get_by_text("what you keep", exact=True)).to_be_visible()
            await page.get_by_text("Earned", exact=True).click()
            await expect(page.get_by_text("what it earned", exact=True)).to_be_visible()
            day = (scene.now.astimezone(BERLIN) - timedelta(days=2)).strftime("%a %-d %b")
            await page.get_by_role("button", name=day, exact=True).click()
            await page.get_by_role("button", name=re.compile("^18:00, ")).click()
            await expect(page.get_by_text("18:00–18:15")).to_be_visible()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="Parquet").click()
            path = await (await started.value).path()
            assert path.read_bytes()[:4] == b"PAR1"
            benchmark = page.get_by_role("region", name="Share of foresight")
            await benchmark.scroll_into_view_if_needed()
            window = {"start": (scene.now - timedelta(days=3)).isoformat(), "end": scene.now.isoformat()}
            stade = f"/revenue-reporting/physical-assets/{scene.assets['Stade']}/benchmark"
            told = next(
                one for one in await asyncio.to_thread(scene.owner.get, stade, **window) if one["share"] is not None
            )
            row = benchmark.get_by_role("row", name=re.compile(day_in_words(told["day"])))
            await expect(row).to_contain_text(f"{told['share']:.1%}".replace("%", " %"))
            await expect(benchmark).to_contain_text("Hanse fleet")
            await tab.check()

    async def test_finds_the_same_number_on_the_overview_and_on_revenue(self, open_tab: OpenTab):
        async with open_tab("owner") as tab:
            await tab.open("/")
            kept = tab.page.locator(".revenue-figures div").filter(has_text="30 days").locator("strong")
            await expect(kept).to_contain_text("€")
            shown = await kept.inner_text()
            await tab.page.get_by_role("link", name="Open", exact=True).click()
            first = tab.page.locator(".figure").first
            await expect(first).to_contain_text("What you keep")
            await expect(first.locator(".figure-value")).to_have_text(shown)
            # What is taken along is the service's own rendering, with the same sum.
            async with tab.page.expect_download() as started:
                await tab.page.get_by_role("region", name="Statement").get_by_role("button", name="CSV").click()
            rows = list(csv.DictReader((await (await started.value).path()).read_text().splitlines()))
            assert f"€{sum(float(row['amount']) for row in rows):,.0f}" == shown
            await expect(tab.page.locator("#screen h1")).to_have_text("Hanse Storage")
            await tab.settle()
            await tab.check()
