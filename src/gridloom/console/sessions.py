"""From the console's cookie to the token of this moment: signed here, kept here, and never sent out."""

from __future__ import annotations

import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

from gridloom.console import store
from gridloom.database.pool import Pool
from gridloom.edge.operation import CONSOLE_COOKIE
from gridloom.identity.keyring import Keyring
from gridloom.identity.tokens import ACCESS_LIFETIME, REFRESH_LIFETIME, hash_of, sign_access_token
from gridloom.kernel.problem import Unauthenticated

MOST_TOKENS: Final = 20_000
RENEWED_BEFORE_S: Final = 120.0
"""So long before its end a token is replaced: no call starts with one that ends under its hands."""
_COOKIE: Final = re.compile(r"gls_[A-Za-z0-9_-]{43}")


class NoConsoleSession(Unauthenticated):
    """The request has no cookie of the console, or its session has ended. Sign in again."""

    status = 401
    title = "No session of the console"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    good_until: float
    """By this process's own clock."""


class ConsoleSessions:
    """One a worker. Two tabs, and two replicas, each sign what they need: there is no refresh token to spend twice."""

    def __init__(self, pool: Pool, keyring: Keyring, *, is_production: bool) -> None:
        self._pool = pool
        self._keyring = keyring
        self._tokens: OrderedDict[bytes, _Token] = OrderedDict()
        self.cookie_name = f"__Secure-{CONSOLE_COOKIE}" if is_production else CONSOLE_COOKIE
        self._attributes = "; Secure" if is_production else ""

    def cookie_of(self, header: str | None) -> str:
        """The session's cookie from a request's Cookie header."""
        for text in _read_values(header, self.cookie_name):
            if _COOKIE.fullmatch(text):
                return text
        raise NoConsoleSession("Nobody is signed in to the console here.")

    def set_cookie(self, cookie: str) -> str:
        days = int(REFRESH_LIFETIME.total_seconds())
        return (
            f"{self.cookie_name}={cookie}; Max-Age={days}; Path=/console; HttpOnly; SameSite=Strict{self._attributes}"
        )

    def clear_cookie(self) -> str:
        return f"{self.cookie_name}=; Max-Age=0; Path=/console; HttpOnly; SameSite=Strict{self._attributes}"

    async def token_of(self, cookie: str) -> str:
        """The session's access token, signed anew when the last one nears its end."""
        cookie_hash = hash_of(cookie)
        kept = self._tokens.get(cookie_hash)
        if kept is not None and kept.good_until > time.monotonic():
            return kept.text
        asked_at = time.monotonic()
        session = await store.continue_session(self._pool, cookie_hash, REFRESH_LIFETIME)
        if session is None:
            self.forget(cookie)
            raise NoConsoleSession("The session has ended. Sign in again.")
        text = sign_access_token(
            await self._keyring.for_signing(),
            user_id=session.member_id,
            session_id=session.session_id,
            organisation_id=session.organisation_id,
            issued_at=session.now,
        )
        good_until = asked_at + ACCESS_LIFETIME.total_seconds() - RENEWED_BEFORE_S
        self._tokens[cookie_hash] = _Token(text, good_until)
        self._tokens.move_to_end(cookie_hash)
        while len(self._tokens) > MOST_TOKENS:
            self._tokens.popitem(last=False)
        return text

    def forget(self, cookie: str) -> None:
        self._tokens.pop(hash_of(cookie), None)


def new_cookie() -> str:
    return "gls_" + secrets.token_urlsafe(32)


def _read_values(header: str | None, name: str) -> list[str]:
    if not header or len(header) > 8192:
        return []
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return []
    return [found.value] if found is not None else []
