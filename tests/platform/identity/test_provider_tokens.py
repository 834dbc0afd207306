"""What is believed of an identity provider's tokens, with keys that these tests made; no provider is asked."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from gridloom.kernel.problem import Forbidden, Problem
from gridloom.platform.identity.single_sign_on.model import IdentityProvider, SignOnAttempt
from gridloom.platform.identity.single_sign_on.provider_client import (
    CLOCK_LEEWAY_S,
    MAX_ANSWER,
    ProviderClient,
    ProviderMetadata,
    ProviderUnreachable,
    TokenRefused,
)
from gridloom.platform.outbound.url_policy import UrlPolicy

pytestmark = pytest.mark.pure

STARTED = int(time.time())
ISSUER, REDIRECT = "https://login.example", "https://gridloom.example/auth/public/sso/callback"
OLD_KEY, KEY = (ECKey.generate_key("P-256", {"kid": name, "use": "sig"}) for name in ("old", "new"))
PROVIDER = IdentityProvider(
    organisation_id=UUID(int=1),
    issuer=ISSUER,
    client_id="gridloom",
    sealed_client_secret=b"",
    domains=("example.org",),
    required=False,
    role_claim=None,
    default_role=None,
)
ATTEMPT = SignOnAttempt(
    organisation_id=UUID(int=1),
    issuer=ISSUER,
    nonce="n-1",
    code_verifier="v-1",
    browser_hash=b"",
    redirect="/console",
    client_challenge=None,
)


class PlayedProvider(ProviderClient):
    """Answers without a network: a token of these claims, and user information."""

    def __init__(self, *, methods: tuple[str, ...] = ("client_secret_basic",), **claims: Any) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        issued: dict[str, Any] = {"iss": ISSUER, "aud": "gridloom", "sub": "ada-1", "nonce": "n-1"}
        issued |= {"iat": int(time.time()), "exp": int(time.time()) + 600}
        self.claims = {name: value for name, value in {**issued, **claims}.items() if value is not None}
        self.methods = frozenset(methods)
        self.user_info: dict[str, Any] = {"sub": "ada-1", "email": "told@example.org", "email_verified": True}
        self.has_user_info = True
        self.status = 200
        self.is_refreshed = False
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    async def read_metadata(self, issuer: str, *, is_fresh: bool = False) -> ProviderMetadata:
        assert issuer == ISSUER
        self.is_refreshed = self.is_refreshed or is_fresh
        keys = KeySet([KEY if self.is_refreshed else OLD_KEY])
        user_info = "https://login.example/me" if self.has_user_info else None
        return ProviderMetadata("https://login.example/a", "https://login.example/t", user_info, keys, self.methods)

    async def _call_json(self, method: str, url: str, headers: Any, body: bytes) -> tuple[int, dict[str, Any]]:
        self.asked.append((f"{method} {url}", dict(headers), body))
        if url.endswith("/me"):
            return 200, self.user_info
        token = jwt.encode({"alg": "ES256", "kid": "new"}, self.claims, KEY)
        return self.status, {"id_token": token, "access_token": "at-1"}

    async def exchange(self) -> Any:
        return await self.exchange_code(PROVIDER, "a secret/of mine", ATTEMPT, "c-1", REDIRECT)


class TestAToken:
    @pytest.mark.parametrize(
        "claims",
        [
            *({name: None} for name in ("iss", "aud", "sub", "nonce", "exp", "iat")),
            *({name: "another"} for name in ("iss", "aud", "nonce")),
            {"sub": ""},
            {"sub": "x" * 256},  # one less is taken below
            {"sub": 7},
            {"exp": STARTED - CLOCK_LEEWAY_S - 60},
            {"nbf": STARTED + CLOCK_LEEWAY_S + 36_000},
        ],
        ids=lambda claims: f"{next(iter(claims))} {len(str(claims))}",
    )
    async def test_that_says_too_little_or_something_else_is_refused(self, claims: dict[str, Any]) -> None:
        with pytest.raises(TokenRefused):
            await PlayedProvider(**claims).exchange()

    async def test_is_none_where_the_provider_refused_the_code(self) -> None:
        provider = PlayedProvider()
        provider.status = 400
        with pytest.raises(TokenRefused, match="refused the code"):
            await provider.exchange()


class TestAnAddress:
    async def test_is_that_of_the_token_where_it_has_one(self) -> None:
        provider = PlayedProvider(email="ada@example.org", email_verified=True)
        assert (await provider.exchange()).email == "ada@example.org"
        assert [asked for asked, _, _ in provider.asked] == ["POST https://login.example/t"]

    async def test_is_asked_for_with_the_access_token_where_the_token_has_none(self) -> None:
        provider = PlayedProvider()
        assert (await provider.exchange()).email == "told@example.org"
        assert provider.asked[-1][:2] == ("GET https://login.example/me", {"Authorization": "Bearer at-1"})

    async def test_of_another_subject_is_refused(self) -> None:
        provider = PlayedProvider()
        provider.user_info["sub"] = "bo-1"
        with pytest.raises(TokenRefused, match="another subject"):
            await provider.exchange()

    async def test_is_of_a_length_that_there_is(self) -> None:
        for length, is_believed in ((254, True), (255, False)):
            email = "a" * (length - 12) + "@example.org"
            person = await PlayedProvider(email=email, email_verified=True).exchange()
            assert person.email == (email if is_believed else None)

    async def test_is_unknown_where_the_provider_tells_none(self) -> None:
        provider = PlayedProvider()
        provider.has_user_info = False
        assert (await provider.exchange()).email is None

    @pytest.mark.parametrize("verified", [False, None, "true", 1])
    async def test_that_is_not_vouched_for_is_not_believed(self, verified: object) -> None:
        person = await PlayedProvider(email="ada@example.org", email_verified=verified).exchange()
        assert person.email is None

    @pytest.mark.parametrize(
        ("email", "is_within"),
        [("ada@example.org", True), ("ada@EXAMPLE.org", True), ("ada@example.org.uk", False), (None, False)],
    )
    async def test_is_of_a_domain_or_of_none(self, email: str | None, is_within: bool) -> None:
        provider = PlayedProvider(email=email, email_verified=True)
        provider.has_user_info = False
        assert (await provider.exchange()).is_within(("example.com", "example.org")) is is_within


class TestTheExchangeOfACode:
    async def test_sends_the_secret_in_the_form_where_the_provider_wants_it_there(self) -> None:
        provider = PlayedProvider(methods=("client_secret_post",))
        await provider.exchange()
        _, headers, body = provider.asked[0]
        assert "Authorization" not in headers
        assert body.endswith(b"&client_id=gridloom&client_secret=a+secret%2Fof+mine")


DISCOVERY = {
    **{"issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/a", "token_endpoint": f"{ISSUER}/t"},
    **{"jwks_uri": f"{ISSUER}/keys", "userinfo_endpoint": f"{ISSUER}/me"},
}


class DiscoveredProvider(ProviderClient):
    """Whose documents are what a test says; addresses below `/private` are not allowed."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(self)  # type: ignore[arg-type]
        self.document = {name: value for name, value in {**DISCOVERY, **changes}.items() if value is not None}
        self.keys: list[Any] = [KEY.as_dict(private=False)]
        self.read = 0

    def check_url(self, url: str) -> None:
        if "/private" in url:
            raise Forbidden("not there")

    async def _get_json(self, url: str) -> dict[str, Any]:
        if url == f"{ISSUER}/.well-known/openid-configuration":
            self.read += 1
            return self.document
        assert url == f"{ISSUER}/keys"
        return {"keys": self.keys}


def answered(monkeypatch: pytest.MonkeyPatch, answer_of: Callable[[str], tuple[int, bytes]]) -> ProviderClient:
    """A client to whom the network brings the status and the bytes of a URL."""
    client = ProviderClient(DiscoveredProvider())  # type: ignore[arg-type]

    async def answer(_method: str, url: str, *_more: object) -> tuple[int, bytes]:
        return answer_of(url)

    monkeypatch.setattr(client, "_send_raw", answer)
    return client


class TestTheConfigurationOfAProvider:
    async def test_is_kept_for_few_providers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gridloom.platform.identity.single_sign_on.provider_client.MAX_CACHED", 2)
        provider = DiscoveredProvider()
        found = await provider.read_metadata(ISSUER)
        provider._known["https://one.example"] = provider._known["https://two.example"] = (0.0, found)
        await provider.read_metadata(ISSUER, is_fresh=True)
        assert list(provider._known) == [ISSUER]

    @pytest.mark.parametrize(("status", "content"), [(200, b"[]"), (200, b"7"), (200, b"<html>"), (500, b"{}")])
    async def test_that_is_none_is_no_answer(
        self, monkeypatch: pytest.MonkeyPatch, status: int, content: bytes
    ) -> None:
        client = answered(monkeypatch, lambda _: (status, content))
        with pytest.raises(ProviderUnreachable):
            await client.read_metadata(ISSUER)

    async def test_says_how_the_secret_is_to_be_sent(self) -> None:
        provider = DiscoveredProvider(token_endpoint_auth_methods_supported=["client_secret_post"])
        assert (await provider.read_metadata(ISSUER)).authentication_methods == {"client_secret_post"}

    async def test_may_have_no_user_information(self) -> None:
        found = await DiscoveredProvider(userinfo_endpoint=None).read_metadata(ISSUER)
        assert found.userinfo_endpoint is None

    @pytest.mark.parametrize(
        "changes",
        [
            {"issuer": "https://another.example"},
            *({name: None} for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")),
            *({name: f"{ISSUER}/private"} for name in DISCOVERY if name != "issuer"),
        ],
        ids=str,
    )
    async def test_of_another_issuer_or_with_no_place_to_go_is_refused(self, changes: dict[str, Any]) -> None:
        with pytest.raises(ProviderUnreachable):
            await DiscoveredProvider(**changes).read_metadata(ISSUER)

    async def test_is_none_where_its_keys_are_not_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known = json.dumps(DISCOVERY).encode()
        client = answered(monkeypatch, lambda url: (404, b'{"keys": []}') if url.endswith("/keys") else (200, known))
        with pytest.raises(ProviderUnreachable, match="404"):
            await client.read_metadata(ISSUER)


class AnswerInParts:
    """A connection over which an answer of so many bytes comes, a few at a time."""

    def __init__(self, size_bytes: int) -> None:
        self.status, self.size_bytes = 200, size_bytes

    @asynccontextmanager
    async def stream(self, *_asked: object, **_more: object) -> AsyncIterator[Any]:
        yield self

    async def aiter_stream(self) -> AsyncIterator[bytes]:
        for start in range(0, self.size_bytes, 60_000):
            yield b"x" * min(60_000, self.size_bytes - start)


class TestACall:
    async def test_reads_an_answer_of_a_bounded_length(self) -> None:
        client = ProviderClient(None)  # type: ignore[arg-type]
        client._pool = AnswerInParts(MAX_ANSWER)  # type: ignore[assignment]
        assert await client._send_raw("GET", ISSUER, [], b"") == (200, b"x" * MAX_ANSWER)
        client._pool = AnswerInParts(MAX_ANSWER + 1)  # type: ignore[assignment]
        with pytest.raises(ValueError, match="too long"):
            await client._send_raw("GET", ISSUER, [], b"")

    async def test_goes_to_no_address_that_is_not_allowed(self) -> None:
        """Whatever the name was when it was checked."""
        with socket.create_server(("127.0.0.1", 0)) as inside:
            inside.setblocking(False)
            client = ProviderClient(UrlPolicy(is_sandbox=False))
            with pytest.raises(Problem):
                await client._send_raw("GET", f"http://127.0.0.1:{inside.getsockname()[1]}/", [], b"")
            with pytest.raises(BlockingIOError):
                inside.accept()
            await client.close()
