"""An account that a password alone does not open, and the sessions and keys behind it."""

from __future__ import annotations

import base64
import hmac
import re
import struct
import time

from playwright.async_api import expect
from tests.people import PASSWORD
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene

CHANGE_PROVIDER = """
async (path) => {
  const other = { issuer: "https://login.example.org/other", clientSecret: "a-secret-of-the-other" };
  const provider = { ...other, clientID: "gridloom", domains: ["example.org"] };
  const headers = { "Content-Type": "application/json", "X-Gridloom-Console": "1" };
  const answer = await fetch(path, { method: "PUT", headers, body: JSON.stringify(provider) });
  if (!answer.ok) throw new Error(await answer.text());
}
"""


def code_at(secret: str, step: int) -> str:
    """RFC 6238 with its defaults."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.digest(key, struct.pack(">Q", step), "sha1")
    place = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[place : place + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


class TestASecondFactor:
    async def test_is_scanned_typed_kept_and_asked_for(self, open_tab: OpenTab, scene: Scene):
        async with open_tab(None) as tab:
            page = tab.page
            await tab.sign_in("rival")
            await tab.open("/administration/security", "Administration")
            await page.get_by_role("button", name="Set it up").click()
            await expect(page.get_by_role("img", name="QR code for an authenticator app")).to_be_visible()
            secret = (await page.locator(".totp .code").inner_text()).replace(" ", "")
            await tab.check_in_both_themes()
            await page.get_by_label("Type the code it shows").fill(code_at(secret, int(time.time()) // 30))
            await page.get_by_role("button", name="Confirm").click()
            codes = page.locator(".recovery li")
            await expect(codes).to_have_count(10)
            recovery = await codes.first.inner_text()
            await tab.check()
            # Who leaves without a word has it all the same.
            await tab.go("/administration/members")
            await tab.go("/administration/security")
            await expect(page.get_by_text("set up", exact=True)).to_be_visible()
            await page.get_by_role("button", name="Remove it…").click()
            await page.get_by_label("A code, or a recovery code").fill(recovery)
            await page.get_by_role("button", name="Remove the second factor").click()
            await page.get_by_role("button", name="Set it up").click()
            secret = (await page.locator(".totp .code").inner_text()).replace(" ", "")
            await page.get_by_label("Type the code it shows").fill(code_at(secret, int(time.time()) // 30))
            await page.get_by_role("button", name="Confirm").click()
            await expect(codes).to_have_count(10)
            recovery = await codes.first.inner_text()
            await page.get_by_role("button", name="I have kept them").click()
            await expect(page.get_by_text("set up", exact=True)).to_be_visible()
        async with open_tab(None) as tab:
            page = tab.page
            tab.expect_refusal(401)
            await page.goto("/")
            await page.get_by_label("User name").fill("rival")
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_label("Code of your authenticator app")).to_be_visible()
            await tab.check()
            await page.get_by_label("Code of your authenticator app").fill(recovery)
            await page.get_by_role("button", name="Go on").click()
            await expect(page.locator("#screen h1")).to_be_visible()


class TestSessionsAndNetworks:
    async def test_end_what_is_not_known_in_the_other_browser(self, open_tab: OpenTab, scene: Scene):
        async with open_tab(None) as mine, open_tab(None) as stranger:
            await mine.sign_in("mia")
            await stranger.sign_in("mia")
            stranger.expect_refusal(401)
            await mine.open("/administration/security", "Administration")
            await expect(mine.page.get_by_text("you", exact=True)).to_be_visible()
            # One alone is asked as all others are; the way back ends none.
            await mine.page.get_by_role("button", name="End Chromium on Linux").first.click()
            asked = mine.page.get_by_role("region", name="End that session?")
            await expect(asked).to_contain_text("Signed out at once: Chromium on Linux")
            await asked.get_by_role("button", name="Back").click()
            await stranger.page.reload()
            await expect(stranger.page.locator("#screen h1")).to_be_visible()
            await mine.page.get_by_role("button", name=re.compile("^End the")).click()
            await mine.page.get_by_role("button", name=re.compile("^End (it|them)$")).click()
            await expect(mine.page.get_by_role("button", name=re.compile("^End ")).first).to_have_count(0)
            await stranger.page.reload()
            await expect(stranger.page.get_by_role("button", name="Sign in")).to_be_visible()
            await mine.check()

    async def test_cannot_lock_their_maker_out(self, open_tab: OpenTab):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open("/administration/security", "Administration")
            await page.get_by_placeholder("203.0.113.0/24").fill("203.0.113.0/24")
            await page.get_by_role("button", name="Network", exact=True).click()
            await expect(page.get_by_text("you would lock yourself out")).to_be_visible()
            await expect(page.get_by_role("button", name="Save the networks")).to_be_disabled()
            await tab.check()

    async def test_show_an_admin_the_keys_of_members_and_what_of_its_shares_is_used(
        self, open_tab: OpenTab, scene: Scene
    ):
        async with open_tab(None) as colleague:
            await colleague.sign_in("jonas")
            await colleague.open("/administration/api-keys", "Administration")
            await colleague.page.get_by_label("Name").fill("Meter upload")
            await colleague.page.get_by_role("button", name="Reading only").click()
            await colleague.page.get_by_role("button", name="Make the key").click()
            await expect(colleague.page.get_by_label("The secret of Meter upload")).to_be_visible()
        async with open_tab(None) as tab:
            page = tab.page
            await tab.sign_in("trader")
            await tab.open("/administration/security", "Administration")
            usage = page.get_by_role("region", name="Usage of shares")
            await expect(usage).to_contain_text("Requests")
            await expect(usage).to_contain_text("Stored telemetry")
            key = page.get_by_role("row", name=re.compile("^Meter upload"))
            await expect(key).to_contain_text("Jonas Petersen")
            await key.get_by_role("button", name="Revoke Meter upload").click()
            await expect(key).to_contain_text("What uses Meter upload stops at once.")
            await key.get_by_role("button", name="Revoke it").click()
            await expect(key).to_have_count(0)
            await tab.check()

    async def test_name_the_organisations_own_identity_provider_and_switch_it_off(
        self, open_tab: OpenTab, scene: Scene
    ):
        async with open_tab(None) as tab:
            page = tab.page
            await tab.sign_in("owner")
            await tab.open("/administration/security", "Administration")
            card = page.get_by_role("region", name="Single sign-on")
            await card.get_by_role("button", name="Set up").click()
            await tab.check_in_both_themes()
            await card.get_by_label("Issuer").fill("https://login.example.org/realm")
            await card.get_by_label("Client ID").fill("gridloom")
            await card.get_by_label("Client secret").fill("a-secret-of-the-provider")
            await card.get_by_label("E-mail domains").fill("example.org")
            await card.get_by_role("button", name="Save").click()
            await expect(card).to_contain_text("https://login.example.org/realm")
            await expect(card).to_contain_text("e-mails of example.org; passwords still work")
            await tab.check()
            await card.get_by_role("button", name="Change").click()
            await expect(card.get_by_label("Client secret")).to_have_value("")
            # Another admin changes it, and the console reads that while the form is open.
            tab.expect_refusal(412)
            path = f"/organisations/{scene.owner.organisation_id}/identity-provider"
            await page.evaluate(CHANGE_PROVIDER, f"/console/api{path}")
            async with page.expect_response("**/console/api/batch"):
                await page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))")
            await tab.settle()
            await card.get_by_label("Client secret").fill("another-secret")
            await card.get_by_role("button", name="Save").click()
            await expect(card.get_by_role("alert")).to_contain_text("Another admin changed it meanwhile")
            await card.get_by_role("button", name="Back").click()
            await expect(card).to_contain_text("https://login.example.org/other")
            await card.get_by_role("button", name="Change").click()
            await card.get_by_role("button", name="Switch it off").click()
            await expect(card).to_contain_text("Members sign in with their password")
