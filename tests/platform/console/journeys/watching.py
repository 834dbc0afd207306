"""A browser's tab that remembers whatever went wrong in it."""

from __future__ import annotations

import re
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import ConsoleMessage, Page, Request, StorageState, expect
from tests.people import PASSWORD

DESK = (1440, 900)
"""Width and height of a window at a desk."""

VIOLATIONS = """
window.policyViolations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.policyViolations.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""
CONTROLS = """
() => {
  const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const named = (element) => element.getAttribute("aria-label") ?? element.textContent.trim().slice(0, 40);
  const list = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")]
    .filter((element) => !element.disabled && element.tabIndex >= 0)
    .filter((element) => (element.type === "radio" ? element.checked : seen(element)));
  window.controls = new Map(list.map((element) => [element, `${element.localName} ${named(element)}`]));
  document.activeElement?.blur();
  document.addEventListener("focusin", (event) => window.controls.delete(event.target));
  return list.length;
}
"""
FOCUSED = """
() => {
  const one = document.activeElement;
  return (one?.getAttribute("aria-label") ?? one?.labels?.[0]?.textContent ?? one?.textContent ?? "").trim();
}
"""
PAINTED = """
() => document.fonts.ready.then(() =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))))
"""
RESTORE = """
(entries) => {
  localStorage.clear();
  sessionStorage.clear();
  for (const { name, value } of entries) localStorage.setItem(name, value);
}
"""
GO = """(path) => { history.pushState(null, "", path); dispatchEvent(new PopStateEvent("popstate")) }"""
AXE = """
async (options) => {
  const { violations } = await window.axe.run(document, options);
  return violations.map(({ id, help, nodes }) =>
    `axe ${id}: ${help} at ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
}
"""
# Contrast takes axe longer than all its other rules, text by text, and most texts look like another: the cells of a
# table, the names on every screen. Some of each look are checked, and no more once one has passed. A look is the colour
# and the letters of a text, with the grounds of everything that it lies in; it is kept until the console loads anew.
# The shade at the edge of a wide table would keep axe from telling anything of the text in it.
CONTRAST = """
async (options) => {
  const passed = (window.passedLooks ??= new Set());
  const grounds = new Map([[null, ""]]);
  const groundOf = (element) => {
    if (!grounds.has(element)) {
      const { backgroundColor, backgroundImage, opacity, filter, position } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity, filter, position];
      grounds.set(element, [groundOf(element.parentElement), ...own].join());
    }
    return grounds.get(element);
  };
  const lookOf = (element) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    return [element.localName, color, fontSize, fontWeight, textShadow, groundOf(element)].join();
  };
  const hasText = (element) => element.matches("input, select, textarea") ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
  const shaded = document.querySelectorAll(".table-scroll");
  for (const element of shaded) element.style.backgroundImage = "none";
  const texts = [...document.body.querySelectorAll("*")].filter((one) => hasText(one) && one.checkVisibility());
  const alike = new Map();
  for (const element of texts) {
    const look = lookOf(element);
    if (!passed.has(look)) alike.set(look, [...(alike.get(look) ?? []), element]);
  }
  // The first may be hidden by what lies over it, or have a single letter: then axe does not tell.
  const few = [...alike.values()].flatMap((all) => [all[0], all[all.length >> 1], all.at(-1)]);
  const { passes, violations } = few.length === 0 ? { passes: [], violations: [] }
    : await window.axe.run({ include: [...new Set(few)] }, { ...options, elementRef: true });
  for (const element of shaded) element.style.backgroundImage = "";
  for (const { nodes } of passes) for (const { element } of nodes) passed.add(lookOf(element));
  return violations.flatMap(({ nodes }) =>
    nodes.map(({ failureSummary, target }) => `axe contrast: ${failureSummary} at ${target.join(" ")}`));
}
"""
# Every style comes from the page's own host: nothing has to be fetched beforehand.
AXE_OPTIONS: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
AXE_LAYOUT: dict[str, Any] = {**AXE_OPTIONS, "rules": {"color-contrast": {"enabled": False}}}
# But for contrast, this is the rule that can tell the themes apart: they differ in the values of colours alone.
AXE_COLOURS: dict[str, Any] = {**AXE_OPTIONS, "runOnly": ["link-in-text-block"]}
AXE_CONTRAST: dict[str, Any] = {**AXE_OPTIONS, "resultTypes": ["violations", "passes"], "runOnly": ["color-contrast"]}


MAX_WAIT_MS = 60_000
"""Whatever a busy machine takes; nothing waits as long where it works."""
expect.set_options(timeout=MAX_WAIT_MS)


class Tab:
    """A page with what it must not do: an error, a policy violation, a foreign request, an axe violation."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page = page
        self.base_url = base_url
        self.faults: list[str] = []
        self._expected: list[str] = []

    async def watch(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        self.page.on("request", self._asked)
        await self.page.add_init_script(VIOLATIONS)
        self.page.set_default_timeout(MAX_WAIT_MS)

    def expect_refusal(self, status: int) -> None:
        """The service is about to refuse something: the browser will say so."""
        self._expected.append(f"the server responded with a status of {status}")

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        if any(expected in message.text for expected in self._expected):
            return
        self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.base_url, "data:", "blob:")):
            self.faults.append(f"foreign request: {request.url}")

    async def sign_in(self, username: str, password: str = PASSWORD) -> None:
        page = self.page
        await page.goto("/")
        await page.get_by_label("User name").fill(username)
        await page.get_by_label("Password").fill(password)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.locator("#screen h1")).to_be_visible()

    async def open(self, path: str, heading: str | re.Pattern[str] | None = None) -> None:
        """By its address, as from a bookmark."""
        await self.page.goto(f"/console{path}")
        await self._arrive(heading)

    async def go(self, path: str) -> None:
        """From where the tab is, as by a link: the console itself stays."""
        await self.page.evaluate(GO, f"/console{path}")
        await self._arrive(None)

    async def _arrive(self, heading: str | re.Pattern[str] | None) -> None:
        title = self.page.locator("#screen h1")
        await expect(title).to_be_visible()
        if heading is not None:
            await expect(title).to_have_text(heading)

    async def settle(self) -> None:
        """Until nothing is loading any more, and what came is painted."""
        await expect(self.page.locator(".skeleton")).to_have_count(0)
        await self.page.evaluate(PAINTED)

    async def tab_to(self, name: str) -> int:
        """By Tab alone, to the control of this name; after so many stops."""
        for stop in range(120):
            await self.page.keyboard.press("Tab")
            focused: str = await self.page.evaluate(FOCUSED)
            if focused.startswith(name):
                return stop + 1
        raise AssertionError(f"Tab does not come by {name!r}")

    async def unreached(self) -> list[str]:
        """The controls that Tab does not come by, from the top of the page to its end. Members of a group that
        arrows walk along have no stop of their own."""
        count: int = await self.page.evaluate(CONTROLS)
        for _ in range(count + 3):
            await self.page.keyboard.press("Tab")
        left: list[str] = await self.page.evaluate(
            "[...window.controls].filter(([one]) => one.isConnected).map(([, name]) => name)"
        )
        return left

    async def park(self, kept: StorageState) -> bool:
        """Leave the console with no more in the browser than `kept`, for a test that comes later; False where the
        tab is somewhere else, or not alone, so that it is no use to another."""
        page, context = self.page, self.page.context
        if not page.url.startswith(self.base_url) or len(context.pages) > 1:
            return False
        await page.unroute_all(behavior="ignoreErrors")
        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
        entries = [entry for origin in kept.get("origins", []) for entry in origin["localStorage"]]
        await page.goto("/health/live")  # of the same origin, and without the console, which would go on writing
        await page.evaluate(RESTORE, entries)
        await context.clear_cookies()
        await context.add_cookies([*kept.get("cookies", [])])  # type: ignore[list-item]
        self.faults.clear()
        self._expected.clear()
        return True

    async def check(self) -> None:
        """What only the page itself can say: violations of the policy, and of what everybody needs to use it."""
        await self.check_layout()
        self.faults += await self.page.evaluate(CONTRAST, AXE_CONTRAST)

    async def check_layout(self) -> None:
        """All but contrast: by width no colour of a screen changes, so that is checked at a desk."""
        page = self.page
        self.faults += await page.evaluate("window.policyViolations.splice(0)")
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(AXE_SCRIPT)
        self.faults += await page.evaluate(AXE, AXE_LAYOUT)

    async def check_in_both_themes(self) -> None:
        await self.check()
        await self.page.emulate_media(color_scheme="dark")
        await expect(self.page.locator("html")).to_have_attribute("data-theme", "dark")
        await self.page.evaluate(PAINTED)
        self.faults += await self.page.evaluate(AXE, AXE_COLOURS)
        self.faults += await self.page.evaluate(CONTRAST, AXE_CONTRAST)
        await self.page.emulate_media(color_scheme="light")
