"""From the console's cookie to the current token: signed here, kept here, and never sent out."""

from __future__ import annotations

import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import timedelta
from http.cookies import CookieError, SimpleCookie
from typing import Final

from gridloom.kernel.problem import Unauthenticated
from gridloom.platform.console import store
from gridloom.platform.database.pool import Pool
from gridloom.platform.http.operation import CONSOLE_COOKIE
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.tokens import ACCESS_LIFETIME, hash_of, sign_access_token

MAX_TOKENS: Final = 20_000
MAX_SESSION: Final = timedelta(hours=12)
MAX_IDLE: Final = timedelta(hours=2)
USE_STORED_EVERY_S: Final = 60.0
"""How exactly idleness is known: a write for each call would be more than it is worth."""
RENEWED_BEFORE_S: Final = 120.0
"""So long before its end a token is replaced: no call starts with one that ends under its hands."""
_COOKIE: Final = re.compile(r"gls_[A-Za-z0-9_-]{43}")


class NoConsoleSession(Unauthenticated, title="No session of the console"):
    """The request has no cookie of the console, or its session has ended. Sign in again."""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    good_until: float
    """By this process's own clock."""
    used_at: float
    """When its use was stored last, by the same clock."""


class ConsoleSessions:
    """One a worker. Two tabs, and two replicas, each sign what they need: there is no refresh token to spend twice."""

    def __init__(self, pool: Pool, keyring: SigningKeyCache, *, is_production: bool) -> None:
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
        raise NoConsoleSession("No console session. Sign in.")

    def set_cookie(self, cookie: str) -> str:
        value = f"{cookie}; Max-Age={int(MAX_SESSION.total_seconds())}"
        return f"{self.cookie_name}={value}; Path=/console; HttpOnly; SameSite=Strict{self._attributes}"

    def clear_cookie(self) -> str:
        return f"{self.cookie_name}=; Max-Age=0; Path=/console; HttpOnly; SameSite=Strict{self._attributes}"

    async def token_of(self, cookie: str, *, counts_as_use: bool = True) -> str:
        """The session's access token, signed anew when the last one nears its end.

        counts_as_use: whether the session is idle for two hours from now on, or from its last use.
        """
        cookie_hash = hash_of(cookie)
        cached = self._tokens.get(cookie_hash)
        asked_at = time.monotonic()
        is_good = cached is not None and cached.good_until > asked_at
        if cached is not None and is_good and (not counts_as_use or cached.used_at > asked_at - USE_STORED_EVERY_S):
            return cached.text
        session = await self._find_session(cookie_hash, counts_as_use=counts_as_use)
        if session is None:
            self.evict(cookie)
            raise NoConsoleSession("The session has ended. Sign in again.")
        used_at = asked_at if counts_as_use else (cached.used_at if cached is not None else float("-inf"))
        if cached is not None and is_good:
            self._tokens[cookie_hash] = replace(cached, used_at=used_at)
            return cached.text
        text = sign_access_token(
            await self._keyring.for_signing(),
            user_id=session.member_id,
            session_id=session.session_id,
            organisation_id=session.organisation_id,
            issued_at=session.now,
        )
        good_until = asked_at + ACCESS_LIFETIME.total_seconds() - RENEWED_BEFORE_S
        self._tokens[cookie_hash] = _Token(text, good_until, used_at)
        self._tokens.move_to_end(cookie_hash)
        while len(self._tokens) > MAX_TOKENS:
            self._tokens.popitem(last=False)
        return text

    async def _find_session(self, cookie_hash: bytes, *, counts_as_use: bool) -> store.ActiveSession | None:
        if counts_as_use:
            return await store.continue_session(self._pool, cookie_hash, idle=MAX_IDLE, longest=MAX_SESSION)
        return await store.find_session(self._pool, cookie_hash, longest=MAX_SESSION)

    def evict(self, cookie: str) -> None:
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
