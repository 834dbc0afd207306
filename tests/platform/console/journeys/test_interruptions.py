"""Whatever happens meanwhile, nothing typed is lost: a session ends, the service restarts, the clock walks."""

from __future__ import annotations

import asyncio
import re
import uuid
from datetime import datetime, time, timedelta

import asyncpg
from playwright.async_api import Route, expect
from tests.people import PASSWORD
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, RATIO, Scene
from tests.platform.console.journeys.test_conflicts import type_power
from tests.platform.console.journeys.test_virtual_battery import fifth_day, schedule_of

from gridloom.sandbox import store as sandbox_store

MOVING = """
() => document.getAnimations().filter((one) => one.playState === "running")
  .map((one) => one.animationName ?? "transition")
"""


class TestWhatWasTyped:
    async def test_outlives_a_session_that_ends(self, open_tab: OpenTab, scene: Scene):
        async with open_tab(None) as tab:
            page = tab.page
            await tab.sign_in("jonas")
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{fifth_day(scene)}")
            await type_power(page, "10:00", "1.5")
            await expect(page.get_by_text("1 changed", exact=True)).to_be_visible()
            tab.expect_refusal(401)
            await page.context.clear_cookies()
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("what you typed is kept")).to_be_visible()
            await tab.check()
            await page.get_by_label("User name").fill("jonas")
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_text("what you typed is kept")).to_have_count(0)
            await expect(page.get_by_text("1 changed", exact=True)).to_be_visible()
            await expect(page.get_by_role("gridcell", name=re.compile("^10:00 "))).to_contain_text("1.5")
            await page.get_by_role("button", name="Discard").click()

    async def test_while_a_plan_is_being_saved_stays_and_is_saved_next(self, open_tab: OpenTab, scene: Scene):
        day, answered = fifth_day(scene), asyncio.Event()

        async def wait_to_save(route: Route) -> None:
            if route.request.method == "PUT":
                await answered.wait()
            await route.continue_()

        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{day}")
            await page.route("**/schedule*", wait_to_save)
            await type_power(page, "12:00", "0.4")
            await page.keyboard.press("Control+s")
            await type_power(page, "12:15", "0.6")
            await expect(page.get_by_text("2 changed", exact=True)).to_be_visible()
            answered.set()
            await expect(page.get_by_text("1 changed", exact=True)).to_be_visible()
            await expect(page.get_by_role("gridcell", name=re.compile("^12:15 0.6 MW, changed"))).to_be_visible()
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("No changes")).to_be_visible()
        assert (await asyncio.to_thread(schedule_of, scene, day, 13))[48:50] == [400, 600]

    async def test_outlives_a_restart_of_the_service_and_is_saved_after_it(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            tab._expected += ["ERR_", "the server responded with a status of 50"]
            await tab.open(f"/physical-assets/{scene.assets['Wilster']}/logbook", "Wilster")
            await page.get_by_role("button", name="Entry").click()
            await page.get_by_label("Title").fill("Typed before a restart")
            await asyncio.to_thread(scene.restart)
            await expect(page.get_by_label("Title")).to_have_value("Typed before a restart")
            await expect(page.get_by_text("Connection lost")).to_have_count(0, timeout=30_000)
            await page.get_by_role("button", name="Write it").click()
            await expect(page.locator(".logbook").get_by_text("Typed before a restart")).to_be_visible()


class TestAGateThatPasses:
    async def test_leaves_out_the_edits_that_came_too_late_and_saves_the_rest(self, open_tab: OpenTab, scene: Scene):
        asset_id = await asyncio.to_thread(make_battery_of_today, scene)
        day = scene.now.astimezone(BERLIN).date()
        first = next_open_quarter(scene)
        at, later = (f"{one.astimezone(BERLIN):%H:%M}" for one in (first, first + timedelta(hours=2)))
        left_out = re.compile("1 expired edit left out: the gate")
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{asset_id}/{day}")
            await type_power(page, at, "0.5")
            await type_power(page, later, "99")
            await expect(page.get_by_role("alert")).to_contain_text("99 MW is beyond what can be discharged, 2 MW")
            await expect(page.get_by_role("gridcell", name=re.compile(f"^{later} 0.0 MW"))).to_have_text("99")
            await page.keyboard.press("Escape")
            await type_power(page, later, "-500 kW")
            await expect(page.get_by_text("2 changed", exact=True)).to_be_visible()
            await asyncio.to_thread(scene.advance, "PT15M")
            await expect(page.get_by_text(left_out)).to_be_visible()
            await expect(page.get_by_role("gridcell", name=re.compile(f"^{at} .*edit expired"))).to_be_visible()
            await expect(page.get_by_text("1 changed", exact=True)).to_be_visible()
            await tab.check_in_both_themes()
            await page.keyboard.press("x")
            await expect(page.get_by_text(left_out)).to_have_count(0)
            # What is typed and not yet entered is saved as the table shows it.
            await page.get_by_role("gridcell", name=re.compile(f"^{later} ")).click()
            await page.keyboard.type("-0.7")
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("No changes")).to_be_visible()
            power = await asyncio.to_thread(stored_power, scene, asset_id, first + timedelta(hours=2))
            assert power == -700
        first = next_open_quarter(scene)
        at, later = (f"{one.astimezone(BERLIN):%H:%M}" for one in (first, first + timedelta(hours=3)))
        async with open_tab("rival") as tab:
            page = tab.page
            await tab.open(f"/portfolio-plan/{day}", "Portfolio plan")
            await tab.settle()
            rows = f"Time\\tIller\\n{at}\\t0.2\\n{later}\\t0.2"
            await page.evaluate(f"navigator.clipboard.writeText('{rows.replace('0.2', '99')}')")
            await page.get_by_role("button", name="Paste").click()
            await expect(page.get_by_text("it discharges at most 2 MW then. Nothing was pasted.")).to_be_visible()
            await page.evaluate(f"navigator.clipboard.writeText('{rows}')")
            await page.get_by_role("button", name="Paste").click()
            await expect(page.get_by_text("Saves 2 quarter-hours of 1 battery")).to_be_visible()
            await asyncio.to_thread(scene.advance, "PT15M")
            await expect(page.get_by_text(left_out)).to_be_visible()
            await expect(page.get_by_text("Saves 1 quarter-hour of 1 battery")).to_be_visible()
            await page.keyboard.press("x")
            await expect(page.get_by_text(left_out)).to_have_count(0)
            await expect(page.get_by_text("Saves 1 quarter-hour of 1 battery")).to_be_visible()
            await page.get_by_role("button", name="Discard").click()


def make_battery_of_today(scene: Scene) -> str:
    """One of the rival's that delivers today alone: other journeys count tomorrow's."""
    grant = f"/physical-assets/{scene.assets['Wilster']}/grants/{scene.operator.organisation_id}"
    may = ["Read:physical-assets", "Read:schedules", "Read:monitoring", "Update:schedules"]
    scene.owner.put(grant, {"permissions": may})
    midnight = datetime.combine(scene.now.astimezone(BERLIN).date(), time(), BERLIN)
    body = {
        "name": "Iller",
        "start": midnight.isoformat(),
        "end": (midnight + timedelta(days=1)).isoformat(),
        "deliveryZone": "TenneT",
        "ratedChargePower": 2000,
        "ratedDischargePower": 2000,
        "energyCapacity": 8000,
        "backing": [{"physicalAssetID": scene.assets["Wilster"], "share": 1}],
        **RATIO,
    }
    path = f"/organisations/{scene.rival.organisation_id}/virtual-assets"
    return str(scene.operator.post(path, body)["id"])


def next_open_quarter(scene: Scene) -> datetime:
    """The first whose gate, eight minutes before it, is still to come."""
    now = scene.now + timedelta(minutes=8)
    return now.replace(minute=now.minute - now.minute % 15, second=0, microsecond=0) + timedelta(minutes=15)


def stored_power(scene: Scene, asset_id: str, at: datetime) -> float:
    window = {"start": at.isoformat(), "end": (at + timedelta(minutes=15)).isoformat()}
    path = f"/organisations/{scene.rival.organisation_id}/virtual-assets/{asset_id}/schedule"
    return float(scene.rival.get(path, **window)["schedule"][0]["power"])


class TestAWalkOfTheClock:
    async def test_is_shown_to_the_operator_who_can_stop_it(self, open_tab: OpenTab, scene: Scene):
        """Another process holds the clock's lock, as one does that walks."""
        walker = await asyncpg.connect(scene.database_url)
        walk_id, target = uuid.uuid4(), scene.now + timedelta(days=3)
        try:
            async with walker.transaction():
                await sandbox_store.lock_clock(walker)
                other = await asyncpg.connect(scene.database_url)
                await sandbox_store.begin_walk(other, walk_id, target)
                async with open_tab("operator") as tab, open_tab("trader") as trader:
                    page = tab.page
                    await tab.open("/")
                    await trader.open("/")
                    bar = page.locator(".bar-walk")
                    await expect(bar).to_contain_text("moving the clock to", timeout=30_000)
                    await tab.check()
                    await bar.get_by_role("button", name="Stop").click()
                    await expect(bar).to_have_count(0)
                    await expect(trader.page.get_by_role("button", name="Stop")).to_have_count(0)
                assert not await sandbox_store.step_walk(other, walk_id, scene.now)
                await other.close()
        finally:
            await walker.close()


class TestReducedMotion:
    async def test_leaves_nothing_that_moves(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await page.emulate_media(reduced_motion="reduce")
            await page.goto("/console/auctions")
            for path in ("/", "/auctions", f"/virtual-batteries/{scene.virtual_asset_id}", "/revenue", "/inbox"):
                await tab.go(path)
                assert await page.evaluate(MOVING) == [], path
                await tab.settle()
                assert await page.evaluate(MOVING) == [], path
