"""The console in a real browser: what its first screen weighs, how soon it is there, how it draws and follows a hand.

Needs a Chromium (GRIDLOOM_CHROMIUM, or one on PATH). Frames are counted as the browser shows them: measure on a quiet
machine.
"""

from __future__ import annotations

import gzip
import math
import re
from datetime import date, datetime, timedelta
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Response, sync_playwright
from tests.people import PASSWORD as MEMBER_PASSWORD
from tests.platform.console.journeys.conftest import NO_BROWSER, find_chromium
from tests.platform.console.journeys.scene import BERLIN, Scene, make_scene

from bench.console_sign_in import sign_in
from bench.harness import PASSWORD, USERNAME, Harness

POINTS = 2_976
SERIES = ("active_power", "state_of_charge", "temperature")
STEPS = 120

READY = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("#screen h1")) return;
  window.readyAt = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
DRAWN = """
async (name) => {
  const label = [...document.querySelectorAll("label")].find((one) => one.textContent === name);
  const began = performance.now();
  label.click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}
"""
FRAMES = """
() => {
  window.frames_ms = [];
  let last = null;
  const each = (now) => {
    if (last !== null) window.frames_ms.push(now - last);
    last = now;
    window.frame = requestAnimationFrame(each);
  };
  window.frame = requestAnimationFrame(each);
}
"""


def run(harness: Harness) -> None:
    chromium = find_chromium()
    if chromium is None:
        raise RuntimeError(NO_BROWSER)
    scene = make_scene(harness.address, USERNAME, PASSWORD)
    _tell_points(scene)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        rounds = 1 if harness.options.quick else 5
        _measure_first_screen(harness, browser, rounds)
        _measure_drawing(harness, browser, scene, rounds)
        _measure_dragging(harness, browser, scene)
        browser.close()


def _tell_points(scene: Scene) -> None:
    """So many minutes of the day before, three series of them: with what the scene has, no more than is to be drawn."""
    each = POINTS // len(SERIES)
    now = scene.now.replace(second=0, microsecond=0)
    times = [(now - timedelta(minutes=minute)).isoformat() for minute in range(each, 0, -1)]
    values = [50 + 30 * math.sin(minute / 90) for minute in range(each)]
    columns = {name: {"time": times, "value": values} for name in SERIES}
    scene.owner.post(f"/monitoring/{scene.assets['Hürth']}/datapoints", columns)


def _measure_first_screen(harness: Harness, browser: Browser, rounds: int) -> None:
    page = sign_in(browser, harness.address, "trader", MEMBER_PASSWORD, script=READY)
    scripts: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if response.url.endswith(".js"):
            scripts[response.url] = len(gzip.compress(response.body()))

    page.on("response", weigh)
    moments = []
    for _ in range(rounds):
        page.reload()
        page.locator("#screen h1").wait_for()
        moments.append(float(page.evaluate("window.readyAt")))
    page.locator(".overview").wait_for()
    weight = sum(scripts.values()) / 1000
    figures: dict[str, Any] = {"kB": round(weight, 1), "files": len(scripts)}
    harness.report("JavaScript of the first screen, gzip", figures, target="< 200 kB", met=weight < 200)
    worst = max(moments)
    harness.report(
        "first screen interactive",
        {"ms": round(median(moments)), "worst_ms": round(worst)},
        target="< 1,000 ms",
        met=median(moments) < 1000,
    )


def _measure_drawing(harness: Harness, browser: Browser, scene: Scene, rounds: int) -> None:
    """The whole screen drawn anew with all its points, as when the reader changes the clock."""
    page = sign_in(browser, harness.address, "owner", MEMBER_PASSWORD, script=READY)
    page.goto(f"/console/physical-assets/{scene.assets['Hürth']}")
    page.locator(".charge-line").first.wait_for()
    page.wait_for_timeout(1000)
    drawn = [float(page.evaluate(DRAWN, ("UTC", "Berlin")[turn % 2])) for turn in range(2 * rounds)]
    harness.report(
        f"{POINTS:,} points drawn anew",
        {"ms": round(median(drawn), 1), "worst_ms": round(max(drawn), 1)},
        target="< 100 ms",
        met=median(drawn) < 100,
    )


def _measure_dragging(harness: Harness, browser: Browser, scene: Scene) -> None:
    page = sign_in(browser, harness.address, "trader", MEMBER_PASSWORD, script=READY)
    day = _first_day(scene)
    page.goto(f"/console/virtual-batteries/{scene.virtual_asset_id}/{day}")
    page.get_by_role("gridcell", name=re.compile("^12:00 ")).wait_for()
    page.wait_for_timeout(1000)
    box = page.locator(".draw-area").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] * 0.55
    page.mouse.move(box["x"] + box["width"] * 0.3, y)
    page.mouse.down()
    page.evaluate(FRAMES)
    for step in range(STEPS):
        across = 0.3 + 0.4 * step / STEPS
        page.mouse.move(box["x"] + box["width"] * across, y + 10 * math.sin(step / 9))
    frames = [float(one) for one in page.evaluate("window.frames_ms")]
    page.mouse.up()
    late = sum(one > 20 for one in frames) / max(1, len(frames))
    harness.report(
        "frames while a plan is drawn by hand",
        {"frames": len(frames), "median_ms": round(median(frames), 1), "late_share": round(late, 3)},
        target="60 a second: median ≤ 17 ms, fewer than 5 % later than 20 ms",
        met=median(frames) <= 17 and late < 0.05,
    )


def _first_day(scene: Scene) -> date:
    start = scene.trader.get(f"/organisations/{scene.trader.organisation_id}/virtual-assets/{scene.virtual_asset_id}")
    return datetime.fromisoformat(start["start"]).astimezone(BERLIN).date()
