"""Coming in by the organisation's own identity provider: a real OpenID Connect provider, in a real browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from playwright.async_api import expect
from tests.people import PASSWORD
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import Scene, new_member
from tests.platform.console.journeys.watching import Tab
from tests.platform.identity.openid_provider import ADA, running_provider, tell

ORGANISATION = "Allgäu Speicher"
"""Its own: no other journey gives its admin a second factor."""


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory, scene: Scene) -> Iterator[str]:
    callback = f"{scene.base_url}/auth/public/sso/callback"
    with running_provider(tmp_path_factory.mktemp("oidc"), callback) as address:
        yield address


@pytest.fixture(scope="module", autouse=True)
async def provider_of_the_organisation(scene: Scene, issuer: str) -> AsyncIterator[None]:
    """Set up by its admin, who has just signed in; away again afterwards."""
    member = await asyncio.to_thread(new_member, scene.base_url, scene.operator, ORGANISATION, "allgaeu")
    path = f"/organisations/{member.organisation_id}/identity-provider"
    body = {"issuer": issuer, "clientID": "gridloom", "clientSecret": "secret of the client"}
    more = {"domains": ["example.org"], "defaultRole": "TRADER"}
    async with httpx2.AsyncClient(base_url=scene.base_url, timeout=60) as admin:
        login = {"username": "allgaeu", "password": PASSWORD}
        tokens = (await admin.post("/auth/public/authenticate", json=login)).json()
        admin.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        set_up = await admin.put(path, json={**body, **more})
        assert set_up.status_code == 200, set_up.text
        await tell(issuer, {**ADA, "sub": "ada-of-the-journeys"})
        yield
        await admin.delete(path)


async def sign_in_at_provider(tab: Tab, organisation: str = ORGANISATION) -> None:
    await tab.page.get_by_role("button", name="Single sign-on").click()
    await tab.page.get_by_label("Organisation").fill(organisation)
    await tab.page.get_by_role("button", name="Go to its sign-in").click()


def forgive_provider(tab: Tab, issuer: str) -> None:
    """The browser itself goes to the provider: that page is none of the console's."""
    tab.faults = [fault for fault in tab.faults if not fault.startswith(f"foreign request: {issuer}")]


class TestAMemberOfAnOrganisationWithAProvider:
    async def test_signs_in_there_and_comes_back_to_the_screen_that_was_asked_for(self, open_tab: OpenTab, issuer: str):
        async with open_tab(None) as tab:
            await tab.page.goto("/console/auctions")
            await sign_in_at_provider(tab)
            await expect(tab.page.locator("#screen h1")).to_have_text("Auctions")
            await expect(tab.page).to_have_url(re.compile("/console/auctions"))
            assert "signed-in" not in tab.page.url
            await expect(tab.page.get_by_text("Ada Lovelace")).to_be_visible()
            await tab.page.reload()
            await expect(tab.page.locator("#screen h1")).to_have_text("Auctions")
            await tab.check()
            forgive_provider(tab, issuer)

    async def test_is_told_in_a_sentence_where_the_organisation_has_none(self, open_tab: OpenTab):
        async with open_tab(None) as tab:
            tab.expect_refusal(404)
            await tab.page.goto("/")
            await sign_in_at_provider(tab, "Nobody at all")
            await expect(tab.page.get_by_role("alert")).to_have_text(
                "There is no organisation of that name or id with an identity provider."
            )
            await tab.check_in_both_themes()
            await tab.page.get_by_role("button", name="With a password").click()
            await expect(tab.page.get_by_label("User name")).to_be_visible()

    async def test_reads_why_the_provider_s_answer_was_not_taken_and_goes_back(self, open_tab: OpenTab, issuer: str):
        await tell(issuer, {**ADA, "sub": "a-stranger", "email": "stranger@elsewhere.example"})
        try:
            async with open_tab(None) as tab:
                tab.expect_refusal(403)
                await tab.page.goto("/console/auctions")
                await sign_in_at_provider(tab)
                await expect(tab.page.get_by_role("alert")).to_have_text(
                    "The identity provider's answer was not accepted."
                )
                await expect(tab.page.get_by_text("finds the reason in its audit log")).to_be_visible()
                await tab.check()
                await tab.page.emulate_media(color_scheme="dark")
                await tab.check()
                await tab.page.get_by_role("link", name="Back to sign-in").click()
                await expect(tab.page.get_by_label("User name")).to_be_visible()
                forgive_provider(tab, issuer)
        finally:
            await tell(issuer, {**ADA, "sub": "ada-of-the-journeys"})

    async def test_goes_on_with_what_was_typed_after_signing_in_in_another_tab(self, open_tab: OpenTab, issuer: str):
        async with open_tab(None) as tab:
            await tab.page.goto("/")
            await sign_in_at_provider(tab)
            await expect(tab.page.locator("#screen h1")).to_be_visible()
            await tab.open("/administration/api-keys", "Administration")
            await tab.page.get_by_label("Name").fill("Typed before the session ended")
            await tab.page.get_by_role("button", name="Reading only").click()
            tab.expect_refusal(401)
            await tab.page.context.clear_cookies()
            await tab.page.get_by_role("button", name="Make the key").click()
            await expect(tab.page.get_by_text("what you typed is kept")).to_be_visible()
            async with tab.page.context.expect_page() as opened:
                await sign_in_at_provider(tab)
            await expect((await opened.value).locator("#screen h1")).to_be_visible()
            await expect(tab.page.get_by_text("what you typed is kept")).to_have_count(0)
            await expect(tab.page.get_by_label("Name")).to_have_value("Typed before the session ended")
            forgive_provider(tab, issuer)


class TestAnAdmin:
    async def test_sets_the_provider_up_in_the_form_and_a_member_comes_in_by_it(
        self, open_tab: OpenTab, scene: Scene, issuer: str
    ):
        await asyncio.to_thread(new_member, scene.base_url, scene.operator, "Rhön Speicher", "rhoen")
        async with open_tab(None) as tab:
            await tab.sign_in("rhoen")
            await tab.open("/administration/security", "Administration")
            card = tab.page.get_by_role("region", name="Single sign-on")
            await card.get_by_role("button", name="Set up").click()
            await expect(card).to_contain_text(f"{scene.base_url}/auth/public/sso/callback")
            await card.get_by_label("Issuer").fill(issuer)
            await card.get_by_label("Client ID").fill("gridloom")
            await card.get_by_label("Client secret").fill("secret of the client")
            await card.get_by_label("E-mail domains").fill("example.com")
            await card.get_by_label("Role of members without an invitation").select_option("VIEWER")
            await card.get_by_role("button", name="Save").click()
            await expect(card).to_contain_text("e-mails of example.com; passwords still work")
        await tell(
            issuer, {"sub": "grace", "email": "grace@example.com", "email_verified": True, "name": "Grace Hopper"}
        )
        try:
            async with open_tab(None) as tab:
                await tab.page.goto("/")
                await sign_in_at_provider(tab, "Rhön Speicher")
                await expect(tab.page.get_by_text("Grace Hopper")).to_be_visible()
                forgive_provider(tab, issuer)
        finally:
            await tell(issuer, {**ADA, "sub": "ada-of-the-journeys"})
