"""What a screen costs, what a rail shows, and what is said while the sandbox plays its history."""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import Request, Route, expect
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene
from tests.platform.console.journeys.test_virtual_battery import sixth_day

MAX_REQUESTS = 20
MAX_SCRIPT_BYTES = 135_000
"""As they are sent, compressed."""
MAX_READS_OF_A_SAVE = 10
"""The save, the battery with its plan and store, the list, what its holders see; a few of them twice."""


async def silence_stade(route: Route) -> None:
    """As if the battery's telemetry had stopped an hour ago."""
    answer = await route.fetch()
    body = await answer.json()
    for path, one in zip(json.loads(route.request.post_data or "{}")["paths"], body, strict=True):
        if path.endswith("/health"):
            one["body"]["conflicts"] = []
            check = {"name": "TELEMETRY", "status": "DEGRADED", "detail": "Measurements are an hour old."}
            one["body"]["checks"] = [] if body.index(one) else [check]
            one["body"]["lastTelemetryAt"] = "2026-01-01T00:00:00Z"
    await route.fulfill(response=answer, json=body)


class TestAFirstLoad:
    @pytest.mark.parametrize("username", ["trader", "owner", "operator"])
    async def test_of_the_overview_is_small_asks_twenty_times_at_most_and_opens_one_stream(
        self, open_tab: OpenTab, username: str
    ):
        async with open_tab(username):
            """Signed in, so that nothing of that is still on its way."""
        async with open_tab(username, is_new=True) as tab:
            asked: list[str] = []
            scripts: list[Request] = []

            def note(request: Request) -> None:
                if not request.url.startswith("data:"):
                    asked.append(request.url)
                if request.resource_type == "script":
                    scripts.append(request)

            tab.page.on("request", note)
            await tab.open("/")
            await tab.settle()
            await tab.page.wait_for_timeout(2500)
            assert len(asked) <= MAX_REQUESTS, "\n".join(asked)
            streams = [url for url in asked if url.endswith("/console/api/events")]
            assert len(streams) == 1
            answers = [await one.response() for one in scripts]
            sizes = {one.url: int((await one.all_headers())["content-length"]) for one in answers if one}
            assert 50_000 < sum(sizes.values()) <= MAX_SCRIPT_BYTES, sizes


class TestASave:
    async def test_has_read_what_it_changed_and_no_more(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{sixth_day(scene)}")
            await tab.settle()
            await page.get_by_role("gridcell", name=re.compile("^12:00 ")).click()
            await page.keyboard.type("0.3")
            await page.keyboard.press("Enter")
            read: list[str] = []

            def note(request: Request) -> None:
                path = request.url.partition("/console/api")[2]
                read.extend(json.loads(request.post_data or "{}")["paths"] if path == "/batch" else [path])

            # The list of batteries is read anew once the event of the save has come.
            async with page.expect_response(re.compile(r"/virtual-assets\?limit=1000")):
                page.on("request", note)
                await page.keyboard.press("Control+s")
                await expect(page.get_by_text("Saved 1 quarter-hour.")).to_be_visible()
            await tab.settle()
            page.remove_listener("request", note)
            assert len(read) <= MAX_READS_OF_A_SAVE, "\n".join(read)


class TestTheRail:
    async def test_shows_no_screen_that_would_be_empty(self, open_tab: OpenTab):
        async with open_tab("owner") as tab:
            await tab.open("/")
            await tab.settle()
            rail = tab.page.get_by_role("navigation", name="Screens", exact=True)
            await expect(rail.get_by_role("link", name="Physical assets")).to_be_visible()
            await expect(rail.get_by_role("link", name="Auctions")).to_have_count(0)
        async with open_tab("trader") as tab:
            await tab.open("/")
            await tab.settle()
            rail = tab.page.get_by_role("navigation", name="Screens", exact=True)
            await expect(rail.get_by_role("link", name="Auctions")).to_be_visible()
            await expect(rail.get_by_role("link", name="Physical assets")).to_have_count(0)


class TestWhileHistoryPlays:
    async def test_progress_is_shown_and_nothing_is_called_stale(self, open_tab: OpenTab, scene: Scene):
        progress = 0.2

        async def play(route: Route) -> None:
            nonlocal progress
            progress += 0.05
            state = {"running": True, "seed": 1, "speed": 1.0, "historyComplete": False, "progress": progress}
            await route.fulfill(json={**state, "now": now})

        now = scene.now.isoformat()
        async with open_tab("owner") as tab:
            await tab.page.route("**/console/api/batch", silence_stade)
            await tab.open("/")
            await expect(tab.page.get_by_text("Telemetry of Stade").first).to_be_visible()
            await tab.page.route("**/console/api/sandbox/simulator", play)
            await tab.open("/")
            strip = tab.page.get_by_text("The sandbox plays its history")
            await expect(strip).to_be_visible()
            await expect(tab.page.get_by_text("left; until then")).to_contain_text("about")
            await expect(tab.page.get_by_text("Telemetry of")).to_have_count(0)
            await expect(tab.page.get_by_text(" old")).to_have_count(0)
            await tab.check()
            await tab.page.unroute_all(behavior="wait")
