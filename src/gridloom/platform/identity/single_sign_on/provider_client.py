"""Speaking to identity providers: discovery, keys, the exchange of a code, and what is believed of a token."""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpcore2
import msgspec
import structlog
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from gridloom.kernel.problem import Problem
from gridloom.platform.identity.single_sign_on.model import ExternalPerson, IdentityProvider, SignOnAttempt
from gridloom.platform.outbound.url_policy import PinnedAddressBackend, UrlPolicy

CONNECT_S: Final = 5.0
CALL_TIMEOUT_S: Final = 10.0
MAX_ANSWER: Final = 512 * 1024
CACHED_FOR_S: Final = 300.0
MAX_CACHED: Final = 200
CLOCK_LEEWAY_S: Final = 60
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
"""Asymmetric ones alone: a token that is unsigned, or signed with what the client knows, is none."""

log = structlog.get_logger(__name__)


class ProviderUnreachable(Problem, status=503, title="The identity provider does not answer"):
    """The organisation's identity provider does not answer, or not as OpenID Connect says. Try again later."""


class TokenRefused(Exception):
    """The provider's response cannot be verified."""


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """A provider's discovery document."""

    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None
    keys: KeySet
    authentication_methods: frozenset[str]


class ProviderClient:
    """One a worker. Follows no redirects, connects only where webhooks may lead, and waits for nothing for long."""

    def __init__(self, rules: UrlPolicy, trust: ssl.SSLContext | None = None) -> None:
        self._rules = rules
        self._trust = trust
        self._pool: httpcore2.AsyncConnectionPool | None = None
        self._known: dict[str, tuple[float, ProviderMetadata]] = {}

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def read_metadata(self, issuer: str, *, is_fresh: bool = False) -> ProviderMetadata:
        known = self._known.get(issuer)
        if known is not None and not is_fresh and known[0] > time.monotonic():
            return known[1]
        document = await self._get_json(issuer.rstrip("/") + "/.well-known/openid-configuration")
        if document.get("issuer") != issuer:
            raise ProviderUnreachable("The provider's configuration names another issuer.")
        endpoints = {name: document.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        for name, url in (*endpoints.items(), ("userinfo_endpoint", document.get("userinfo_endpoint"))):
            if url is None and name == "userinfo_endpoint":
                continue
            self._check_endpoint(name, url)
        keys = await self._get_json(str(endpoints["jwks_uri"]))
        metadata = ProviderMetadata(
            str(endpoints["authorization_endpoint"]),
            str(endpoints["token_endpoint"]),
            document.get("userinfo_endpoint"),
            _import_keys(keys),
            frozenset(document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]),
        )
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
        self._known[issuer] = (time.monotonic() + CACHED_FOR_S, metadata)
        return metadata

    async def exchange_code(
        self, provider: IdentityProvider, secret: str, attempt: SignOnAttempt, code: str, redirect_uri: str
    ) -> ExternalPerson:
        """The person for whom the provider gave out a code; TokenRefused where anything about it is wrong."""
        metadata = await self.read_metadata(provider.issuer)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.code_verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if "client_secret_basic" in metadata.authentication_methods:
            pair = f"{quote(provider.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": provider.client_id, "client_secret": secret}
        status, answer = await self._call_json("POST", metadata.token_endpoint, headers, urlencode(form).encode())
        if status != 200:
            raise TokenRefused(f"the provider refused the code: {answer.get('error')}")
        claims = await self._verify_token(provider, attempt, str(answer.get("id_token") or ""))
        if "email" not in claims and metadata.userinfo_endpoint is not None and answer.get("access_token"):
            claims |= await self._read_user_info(metadata.userinfo_endpoint, str(answer["access_token"]), claims["sub"])
        return _describe_person(provider.issuer, claims)

    async def _verify_token(self, provider: IdentityProvider, attempt: SignOnAttempt, token: str) -> dict[str, Any]:
        metadata = await self.read_metadata(provider.issuer)
        try:
            try:
                decoded = jwt.decode(token, metadata.keys, algorithms=list(ALGORITHMS))
            except (JoseError, ValueError):  # perhaps with a key that is newer than what was read
                metadata = await self.read_metadata(provider.issuer, is_fresh=True)
                decoded = jwt.decode(token, metadata.keys, algorithms=list(ALGORITHMS))
            options = {
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
                "sub": {"essential": True},
            }
            params = {"nonce": attempt.nonce, "client_id": provider.client_id}
            claims = CodeIDToken(decoded.claims, decoded.header, options, params)
            claims.validate(leeway=CLOCK_LEEWAY_S)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise TokenRefused(f"the token is not valid: {type(error).__name__} {error}") from None
        if not isinstance(decoded.claims.get("sub"), str) or not 0 < len(decoded.claims["sub"]) <= 255:
            raise TokenRefused("the token names no subject")
        return dict(decoded.claims)

    async def _read_user_info(self, url: str, access_token: str, subject: str) -> dict[str, Any]:
        status, answer = await self._call_json("GET", url, {"Authorization": f"Bearer {access_token}"}, b"")
        if status != 200 or answer.get("sub") != subject:
            raise TokenRefused("the provider's user information is of another subject")
        return answer

    def _check_endpoint(self, name: str, url: object) -> None:
        if not isinstance(url, str):
            raise ProviderUnreachable(f"The provider's configuration has no {name}.")
        try:
            self._rules.check_url(url)
        except Problem as error:
            raise ProviderUnreachable(f"The provider's {name} is not allowed: {error.detail}") from None

    async def _get_json(self, url: str) -> dict[str, Any]:
        status, answer = await self._call_json("GET", url, {}, b"")
        if status != 200:
            raise ProviderUnreachable(f"The identity provider answered {status}.")
        return answer

    async def _call_json(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, Any]]:
        sent = [
            (name.encode("ascii"), value.encode("ascii"))
            for name, value in {"Accept": "application/json", **headers}.items()
        ]
        try:
            self._rules.check_url(url)
            async with asyncio.timeout(CALL_TIMEOUT_S):
                status, content = await self._send_raw(method, url, sent, body)
            answer = msgspec.json.decode(content)
        except Problem as error:
            raise ProviderUnreachable(error.detail) from None
        except Exception as error:  # noqa: BLE001  # whatever a provider or its name server provokes
            log.warning("provider.unreachable", url=url, error=repr(error))
            raise ProviderUnreachable("The identity provider does not answer as it should.") from None
        if not isinstance(answer, dict):
            raise ProviderUnreachable("The identity provider does not answer as it should.")
        return status, answer

    async def _send_raw(
        self, method: str, url: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> tuple[int, bytes]:
        timeouts = {"connect": CONNECT_S, "read": CALL_TIMEOUT_S, "write": CALL_TIMEOUT_S, "pool": CONNECT_S}
        async with self._open_pool().stream(
            method, url, headers=headers, content=body, extensions={"timeout": timeouts}
        ) as answer:
            read = b""
            async for chunk in answer.aiter_stream():
                read += chunk
                if len(read) > MAX_ANSWER:
                    raise ValueError("the answer is too long")
            return answer.status, read

    def _open_pool(self) -> httpcore2.AsyncConnectionPool:
        if self._pool is None:
            self._pool = httpcore2.AsyncConnectionPool(
                ssl_context=self._trust or httpcore2.default_ssl_context(),
                max_connections=20,
                max_keepalive_connections=0,
                retries=0,
                network_backend=PinnedAddressBackend(self._rules),
            )
        return self._pool


def _import_keys(document: dict[str, Any]) -> KeySet:
    """The keys that verify signatures; those of a kind that is not known are left out."""
    usable = [
        key
        for key in document.get("keys") or []
        if isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig"
    ]
    try:
        return KeySet.import_key_set({"keys": usable})
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise ProviderUnreachable("The provider's keys cannot be read.") from error


def _describe_person(issuer: str, claims: dict[str, Any]) -> ExternalPerson:
    email, name = claims.get("email"), claims.get("name")
    is_verified = claims.get("email_verified") is True
    return ExternalPerson(
        issuer=issuer,
        subject=claims["sub"],
        email=email if is_verified and isinstance(email, str) and 3 <= len(email) <= 254 else None,
        name=name if isinstance(name, str) else None,
        claims=claims,
    )
