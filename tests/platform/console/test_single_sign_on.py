"""Single sign-on as browsers and command lines go through it, with a provider that is played; over HTTP on the real
database. (`tests/platform/identity/test_single_sign_on.py` asks a real provider.)"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from joserfc.jwk import KeySet
from tests.people import OrganisationUnderTest, client_of

from gridloom.platform.database.sealing import Sealing
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.single_sign_on.model import ExternalPerson, IdentityProvider, SignOnAttempt
from gridloom.platform.identity.single_sign_on.provider_client import ProviderClient, ProviderMetadata, TokenRefused
from gridloom.platform.identity.store.identity_providers import put_provider
from gridloom.platform.identity.tokens import hash_of
from gridloom.settings import Settings

ISSUER = "https://login.example"
START, CALLBACK, TOKEN = (f"/auth/public/sso/{name}" for name in ("start", "callback", "token"))
VERIFIER = "a-verifier-of-the-command-line-that-is-long-enough"
TERMINAL = "http://127.0.0.1:4711/back"
ADDRESS = "203.0.113.7"
NETWORKS = "update organisation set allowed_networks = $2::cidr[] where id = $1"
SESSIONS = """
select member_id, s.address, user_agent, sign_in_method, network,
       exists (select from console_session c where c.session_id = s.id) as is_console
from session s left join sign_in_network n using (member_id) where sign_in_method = 'SINGLE_SIGN_ON' and member_id in
  (select id from member where organisation_id = $1)
"""


def challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


class Provider:
    """Says who comes, or refuses the code, and keeps what it was asked."""

    def __init__(self) -> None:
        self.page = f"{ISSUER}/authorize"
        self.person: ExternalPerson | None = None
        self.asked: list[tuple[Any, ...]] = []

    async def read_metadata(self, _client: ProviderClient, issuer: str, *, is_fresh: bool = False) -> ProviderMetadata:
        return ProviderMetadata(self.page, f"{issuer}/token", None, KeySet([]), frozenset())

    async def exchange_code(self, _client: ProviderClient, *asked: Any) -> ExternalPerson:
        self.asked.append(asked)
        if self.person is None:
            raise TokenRefused("the provider refused the code: " + "x" * 600)
        return self.person


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Provider:
    played = Provider()
    monkeypatch.setattr(ProviderClient, "read_metadata", lambda *asked, **how: played.read_metadata(*asked, **how))
    monkeypatch.setattr(ProviderClient, "exchange_code", lambda *asked: played.exchange_code(*asked))
    return played


@pytest.fixture
async def ours(app: Application, new_organisation: Any, provider: Provider) -> OrganisationUnderTest:
    """An organisation whose members come by the provider."""
    made: OrganisationUnderTest = await new_organisation()
    await set_up(app, made)
    email = f"ada@{made.id}.example"
    await app.pool.execute("update member set email = $2 where id = $1", made.people[Role.TRADER].id, email)
    provider.person = ExternalPerson(ISSUER, "ada-1", email, "Ada Lovelace", {})
    return made


@pytest.fixture
async def tab(app: Application) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app, address=ADDRESS) as client:
        client.headers["User-Agent"] = "Browser/7"
        yield client


async def set_up(app: Application, ours: OrganisationUnderTest, issuer: str = ISSUER) -> None:
    secret = app.resources[Sealing].identity_providers.close(b"a secret")
    domains = (f"{ours.id}.example",)
    await put_provider(
        app.pool, IdentityProvider(ours.id, issuer, "gridloom", secret, domains, False, None, default_role=None)
    )


async def start(tab: httpx2.AsyncClient, ours: OrganisationUnderTest, **query: str) -> httpx2.Response:
    begun = await tab.get(START, params={"organisation": str(ours.id), **query})
    assert begun.status_code == 302, begun.text
    return begun


def question_of(begun: httpx2.Response) -> dict[str, str]:
    """What the provider is asked."""
    return dict(parse_qsl(urlsplit(begun.headers["location"]).query))


async def finish(tab: httpx2.AsyncClient, begun: httpx2.Response, **more: str) -> httpx2.Response:
    return await tab.get(CALLBACK, params={"state": question_of(begun)["state"], "code": "c-1", **more})


async def reasons(ours: OrganisationUnderTest) -> list[str]:
    """Why sign-ins were refused, the latest first, as the audit log of the organisation has it."""
    entries = (await ours.admin.get("/audit-log?action=finishSingleSignOn")).json()
    assert {(one["status"], one["actorKind"], one["organisationID"]) for one in entries} <= {
        (403, "ANONYMOUS", str(ours.id))
    }
    return [one["details"]["reason"] for one in entries]


@contextmanager
def production(app: Application) -> Iterator[None]:
    genuine = app.resources[Settings]
    app.resources.add(replace(genuine, environment="production", base_url="https://grid.example"))
    try:
        yield
    finally:
        app.resources.add(genuine)


class TestTheStart:
    async def test_binds_the_answer_to_this_browser_and_this_attempt(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        begun = await start(tab, ours, redirect="/console/auctions?zone=7")
        address, question = urlsplit(begun.headers["location"]), question_of(begun)
        assert f"{address.scheme}://{address.netloc}{address.path}" == f"{ISSUER}/authorize"
        assert begun.headers["cache-control"] == "no-store"
        browser, attributes = begun.headers["set-cookie"].removeprefix("gridloom_sso=").split("; ", 1)
        assert attributes == "Max-Age=600; Path=/auth/public/sso; HttpOnly; SameSite=Lax"
        (row,) = await app.pool.fetch("select * from single_sign_on_attempt where organisation_id = $1", ours.id)
        assert question == {
            "response_type": "code",
            "client_id": "gridloom",
            "redirect_uri": f"{app.resources[Settings].sandbox_base_url}{CALLBACK}",
            "scope": "openid email profile",
            "state": question["state"],
            "nonce": row["nonce"],
            "code_challenge": challenge_of(row["code_verifier"]),
            "code_challenge_method": "S256",
        }
        assert (row["state_hash"], row["browser_hash"]) == (hash_of(question["state"]), hash_of(browser))
        assert (row["issuer"], row["redirect"], row["client_challenge"]) == (ISSUER, "/console/auctions?zone=7", None)
        secrets = {question["state"], question["nonce"], browser, row["code_verifier"]}
        assert {len(one) for one in secrets} == {43}
        assert len(secrets) == 4

    async def test_goes_on_where_the_providers_address_has_a_query(
        self, ours: OrganisationUnderTest, tab: httpx2.AsyncClient, provider: Provider
    ) -> None:
        provider.page += "?tenant=7"
        question = question_of(await start(tab, ours))
        assert (question["tenant"], question["response_type"]) == ("7", "code")

    async def test_of_production_asks_for_its_own_address_and_an_encrypted_way_back(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        with production(app):
            begun = await start(tab, ours)
        assert question_of(begun)["redirect_uri"] == f"https://grid.example{CALLBACK}"
        cookie = begun.headers["set-cookie"]
        assert cookie.startswith("__Secure-gridloom_sso=")
        assert cookie.endswith("; SameSite=Lax; Secure")
        browser = {"Cookie": cookie.partition(";")[0]}
        state = question_of(begun)["state"]
        with production(app):
            answer = await tab.get(CALLBACK, params={"state": state, "code": "c-1"}, headers=browser)
        assert answer.status_code == 200, answer.text

    async def test_finds_an_organisation_by_a_name_that_it_alone_has(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient, new_organisation: Any
    ) -> None:
        name = f"Nord {ours.id}"
        await app.pool.execute("update organisation set name = $2 where id = $1", ours.id, name)
        assert (await tab.get(START, params={"organisation": name.upper()})).status_code == 302
        await new_organisation(name)
        for unknown in (name, f"Süd {ours.id}"):
            refused = await tab.get(START, params={"organisation": unknown})
            assert (refused.status_code, refused.json()["type"]) == (404, "/docs/problems/no-single-sign-on")

    async def test_leads_back_to_the_console_or_this_machine_alone(self, anonymous: httpx2.AsyncClient) -> None:
        challenge = "c" * 43
        for redirect, more, parameter in (
            ("/elsewhere", {}, "redirect"),
            ("/console/../auth", {}, "redirect"),
            ("/console//evil.example", {}, "redirect"),
            ("/console/#x", {}, "redirect"),
            (TERMINAL, {"code-challenge": challenge[1:]}, "code-challenge"),
            (TERMINAL, {"code-challenge": f"{challenge}\n"}, "code-challenge"),
            ("https://127.0.0.1:1/", {"code-challenge": challenge}, "redirect"),
            ("http://localhost:1/", {"code-challenge": challenge}, "redirect"),
            ("http://me@127.0.0.1:1/", {"code-challenge": challenge}, "redirect"),
            ("http://127.0.0.1:1/#x", {"code-challenge": challenge}, "redirect"),
        ):
            query = {"organisation": "Nobody", "redirect": redirect, **more}
            refused = await anonymous.get(START, params=query)
            assert refused.status_code == 400, redirect
            assert [one["pointer"] for one in refused.json()["errors"]] == [f"query:{parameter}"], redirect


class TestTheWayBack:
    async def test_opens_the_console_with_a_session_of_its_own_kind(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient, provider: Provider
    ) -> None:
        begun = await start(tab, ours, redirect="/console/auctions?zone=7&day=1")
        (row,) = await app.pool.fetch("select * from single_sign_on_attempt where organisation_id = $1", ours.id)
        answer = await finish(tab, begun)
        assert answer.status_code == 200, answer.text
        assert answer.text.count('"/console/auctions?zone=7&amp;day=1#signed-in"') == 1
        assert 'content="0; url=/console/auctions?zone=7&amp;day=1#signed-in"' in answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["set-cookie"].startswith("gridloom_session=gls_")
        ((asked, secret, attempt, code, redirect_uri),) = provider.asked
        assert (asked.organisation_id, secret, code) == (ours.id, "a secret", "c-1")
        assert redirect_uri == question_of(begun)["redirect_uri"]
        kept = {name: row[name] for name in SignOnAttempt.__dataclass_fields__}
        assert attempt == SignOnAttempt(**kept)
        (session,) = await app.pool.fetch(SESSIONS, ours.id)
        assert dict(session) == {
            "member_id": ours.people[Role.TRADER].id,
            "address": ADDRESS,
            "user_agent": "Browser/7",
            "sign_in_method": "SINGLE_SIGN_ON",
            "network": ADDRESS,
            "is_console": True,
        }

    async def test_is_open_once_and_for_the_browser_that_began(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        begun = await start(tab, ours)
        async with client_of(app) as other:
            without = await finish(other, begun)
            await start(other, ours)
            foreign = await finish(other, begun)
        assert (await finish(tab, begun)).status_code == 200
        again = await finish(tab, begun)
        for refused in (without, foreign, again):
            assert (refused.status_code, refused.json()["type"]) == (403, "/docs/problems/single-sign-on-refused")
        assert await reasons(ours) == [], "whose sign-in it was is not known"

    async def test_is_closed_ten_minutes_later(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        aging = "update single_sign_on_attempt set expires_at = expires_at - $2::text::interval where state_hash = $1"
        for age, status in (("9 minutes 50 seconds", 200), ("10 minutes", 403)):
            begun = await start(tab, ours)
            await app.pool.execute(aging, hash_of(question_of(begun)["state"]), age)
            assert (await finish(tab, begun)).status_code == status

    async def test_says_in_the_audit_log_alone_why_it_was_refused(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient, provider: Provider
    ) -> None:
        ada = provider.person
        assert ada is not None
        for more, person, reason in (
            ({"error": "access_denied"}, ada, "the provider answered access_denied"),
            ({"error": "access_denied", "code": ""}, ada, "the provider answered access_denied"),
            ({"code": ""}, ada, "the provider answered without a code"),
            ({"iss": "https://elsewhere.example"}, ada, "the answer names another issuer"),
            ({"iss": ISSUER}, replace(ada, email=None), "the provider has not verified an e-mail address"),
            ({}, None, "the provider refused the code: " + "x" * 469),
        ):
            provider.person = person
            refused = await finish(tab, await start(tab, ours), **more)
            assert (refused.status_code, refused.json()["type"]) == (403, "/docs/problems/single-sign-on-refused")
            assert refused.json()["detail"] == "The identity provider's answer was not accepted."
            assert "set-cookie" not in refused.headers
            assert (await reasons(ours))[0] == reason
        begun = await start(tab, ours)
        await set_up(app, ours, "https://another.example")
        assert (await finish(tab, begun)).status_code == 403
        begun = await start(tab, ours)
        await app.pool.execute("delete from identity_provider where organisation_id = $1", ours.id)
        assert (await finish(tab, begun)).status_code == 403
        assert (await reasons(ours))[:2] == ["the identity provider was changed meanwhile"] * 2
        assert await app.pool.fetch(SESSIONS, ours.id) == []

    async def test_needs_a_network_that_the_organisation_allows(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        await app.pool.execute(NETWORKS, ours.id, ["198.51.100.0/24"])
        refused = await finish(tab, await start(tab, ours))
        assert (refused.status_code, refused.json()["type"]) == (403, "/docs/problems/network-not-allowed")
        bound = "select count(*) from external_identity where organisation_id = $1"
        assert await app.pool.fetchval(bound, ours.id) == 0, "nothing stays of an attempt from elsewhere"
        await app.pool.execute(NETWORKS, ours.id, ["198.51.100.0/24", "203.0.113.0/24"])
        assert (await finish(tab, await start(tab, ours))).status_code == 200


class TestTheCommandLine:
    async def get_code(self, tab: httpx2.AsyncClient, ours: OrganisationUnderTest, redirect: str = TERMINAL) -> str:
        query = {"redirect": redirect, "code-challenge": challenge_of(VERIFIER)}
        begun = await start(tab, ours, **query)
        assert question_of(begun)["code_challenge"] != query["code-challenge"], (
            "the verifier there is the service's own"
        )
        answer = await finish(tab, begun)
        assert answer.status_code == 200, answer.text
        assert "gridloom_session" not in answer.headers.get("set-cookie", ""), "the console is not opened"
        joint = "&amp;" if "?" in redirect else "?"
        (code,) = {part.partition('"')[0] for part in answer.text.split(f"url={redirect}{joint}code=")[1:]}
        return code

    async def test_gets_a_code_for_which_it_gets_the_tokens(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        code = await self.get_code(tab, ours)
        assert await app.pool.fetch(SESSIONS, ours.id) == [], "it is signed in by its verifier alone"
        answer = await tab.post(TOKEN, json={"code": code, "verifier": VERIFIER})
        assert answer.status_code == 200, answer.text
        assert answer.headers["cache-control"] == "no-store"
        (session,) = await app.pool.fetch(SESSIONS, ours.id)
        assert (session["member_id"], session["is_console"]) == (ours.people[Role.TRADER].id, False)
        assert (session["address"], session["user_agent"], session["network"]) == (ADDRESS, "Browser/7", ADDRESS)
        async with client_of(app, answer.json()["access_token"]) as ada:
            assert (await ada.get("/auth/me")).json()["username"] == ours.people[Role.TRADER].username
        (entry,) = (await ours.admin.get("/audit-log?action=exchangeSsoCode")).json()
        assert (entry["actorID"], entry["status"]) == (str(ours.people[Role.TRADER].id), 200)

    async def test_is_called_at_an_address_with_a_query_too(
        self, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        assert len(await self.get_code(tab, ours, f"{TERMINAL}?attempt=2")) == 43

    async def test_uses_a_code_once_in_a_minute_whatever_the_verifier(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        aging = "update single_sign_on_code set expires_at = expires_at - interval '1 minute' where code_hash = $1"
        used, guessed, late = [await self.get_code(tab, ours) for _ in range(3)]
        await app.pool.execute(aging, hash_of(late))
        statuses = [
            (await tab.post(TOKEN, json={"code": code, "verifier": verifier})).status_code
            for code, verifier in (
                *((used, VERIFIER), (used, VERIFIER)),
                *((guessed, "x" * 43), (guessed, VERIFIER)),
                *((late, VERIFIER), ("unknown", VERIFIER)),
            )
        ]
        assert statuses == [200, 403, 403, 403, 403, 403]

    async def test_comes_from_a_network_that_the_organisation_allows(
        self, app: Application, ours: OrganisationUnderTest, tab: httpx2.AsyncClient
    ) -> None:
        code = await self.get_code(tab, ours)
        await app.pool.execute(NETWORKS, ours.id, ["198.51.100.0/24"])
        refused = await tab.post(TOKEN, json={"code": code, "verifier": VERIFIER})
        assert (refused.status_code, refused.json()["type"]) == (403, "/docs/problems/network-not-allowed")
        assert await app.pool.fetch(SESSIONS, ours.id) == []
