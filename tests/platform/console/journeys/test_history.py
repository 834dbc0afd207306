"""A schedule's versions: who, when, what, and the way back."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene
from tests.platform.console.journeys.test_conflicts import put_power, schedule_at


class TestASchedulesHistory:
    async def test_tells_who_changed_what_and_restores_it(self, open_tab: OpenTab, scene: Scene):
        await asyncio.to_thread(put_power, scene, "09:00", 1000)
        await asyncio.to_thread(put_power, scene, "09:00", 500)
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/history", "Schedule history")
            versions = page.locator(".versions button")
            await expect(versions.first).to_contain_text("Jonas Petersen changed the plan")
            await expect(versions.first).to_contain_text("1 quarter-hour")
            await expect(page.get_by_text("1 quarter-hour changed; ticks: before")).to_be_visible()
            await expect(page.get_by_role("button", name=re.compile("^Restore version"))).to_be_disabled()
            await versions.nth(1).click()
            await expect(page.get_by_text("1 quarter-hour would change back")).to_be_visible()
            await tab.check_in_both_themes()
            await page.get_by_role("button", name=re.compile("^Restore version")).click()
            await expect(versions.first).to_contain_text("You changed the plan")
            assert await asyncio.to_thread(schedule_at, scene, 9) == [1000]
            count = await versions.count()
            await versions.first.click()
            await page.get_by_role("button", name=re.compile("^Undo version")).click()
            await expect(versions).to_have_count(count + 1)
        assert await asyncio.to_thread(schedule_at, scene, 9) == [500]
