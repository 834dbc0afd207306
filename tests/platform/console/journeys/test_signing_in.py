"""Coming in and leaving: passwords, invitations, keys."""

from __future__ import annotations

import re

import httpx2
from playwright.async_api import expect
from tests.people import PASSWORD, wait_for_status
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene


class TestSomebodyWhoComes:
    async def test_signs_in_is_led_to_what_needs_them_and_signs_out(self, open_tab: OpenTab):
        async with open_tab(None) as tab:
            await tab.page.goto("/")
            await expect(tab.page).to_have_url(re.compile("/console/$"))
            await expect(tab.page.get_by_label("User name")).to_be_visible()
            await tab.check()
            await tab.sign_in("trader")
            await expect(tab.page.locator("h1")).to_have_text("What needs me now")
            assert await tab.page.evaluate("document.cookie") == "", "no script sees the session"
            stored = await tab.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
            assert "ey" not in stored
            assert "gls_" not in stored
            await tab.page.get_by_role("button", name="Sign out").click()
            await expect(tab.page.get_by_role("button", name="Sign in")).to_be_visible()
            await tab.page.reload()
            await expect(tab.page.get_by_role("button", name="Sign in")).to_be_visible()

    async def test_is_told_in_a_sentence_that_the_password_is_wrong(self, open_tab: OpenTab):
        async with open_tab(None) as tab:
            tab.expect_refusal(401)
            await tab.page.goto("/")
            await tab.page.get_by_label("User name").fill("trader")
            await tab.page.get_by_label("Password").fill("not the password")
            await tab.page.get_by_role("button", name="Sign in").click()
            await expect(tab.page.get_by_role("alert")).to_have_text("The user name or the password is wrong.")
            await tab.check()

    async def test_accepts_an_invitation_that_an_admin_made(self, open_tab: OpenTab):
        async with open_tab("owner") as tab:
            await tab.open("/administration/invitations", "Administration")
            await tab.page.get_by_label("E-mail").fill("new@example.org")
            await tab.page.get_by_label("Role").select_option("ENGINEER")
            await tab.page.get_by_role("button", name="Invite", exact=True).click()
            link = await tab.page.get_by_label("The link for new@example.org").locator(".code").inner_text()
            await tab.check()
        async with open_tab(None) as newcomer:
            await newcomer.page.goto(link)
            await expect(newcomer.page.get_by_label("Your name")).to_be_visible()
            await newcomer.check()
            await newcomer.page.get_by_label("Your name").fill("Nele Neu")
            await newcomer.page.get_by_label("User name").fill("nele")
            await newcomer.page.get_by_label("Password").fill(PASSWORD)
            await newcomer.page.get_by_role("button", name="Join").click()
            await expect(newcomer.page.get_by_role("heading", name="Welcome, nele")).to_be_visible()
            await newcomer.page.get_by_role("link", name="Sign in").click()
            await newcomer.sign_in("nele")
            await expect(newcomer.page.get_by_text("Nele Neu")).to_be_visible()


class TestAKey:
    async def test_is_made_shown_once_used_and_revoked(self, open_tab: OpenTab, scene: Scene):
        # Keys are made within ten minutes of signing in.
        async with open_tab(None) as tab:
            await tab.sign_in("trader")
            await tab.open("/administration/api-keys", "Administration")
            await tab.page.get_by_label("Name").fill("Night job")
            await tab.page.get_by_role("button", name="Reading only").click()
            await tab.page.get_by_role("button", name="Make the key").click()
            secret = await tab.page.get_by_label("The secret of Night job").locator(".code").inner_text()
            await tab.check()
            headers = {"Authorization": f"Bearer {secret}"}
            async with httpx2.AsyncClient(base_url=scene.base_url, headers=headers, timeout=120) as machine:
                assert (await machine.get("/auctions")).status_code == 200
                await tab.page.reload()
                await expect(tab.page.get_by_text(secret)).to_have_count(0)
                # A year ahead: without its year the day would be taken for one of this week.
                await expect(tab.page.get_by_role("row", name=re.compile("^Night job"))).to_contain_text(
                    re.compile(r"\d{1,2} \w{3} \d{4}")
                )
                await tab.page.get_by_role("button", name="Revoke Night job").click()
                await tab.page.get_by_role("button", name="Revoke it").click()
                await expect(tab.page.get_by_role("button", name="Revoke Night job")).to_have_count(0)
                await wait_for_status(machine, 401, "/auctions")
