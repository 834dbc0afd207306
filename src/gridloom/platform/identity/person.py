"""Checks that a caller is a person, and one who has just signed in."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from gridloom.kernel.problem import Forbidden
from gridloom.platform.http import Caller, Request
from gridloom.platform.identity.store.sessions import has_signed_in_within

FRESH_FOR: Final = timedelta(minutes=10)


class PersonNeeded(Forbidden, title="Only a person can do this"):
    """An API key cannot do this: credentials are the business of a person who is logged in."""


class ReauthenticationRequired(Forbidden, title="Sign in again first"):
    """Credentials are changed only within ten minutes of signing in, so that a session left open is not enough.

    Sign in again and repeat the request with the new token.
    """


def require_user(request: Request) -> Caller:
    """The caller, if it is a person who has logged in."""
    if request.caller.kind != "USER":
        raise PersonNeeded("An API key cannot manage credentials or sessions.")
    return request.caller


async def fresh_person_of(request: Request) -> Caller:
    """The caller, if it is a person who has logged in within the last ten minutes."""
    caller = require_user(request)
    if not await has_signed_in_within(request.pool, caller.session_id, FRESH_FOR):
        raise ReauthenticationRequired("This needs a sign-in of the last ten minutes.")
    return caller
