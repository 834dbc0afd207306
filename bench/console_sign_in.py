"""Signing in to the console in a browser."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, Page

SIZE = {"width": 1440, "height": 900}
MAX_WAIT_MS = 60_000


def sign_in(browser: Browser, address: str, username: str, password: str, *, script: str = "", **context: Any) -> Page:
    """The first screen after it. `script` runs before those of each page; `context` is as `new_context` takes it."""
    page = browser.new_context(base_url=address, **{"viewport": SIZE, **context}).new_page()
    page.set_default_timeout(MAX_WAIT_MS)
    if script:
        page.add_init_script(script)
    page.goto("/")
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.locator("#screen h1").wait_for()
    return page
