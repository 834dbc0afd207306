"""The console's pictures in the README and the guide, taken from a sandbox whose history is complete.

    python -m bench.console_pictures ADDRESS OPERATOR TRADER OWNER

The passwords of the three sign-ins are those that the start of the sandbox prints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright
from tests.platform.console.journeys.conftest import NO_BROWSER, find_chromium

from bench.console_sign_in import MAX_WAIT_MS, sign_in

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
Step = Callable[[Page], None]


def _stay(_: Page) -> None:
    """Take the screen as it opens."""


def _open_first_battery(page: Page) -> None:
    page.locator("#screen a[href*='/virtual-batteries/'], #screen a[href*='/physical-assets/']").first.click()


def _open_first_message(page: Page) -> None:
    page.locator(".inbox-items button").first.click()


def _await_proposals(page: Page) -> None:
    """The plans of all batteries at the next gate, of which some take the service seconds."""
    expect(page.get_by_text("Planning")).to_have_count(0, timeout=MAX_WAIT_MS)


def _type_bids(page: Page) -> None:
    page.get_by_role("textbox", name="FCR 00–04").fill("2@28 1@56")
    page.get_by_role("textbox", name="aFRR up 16–20").fill("3@9.80/120")


SCREENS: dict[str, tuple[str, str, Step]] = {
    "overview": ("trader", "/", _stay),
    "auctions": ("trader", "/auctions", _stay),
    "day": ("trader", "/virtual-batteries", _open_first_battery),
    "portfolio-plan": ("trader", "/portfolio-plan", _stay),
    "markets": ("trader", "/markets", _await_proposals),
    "reserves": ("owner", "/reserves", _type_bids),
    "revenue": ("trader", "/revenue", _stay),
    "inbox": ("trader", "/inbox", _open_first_message),
    "asset": ("owner", "/physical-assets", _open_first_battery),
    "delivery": ("operator", "/delivery", _stay),
    "settlement": ("operator", "/settlement", _stay),
}
"""By picture: who sees the screen, where it begins, and how it is reached from there."""


def _settle(page: Page) -> None:
    """Until nothing is loading any more."""
    expect(page.locator("#screen h1")).to_be_visible(timeout=MAX_WAIT_MS)
    expect(page.locator(".skeleton")).to_have_count(0, timeout=MAX_WAIT_MS)


def _save(picture: bytes, path: Path) -> None:
    """In 256 colours, which take half of the space and look the same."""
    colours = Image.open(BytesIO(picture)).convert("RGB")
    few = colours.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main(address: str, operator: str, trader: str, owner: str) -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit(NO_BROWSER)
    passwords = {"operator": operator, "trader": trader, "owner": owner}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = {
            name: sign_in(browser, address, name, password, color_scheme="light")
            for name, password in passwords.items()
        }
        for picture, (username, path, reach) in SCREENS.items():
            page = pages[username]
            page.goto(f"/console{path}")
            _settle(page)
            reach(page)
            page.wait_for_timeout(500)
            _settle(page)
            _save(page.screenshot(), PICTURES / f"{picture}.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:5])
