"""How long the overview takes after signing in, until its last skeleton is gone: three roles, some loads each.

    python -m bench.console_first_load ADDRESS OPERATOR TRADER OWNER [LOADS]

For a sandbox whose history is complete, on a machine that does nothing else. The passwords are those that the start of
the sandbox prints. The first load of a role has an empty browser cache. `main thread` is processor time of the page.
"""

from __future__ import annotations

import sys
import time
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright
from tests.platform.console.journeys.conftest import NO_BROWSER, find_chromium

from bench.console_sign_in import sign_in

LOADED = "document.querySelector('#screen h1') && !document.querySelector('.skeleton')"
CALM = f"""() => new Promise((done) => {{
  let since = null;
  const look = () => {{
    if (!({LOADED})) since = null;
    else since ??= performance.now();
    if (since !== null && performance.now() - since > 300) done(since);
    else requestAnimationFrame(look);
  }};
  look();
}})"""
"""Milliseconds after the navigation at which the last skeleton was gone, for good."""


def _measure(page: Page, path: str) -> tuple[float, float, int]:
    """Seconds to the last skeleton, seconds of the main thread, requests."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path, wait_until="commit")
    page.wait_for_selector("#screen h1")
    gone_ms: float = page.evaluate(CALM)
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    requests: int = page.evaluate("performance.getEntriesByType('resource').length")
    session.detach()
    return gone_ms / 1000, metrics["TaskDuration"], requests


def _measure_role(browser: Browser, address: str, username: str, password: str, loads: int) -> None:
    page = sign_in(browser, address, username, password)
    found = []
    for _ in range(loads):
        time.sleep(1)  # what the screen before still asks for is none of this one's
        found.append(_measure(page, "/console/"))
    gone, busy, requests = zip(*found, strict=True)
    each = " ".join(f"{one:.2f}" for one in gone)
    print(
        f"{username:9} median {median(gone):.2f} s ({each}), main thread {median(busy):.2f} s, {max(requests)} requests"
    )
    page.context.close()


def main(address: str, operator: str, trader: str, owner: str, loads: str = "7") -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit(NO_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for username, password in (("operator", operator), ("trader", trader), ("owner", owner)):
            _measure_role(browser, address, username, password, int(loads))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:6])
