"""A browser's tab that remembers whatever went wrong in it."""

from __future__ import annotations

import re
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ConsoleMessage, Page, Request, expect
from tests.people import PASSWORD

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
  return list.length;
}
"""
STEP = """() => { window.controls.delete(document.activeElement) }"""
# The first paint of a lazy screen may be measured before its style has come.
AXE_OPTIONS: dict[str, Any] = {"resultTypes": ["violations"]}


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
        self.page.set_default_timeout(15_000)

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
        await self.page.goto(f"/console{path}")
        title = self.page.locator("#screen h1")
        await expect(title).to_be_visible()
        if heading is not None:
            await expect(title).to_have_text(heading)

    async def settle(self) -> None:
        """Until nothing is loading any more."""
        await expect(self.page.locator(".skeleton")).to_have_count(0)
        await self.page.wait_for_timeout(150)

    async def unreached(self) -> list[str]:
        """The controls that Tab does not come by, from the top of the page to its end. Members of a group that
        arrows walk along have no stop of their own."""
        count: int = await self.page.evaluate(CONTROLS)
        for _ in range(count + 3):
            await self.page.keyboard.press("Tab")
            await self.page.evaluate(STEP)
        left: list[str] = await self.page.evaluate(
            "[...window.controls].filter(([one]) => one.isConnected).map(([, name]) => name)"
        )
        return left

    async def check(self) -> None:
        """What only the page itself can say: violations of the policy, and of what everybody needs to use it."""
        self.faults += await self.page.evaluate("window.policyViolations")
        found = await Axe().run(self.page, options=AXE_OPTIONS)
        for violation in found.response["violations"]:
            targets = [str(node["target"]) for node in violation["nodes"][:3]]
            self.faults.append(f"axe {violation['id']}: {violation['help']} at {', '.join(targets)}")
