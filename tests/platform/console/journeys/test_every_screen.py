"""Every screen, for who sees it, in both themes and on a phone: clean for axe, for the policy and for the console."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import pytest
from playwright.async_api import expect
from tests.platform.console.journeys.conftest import WEB, OpenTab
from tests.platform.console.journeys.scene import Scene
from tests.platform.console.journeys.watching import DESK, MAX_WAIT_MS, Tab

# The figures of the overview fit without scrolling sideways: one that is cut reads as another.
CUT_FIGURES = """
[...document.querySelectorAll(".table-scroll:has(.batteries)")].filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.scrollWidth} in ${one.clientWidth}`)
"""
# The next screen as soon as its heading is written, before it has had its turn to put more into the address.
LEAVE_AT_ONCE = """
(keys) => {
  const heading = () => document.querySelector("#screen h1")?.textContent
  const before = heading()
  new MutationObserver((_, observer) => {
    if ([before, undefined].includes(heading())) return
    observer.disconnect()
    for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
  }).observe(document.body, { childList: true, subtree: true, characterData: true })
}
"""
ADMINISTRATION = ("members", "invitations", "roles", "security", "api-keys", "webhooks", "audit-log", "password")
BATTERY = ("", "/conflicts", "/bids", "/notifications", "/logbook", "/parameters", "/grants")


def screens_of(username: str, scene: Scene) -> list[str]:
    common = ["/", "/inbox", "/auctions", "/virtual-batteries", "/revenue", "/physical-assets"]
    parts = [f"/administration/{part}" for part in ADMINISTRATION]
    if username == "owner":
        stade = f"/physical-assets/{scene.assets['Stade']}"
        return [*common, "/reserves", *(stade + part for part in BATTERY), "/administration/members"]
    if username == "operator":
        return [
            "/",
            "/auctions",
            f"/auctions/{scene.auctions['won']}",
            "/inbox",
            "/virtual-batteries",
            "/delivery",
            "/settlement",
            *parts,
            "/administration/organisations",
            "/administration/feeds",
            f"/organisations/{scene.trader.organisation_id}",
        ]
    won, lost = (f"/auctions/{scene.auctions[name]}" for name in ("won", "lost"))
    battery = f"/virtual-batteries/{scene.virtual_asset_id}"
    common += ["/portfolio-plan", "/open-position", "/markets?gate=IDA1", "/reserves"]
    course = f"{battery}/course"
    return [
        *common,
        won,
        lost,
        battery,
        course,
        f"{battery}/history",
        "/administration/roles",
        "/administration/security",
    ]


NARROW = re.compile(r"@(?:media|container)[^{]*width[^{]*\{((?:[^{}]*\{[^{}]*\})*)")
"""The rules of a style sheet that hold up to some width, or from it on."""
COLOURS = re.compile(r"(?:^|[;{\s])((?:color|background|fill|opacity|filter|mix-blend-mode|--)[\w-]*:[^;}]*)")
PHONE = (390, 844)


class TestEveryScreen:
    @pytest.mark.slow
    @pytest.mark.parametrize("username", ["trader", "owner", "operator"])
    async def test_can_be_used_by_everybody_in_both_themes_and_on_a_phone(
        self, open_tab: OpenTab, scene: Scene, username: str
    ):
        """Each is loaded once, every other on the phone: axe takes longer than all else together. The colours of a
        phone's bars are checked with the first screen; `TestWidth` holds the other colours to be those of a desk."""
        async with open_tab(username, size=DESK, locale="en-US") as tab:
            await tab.open("/")
            for count, path in enumerate(screens_of(username, scene)):
                sizes = (DESK, PHONE) if count % 2 == 0 else (PHONE, DESK)
                await tab.go(path)
                for size in sizes:
                    await tab.page.set_viewport_size({"width": size[0], "height": size[1]})
                    await tab.settle()
                    await (check_on_a_phone if size == PHONE else check_at_a_desk)(tab, path)
                    if size == DESK or count == 0:
                        await tab.check_in_both_themes()
                    else:
                        await tab.check_layout()
                    assert tab.faults == [], (path, size)


async def check_at_a_desk(tab: Tab, path: str) -> None:
    shown = await tab.page.locator("#screen").inner_text()
    values = await tab.page.locator("#screen input").evaluate_all("all => all.map(one => one.value)")
    # 24 hours, whatever the browser's language.
    assert not re.findall(r"\d\s?[AP]M\b|\b\d{1,2}/\d{1,2}/\d{4}", "\n".join([shown, *values])), path
    # Nor as machines write moments, types and kilowatts.
    assert not re.findall(r"\dT\d\d:\d\d|`|\d kWh?\b", shown), path


async def check_on_a_phone(tab: Tab, path: str) -> None:
    """Nothing but a table within its frame is wider than the screen."""
    width = await tab.page.evaluate("document.querySelector('#screen').scrollWidth")
    assert width <= PHONE[0], f"{path} is {width} wide"
    assert await tab.page.evaluate(CUT_FIGURES) == [], path


class TestContrast:
    async def test_is_missed_of_one_pale_cell_among_others(self, open_tab: OpenTab, scene: Scene):
        """Texts that look like another are left out, and the shade of a table's edge does not hide its cells."""
        async with open_tab("trader", size=DESK) as tab:
            await tab.open("/")
            await tab.check()
            assert tab.faults == []
            cell = tab.page.locator(".table-scroll td").last
            await cell.evaluate("(cell) => { cell.textContent = 'pale'; cell.style.color = '#ddd' }")
            await tab.check()
            assert len(tab.faults) == 1
            assert "axe contrast" in tab.faults[0]
            tab.faults.clear()


class TestWidth:
    def test_changes_no_colour_but_those_of_the_bars(self):
        """What is read on a phone has the contrast that it has at a desk."""
        styles = [path for path in (WEB / "src").rglob("*.css") if path.name != "shell.css"]
        narrow = {path.name: "".join(NARROW.findall(path.read_text())) for path in styles}
        assert sum(map(bool, narrow.values())) > 10
        assert {name: found for name, text in narrow.items() if (found := COLOURS.findall(text))} == {}


class TestTheKeyboard:
    async def test_reaches_every_screen_and_finds_by_name(self, open_tab: OpenTab):
        async with open_tab("trader") as tab:
            await tab.open("/")
            await tab.settle()
            page = tab.page
            for letter, heading in (("a", "Auctions"), ("m", "Administration"), ("o", "What needs me now")):
                # Sent together: the second does not wait for a busy browser to have answered the first.
                await asyncio.gather(page.keyboard.press("g"), page.keyboard.press(letter))
                await expect(page.locator("#screen h1")).to_have_text(heading)
            await page.keyboard.press("Control+k")
            await page.get_by_role("menuitem", name="Auctions").first.wait_for()
            await tab.check()
            await page.keyboard.type("admin")
            await page.keyboard.press("Enter")
            await expect(page.locator("#screen h1")).to_have_text("Administration")

    @pytest.mark.parametrize("letter", ["a", "r"])
    async def test_is_not_called_back_by_a_screen_left_while_it_appears(self, open_tab: OpenTab, letter: str):
        """Auctions and revenue name in the address what they show first."""
        async with open_tab("trader") as tab:
            await tab.open("/")
            await tab.settle()
            page = tab.page
            await page.evaluate(LEAVE_AT_ONCE, "gm")
            await asyncio.gather(page.keyboard.press("g"), page.keyboard.press(letter))
            await expect(page.locator("#screen h1")).to_have_text("Administration")
            await tab.settle()
            assert "/console/administration" in page.url


class TestALostConnection:
    async def test_is_shown_and_heals(self, open_tab: OpenTab):
        async with open_tab("trader") as tab:
            await tab.open("/")
            await expect(tab.page.get_by_text("Connection lost")).to_have_count(0)
            tab._expected.append("ERR_INTERNET_DISCONNECTED")
            await tab.page.context.set_offline(True)
            await expect(tab.page.get_by_text("Connection lost")).to_be_visible()
            await tab.page.context.set_offline(False)
            await expect(tab.page.get_by_text("Connection lost")).to_have_count(0)


class TestTime:
    async def test_is_told_in_berlin_or_in_utc(self, open_tab: OpenTab):
        async with open_tab("trader") as tab:
            await tab.open("/")
            clock = tab.page.locator(".bar-clock .wide-only")
            await expect(clock).to_contain_text("Berlin")
            await tab.page.get_by_text("UTC", exact=True).click()
            await expect(clock).to_contain_text("UTC")

    async def test_moves_when_somebody_moves_the_sandbox(self, open_tab: OpenTab, scene: Scene):
        before = scene.now
        async with open_tab("trader") as tab:
            await tab.open("/")
            await tab.page.get_by_role("button", name="+15 min").click()
            # From one thing that is due to the next, so it may be on its way for a while.
            async with asyncio.timeout(MAX_WAIT_MS / 1000):
                while scene.now - before < timedelta(minutes=15):
                    await asyncio.sleep(0.1)
            await expect(tab.page.get_by_text("moving the clock")).to_have_count(0)
