"""Signing in to the console, whose session it is, and signing out: `/console/session`."""

from __future__ import annotations

from gridloom.console import store
from gridloom.console.rules import ForeignRequest, Home, refuse_known_foreign
from gridloom.console.sessions import ConsoleSessions, NoConsoleSession, new_cookie
from gridloom.edge import PUBLIC, Answer, Call, View, operation
from gridloom.identity import views
from gridloom.identity.auth_routes import PUBLIC_BODY_LIMIT
from gridloom.identity.model import SessionEnd
from gridloom.identity.permissions import OrganisationKind
from gridloom.identity.signing_in.login import WrongCredentials, sign_in
from gridloom.identity.signing_in.passwords import LoginsBusy
from gridloom.identity.signing_in.throttling import LoginThrottled
from gridloom.identity.store import sessions as identity_sessions
from gridloom.identity.tokens import hash_of
from gridloom.identity.verifying.verification import Authenticator
from gridloom.identity.views import NOT_KEPT, Credentials
from gridloom.settings import Settings

TAG = "Console"


class ConsoleSession(View):
    """Who is signed in, and where."""

    user: views.User
    organisation_name: str
    organisation_kind: OrganisationKind
    environment: str


@operation(
    "POST",
    "/console/session",
    summary="Sign in to the console",
    status=204,
    tag=TAG,
    access=PUBLIC,
    cookie="set",
    rate_limit="public",
    body_limit_bytes=PUBLIC_BODY_LIMIT,
    problems=(WrongCredentials, ForeignRequest, LoginThrottled, LoginsBusy),
    defers_transaction=True,
    secret_answer=True,
)
async def begin_console_session(call: Call, body: Credentials) -> Answer[None]:
    """Sets a cookie that only the console's gateway takes. The tokens behind it stay in the service."""
    refuse_known_foreign(call.headers, call.resources[Home])
    pair = await sign_in(call, body.username, body.password)
    cookie = new_cookie()
    await store.insert_cookie(call.db, hash_of(cookie), pair.caller.session_id)
    call.signed_in_as(pair.caller)
    headers = {**NOT_KEPT, "Set-Cookie": call.resources[ConsoleSessions].set_cookie(cookie)}
    return Answer(None, headers=headers)


@operation(
    "GET",
    "/console/session",
    summary="Whose session of the console it is",
    tag=TAG,
    access=PUBLIC,
    cookie="needed",
    rate_limit="public",
    problems=(NoConsoleSession, ForeignRequest),
)
async def read_console_session(call: Call) -> Answer[ConsoleSession]:
    """The person behind the cookie, with what they may do at this moment."""
    refuse_known_foreign(call.headers, call.resources[Home])
    sessions = call.resources[ConsoleSessions]
    cookie = sessions.cookie_of(call.header("cookie"))
    caller = await call.resources[Authenticator].authenticate(await sessions.token_of(cookie))
    name, kind = await store.read_organisation(call.pool, caller.organisation_id)
    answer = ConsoleSession(
        user=views.user_of(caller),
        organisation_name=name,
        organisation_kind=OrganisationKind(kind),
        environment=call.resources[Settings].environment,
    )
    return Answer(answer, headers={**NOT_KEPT, "Set-Cookie": sessions.set_cookie(cookie)})


@operation(
    "DELETE",
    "/console/session",
    summary="Sign out of the console",
    status=204,
    tag=TAG,
    access=PUBLIC,
    cookie="needed",
    rate_limit="public",
    problems=(NoConsoleSession, ForeignRequest),
    defers_transaction=True,
)
async def end_console_session(call: Call) -> Answer[None]:
    """Ends this login: the cookie and the tokens behind it stop working everywhere within a second."""
    refuse_known_foreign(call.headers, call.resources[Home])
    sessions = call.resources[ConsoleSessions]
    cookie = sessions.cookie_of(call.header("cookie"))
    caller = await call.resources[Authenticator].authenticate(await sessions.token_of(cookie))
    call.signed_in_as(caller)
    db = await call.begin()
    await identity_sessions.end_session(db, caller.session_id, SessionEnd.LOGOUT)
    sessions.forget(cookie)
    return Answer(None, headers={**NOT_KEPT, "Set-Cookie": sessions.clear_cookie()})
