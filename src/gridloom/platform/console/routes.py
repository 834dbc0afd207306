"""Signing in to the console, whose session it is, and signing out: `/console/session`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gridloom.platform.console import store
from gridloom.platform.console.rules import AllowedOrigins, ForeignRequest, reject_cross_origin
from gridloom.platform.console.sessions import MAX_IDLE, ConsoleSessions, NoConsoleSession, new_cookie
from gridloom.platform.database.pool import Database
from gridloom.platform.http import (
    CONSOLE_SESSION,
    CONSOLE_SIGN_IN,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    operation,
)
from gridloom.platform.http.admit import NetworkNotAllowed
from gridloom.platform.identity import views
from gridloom.platform.identity.login.login import SingleSignOnRequired, WrongCredentials, sign_in
from gridloom.platform.identity.login.password_rules import LONGEST
from gridloom.platform.identity.login.passwords import LoginsBusy
from gridloom.platform.identity.login.sessions import TokenPair
from gridloom.platform.identity.login.throttling import LoginThrottled
from gridloom.platform.identity.model import SessionEnd
from gridloom.platform.identity.permissions import OrganisationKind
from gridloom.platform.identity.second_factor.challenges import SecondFactorRequired
from gridloom.platform.identity.second_factor.sign_in import ChallengeExpired, complete_sign_in
from gridloom.platform.identity.second_factor.verification import WrongSecondFactor
from gridloom.platform.identity.store import sessions as identity_sessions
from gridloom.platform.identity.token_verification.verification import TokenAuthenticator
from gridloom.platform.identity.tokens import hash_of
from gridloom.platform.identity.views import NO_STORE
from gridloom.settings import Settings

TAG = "Console"


class ConsoleCredentials(RequestBody):
    """`username` and `password`, or `challenge` and `code`."""

    username: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    password: Annotated[str, Meta(min_length=1, max_length=LONGEST)] | None = None
    challenge: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    code: Annotated[str, Meta(min_length=1, max_length=40)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        by_password = [name for name in ("username", "password") if getattr(self, name) is not None]
        by_code = [name for name in ("challenge", "code") if getattr(self, name) is not None]
        if by_password and by_code:
            raise ValueError(f"is not sent together with {by_password[0]} - at field `{by_code[0]}`")
        wanted = ("challenge", "code") if by_code else ("username", "password")
        for name in wanted:
            if getattr(self, name) is None:
                raise ValueError(f"is missing - at field `{name}`")


class ConsoleSession(ResponseBody):
    """The signed-in user, its organisation and the environment."""

    user: views.User
    organisation_name: str
    organisation_kind: OrganisationKind
    environment: str


@operation(
    "POST",
    "/console/session",
    summary="Sign in to the console",
    status=204,
    access=CONSOLE_SIGN_IN,
    problems=(
        WrongCredentials,
        SecondFactorRequired,
        ChallengeExpired,
        WrongSecondFactor,
        ForeignRequest,
        NetworkNotAllowed,
        SingleSignOnRequired,
        LoginThrottled,
        LoginsBusy,
    ),
    transaction="manual",
    secret_response=True,
)
async def begin_console_session(request: Request, body: ConsoleCredentials) -> Response[None]:
    """Sets a cookie that only the console's gateway takes. The tokens behind it stay in the service.

    Takes a user name and a password or, where these were answered with a challenge, the challenge and a code. The
    session ends after two idle hours, and after twelve hours in any case.
    """
    reject_cross_origin(request.headers, request.resources[AllowedOrigins])
    if body.challenge is not None and body.code is not None:
        pair = await complete_sign_in(request, body.challenge, body.code)
    else:
        assert body.username is not None
        assert body.password is not None
        pair = await sign_in(request, body.username, body.password)
    return Response(None, headers=await begin_cookie(request, pair, request.db))


async def begin_cookie(request: Request, pair: TokenPair, db: Database) -> dict[str, str]:
    """The headers that give a browser the session that has just begun."""
    cookie = new_cookie()
    await store.insert_cookie(db, hash_of(cookie), pair.caller.session_id)
    await store.begin_console_time(db, pair.caller.session_id, MAX_IDLE)
    request.set_caller(pair.caller)
    return {**NO_STORE, "Set-Cookie": request.resources[ConsoleSessions].set_cookie(cookie)}


@operation(
    "GET",
    "/console/session",
    summary="Read the session of the console",
    access=CONSOLE_SESSION,
    problems=(NoConsoleSession, ForeignRequest),
)
async def read_console_session(request: Request) -> Response[ConsoleSession]:
    """The person behind the cookie, with what they may do now."""
    reject_cross_origin(request.headers, request.resources[AllowedOrigins])
    sessions = request.resources[ConsoleSessions]
    cookie = sessions.cookie_of(request.header("cookie"))
    # Who has just changed something about themselves sees it, also at a worker that has not heard of it yet.
    caller = await request.resources[TokenAuthenticator].authenticate_anew(await sessions.token_of(cookie))
    organisation = await store.read_organisation(request.pool, caller.organisation_id)
    if organisation is None:
        raise NoConsoleSession("The session has ended. Sign in again.")
    name, kind = organisation
    answer = ConsoleSession(
        user=views.user_of(caller),
        organisation_name=name,
        organisation_kind=OrganisationKind(kind),
        environment=request.resources[Settings].environment,
    )
    return Response(answer, headers={**NO_STORE, "Set-Cookie": sessions.set_cookie(cookie)})


@operation(
    "DELETE",
    "/console/session",
    summary="Sign out of the console",
    status=204,
    access=CONSOLE_SESSION,
    problems=(NoConsoleSession, ForeignRequest),
    transaction="manual",
)
async def end_console_session(request: Request) -> Response[None]:
    """Ends this login: the cookie and the tokens behind it stop working everywhere within a second."""
    reject_cross_origin(request.headers, request.resources[AllowedOrigins])
    sessions = request.resources[ConsoleSessions]
    cookie = sessions.cookie_of(request.header("cookie"))
    caller = await request.resources[TokenAuthenticator].authenticate(await sessions.token_of(cookie))
    request.set_caller(caller)
    db = await request.begin()
    await identity_sessions.end_session(db, caller.session_id, SessionEnd.LOGOUT)
    sessions.evict(cookie)
    return Response(None, headers={**NO_STORE, "Set-Cookie": sessions.clear_cookie()})
