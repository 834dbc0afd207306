"""Single sign-on for browsers and command lines: `/auth/public/sso`."""

from __future__ import annotations

import html
import re
import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Annotated
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from msgspec import Meta, field

from gridloom.kernel.networks import is_within, network_of
from gridloom.kernel.problem import NotFound
from gridloom.platform.audit.model import NIL_ID, Actor
from gridloom.platform.audit.recording import record_denied
from gridloom.platform.console.routes import begin_cookie
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.pool import Database
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.http import HTML, PUBLIC, Content, QueryParameters, Request, RequestBody, Response, operation
from gridloom.platform.http.admit import NetworkNotAllowed
from gridloom.platform.http.fields import parameter_error, pattern_meta
from gridloom.platform.identity import views
from gridloom.platform.identity.login.login import user_agent_of
from gridloom.platform.identity.login.sessions import TokenPair, begin_session
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.model import Account, SignInMethod
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.single_sign_on.model import IdentityProvider, SignOnAttempt
from gridloom.platform.identity.single_sign_on.provider_client import ProviderClient, ProviderUnreachable, TokenRefused
from gridloom.platform.identity.single_sign_on.sign_in import PersonRefused, SingleSignOnRefused, find_or_admit_member
from gridloom.platform.identity.store import identity_providers as store
from gridloom.platform.identity.store import members
from gridloom.platform.identity.store.login_throttle import store_known_network
from gridloom.platform.identity.tokens import hash_of
from gridloom.platform.identity.views import NO_STORE
from gridloom.settings import Settings

TAG = "Authentication"
CALLBACK = "/auth/public/sso/callback"
COOKIE = "gridloom_sso"
SIGNED_IN_MARK = "#signed-in"
"""Says to the console, which sees no cookie, that there is a session now."""
_CHALLENGE = r"^[A-Za-z0-9_-]{43}(?!\n)$"
_CONSOLE_PATH = re.compile(r"/console/[A-Za-z0-9_./?=&%-]{0,500}")

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Signed in</title><meta http-equiv="refresh" content="0; url={target}"></head>
<body><p>You are signed in. <a href="{target}">Go on to Gridloom</a></p></body>
</html>
"""
_PAGE_HEADERS = {
    **NO_STORE,
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class NoSingleSignOn(NotFound, title="No single sign-on here"):
    """There is no such organisation, or it has no identity provider; which of the two is not said."""


class StartQuery(QueryParameters):
    organisation: Annotated[str, Meta(min_length=1, max_length=200)]
    redirect: Annotated[str, Meta(max_length=500)] = "/console/"
    code_challenge: str | None = None


class CallbackQuery(QueryParameters):
    """Parameters as OpenID Connect names them; providers send more of them than are used."""

    state: Annotated[str, Meta(max_length=200)] = ""
    code: Annotated[str, Meta(max_length=4000)] = ""
    error: Annotated[str, Meta(max_length=200)] = ""
    error_description: Annotated[str, Meta(max_length=2000)] = field(name="error_description", default="")
    error_uri: Annotated[str, Meta(max_length=2000)] = field(name="error_uri", default="")
    iss: Annotated[str, Meta(max_length=500)] = ""
    session_state: Annotated[str, Meta(max_length=500)] = field(name="session_state", default="")
    scope: Annotated[str, Meta(max_length=2000)] = ""


class SSOCode(RequestBody):
    code: Annotated[str, Meta(min_length=1, max_length=200)]
    verifier: Annotated[
        str,
        pattern_meta(
            r"^[A-Za-z0-9._~-]+(?!\n)$",
            "a PKCE verifier of letters, digits and ._~-, such as M25iVXpKU3puUjFaYWg3T1NDTDQtcW1ROUY5YXlwalNoc0g",
            min_length=43,
            max_length=128,
        ),
    ]


@operation(
    "GET",
    "/auth/public/sso/start",
    summary="Begin single sign-on",
    access=PUBLIC,
    status=302,
    problems=(NoSingleSignOn, ProviderUnreachable),
)
async def start_single_sign_on(request: Request, query: StartQuery) -> Response[None]:
    """Leads a browser to the organisation's identity provider, and back to `/auth/public/sso/callback`."""
    _check_redirect(query)
    provider = await _find_provider(request, query.organisation)
    metadata = await request.resources[ProviderClient].read_metadata(provider.issuer)
    state, browser, verifier, nonce = (secrets.token_urlsafe(32) for _ in range(4))
    attempt = SignOnAttempt(
        organisation_id=provider.organisation_id,
        issuer=provider.issuer,
        nonce=nonce,
        code_verifier=verifier,
        browser_hash=hash_of(browser),
        redirect=query.redirect,
        client_challenge=query.code_challenge,
    )
    await store.insert_attempt(request.pool, hash_of(state), attempt)
    question = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": _callback_address(request),
        "scope": "openid email profile",
        "state": state,
        "nonce": nonce,
        "code_challenge": _challenge_of(verifier),
        "code_challenge_method": "S256",
    }
    joint = "&" if "?" in metadata.authorization_endpoint else "?"
    headers = {
        **NO_STORE,
        "Location": f"{metadata.authorization_endpoint}{joint}{urlencode(question)}",
        "Set-Cookie": f"{_cookie_name(request)}={browser}; Max-Age=600; Path=/auth/public/sso; HttpOnly; SameSite=Lax"
        + ("; Secure" if _is_production(request) else ""),
    }
    return Response(None, status=302, headers=headers)


@operation(
    "GET",
    CALLBACK,
    summary="Come back from the identity provider",
    access=PUBLIC,
    produces=(HTML,),
    problems=(SingleSignOnRefused, NetworkNotAllowed, ProviderUnreachable),
)
async def finish_single_sign_on(request: Request, query: CallbackQuery) -> Content:
    """Signs in to the console, by a page that opens it, or hands a one-time code to the command line that waits."""
    attempt = await store.spend_attempt(request.pool, hash_of(query.state), hash_of(_read_cookie(request)))
    if attempt is None:
        raise SingleSignOnRefused("The sign-in was begun in another browser, used or too long ago. Begin again.")
    provider = await store.find_provider(request.pool, attempt.organisation_id)
    if provider is None or provider.issuer != attempt.issuer:
        raise await _record_refusal(request, attempt, "the identity provider was changed meanwhile")
    if query.error or not query.code:
        raise await _record_refusal(request, attempt, f"the provider answered {query.error or 'without a code'}")
    if query.iss and query.iss != provider.issuer:
        raise await _record_refusal(request, attempt, "the answer names another issuer")
    secret = request.resources[Sealing].identity_providers.open(provider.sealed_client_secret).decode()
    try:
        person = await request.resources[ProviderClient].exchange_code(
            provider, secret, attempt, query.code, _callback_address(request)
        )
        async with transaction(request.pool, longest_wait_s=5) as connection:
            account = await find_or_admit_member(connection, request.resources[Mailer], provider, person)
            _check_network(request, account)
            if attempt.client_challenge is not None:
                code = secrets.token_urlsafe(32)
                await store.insert_code(connection, hash_of(code), account.member.id, attempt.client_challenge)
                joint = "&" if "?" in attempt.redirect else "?"
                target, headers = f"{attempt.redirect}{joint}{urlencode({'code': code})}", {}
            else:
                pair = await _begin_session(request, connection, account)
                target, headers = attempt.redirect + SIGNED_IN_MARK, await begin_cookie(request, pair, connection)
    except (TokenRefused, PersonRefused) as error:
        raise await _record_refusal(request, attempt, str(error)) from None
    page = _PAGE.format(target=html.escape(target, quote=True))
    return Content(page.encode(), "text/html; charset=utf-8", {**_PAGE_HEADERS, **headers})


@operation(
    "POST",
    "/auth/public/sso/token",
    summary="Log in with a code of single sign-on",
    access=PUBLIC,
    problems=(SingleSignOnRefused, NetworkNotAllowed),
    transaction="manual",
    secret_response=True,
)
async def exchange_sso_code(request: Request, body: SSOCode) -> Response[views.Tokens]:
    """The tokens of a login for the one-time code that a command line got, and the verifier of its challenge."""
    member_id = await store.spend_code(request.pool, hash_of(body.code), _challenge_of(body.verifier))
    account = None if member_id is None else await members.read_account(request.pool, member_id)
    if account is None:
        raise SingleSignOnRefused("The code is unknown, used or expired, or its verifier is another.")
    _check_network(request, account)
    db = await request.begin()
    pair = await _begin_session(request, db, account)
    request.set_caller(pair.caller)
    return Response(views.tokens_of(pair), headers=NO_STORE)


def _check_redirect(query: StartQuery) -> None:
    if query.code_challenge is None:
        if _CONSOLE_PATH.fullmatch(query.redirect) is None or ".." in query.redirect or "//" in query.redirect:
            raise parameter_error("query", "redirect", "is not a page of the console")
        return
    if re.fullmatch(_CHALLENGE, query.code_challenge) is None:
        raise parameter_error("query", "code-challenge", "is not an S256 challenge")
    parts = urlsplit(query.redirect)
    if parts.scheme != "http" or parts.hostname != "127.0.0.1" or "@" in parts.netloc or parts.fragment:
        raise parameter_error("query", "redirect", "does not lead to http://127.0.0.1")


async def _find_provider(request: Request, organisation: str) -> IdentityProvider:
    try:
        organisation_id: UUID | None = UUID(organisation)
    except ValueError:
        organisation_id = await store.find_organisation_named(request.pool, organisation)
    provider = None if organisation_id is None else await store.find_provider(request.pool, organisation_id)
    if provider is None:
        raise NoSingleSignOn("There is no organisation of that name or id with an identity provider.")
    return provider


async def _begin_session(request: Request, db: Database, account: Account) -> TokenPair:
    key = await request.resources[SigningKeyCache].for_signing()
    pair = await begin_session(
        db,
        key,
        account,
        address=request.address,
        user_agent=user_agent_of(request),
        method=SignInMethod.SINGLE_SIGN_ON,
        is_password_checked=False,
    )
    if pair is None:
        raise SingleSignOnRefused("The member was removed a moment ago.")
    await store_known_network(db, account.member.id, network_of(request.address))
    return pair


def _check_network(request: Request, account: Account) -> None:
    if account.allowed_networks and not is_within(request.address, account.allowed_networks):
        raise NetworkNotAllowed(f"Signing in from {request.address} is not allowed.")


async def _record_refusal(request: Request, attempt: SignOnAttempt, reason: str) -> SingleSignOnRefused:
    """The reason goes into the organisation's audit log; the caller learns no more than that it did not succeed."""
    actor = Actor("ANONYMOUS", attempt.organisation_id or NIL_ID)
    await record_denied(request.pool, request, 403, actor=actor, details={"reason": reason[:500]})
    return SingleSignOnRefused("The identity provider's answer was not accepted.")


def _callback_address(request: Request) -> str:
    settings = request.resources[Settings]
    return (settings.base_url if _is_production(request) else settings.sandbox_base_url) + CALLBACK


def _is_production(request: Request) -> bool:
    return request.resources[Settings].environment == "production"


def _cookie_name(request: Request) -> str:
    return f"__Secure-{COOKIE}" if _is_production(request) else COOKIE


def _read_cookie(request: Request) -> str:
    try:
        found = SimpleCookie(request.header("cookie")).get(_cookie_name(request))
    except CookieError:
        found = None
    return found.value if found is not None else ""


def _challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
