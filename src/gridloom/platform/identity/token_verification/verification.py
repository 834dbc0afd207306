"""From a Bearer token to a caller: a lookup when it was verified before, else a signature and one query."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

from gridloom.kernel.problem import Unauthenticated
from gridloom.platform.database.pool import Pool
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.store.api_keys import holder_of_key
from gridloom.platform.identity.store.revocations import (
    SIGNING_KEYS,
    api_key_subject,
    member_subject,
    organisation_subject,
    session_subject,
)
from gridloom.platform.identity.store.sessions import find_live_session, store_last_use
from gridloom.platform.identity.token_verification.revocations import RevocationListener
from gridloom.platform.identity.tokens import (
    API_KEY_PREFIX,
    MAX_TOKEN,
    TokenInvalid,
    hash_of,
    is_api_key,
    kid_of,
    read_access_token,
)

_REFUSAL: Final = "The token is malformed, expired or revoked. Obtain a new one."
MAX_CALLERS: Final = 20_000
MAX_TTL_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class CachedCaller:
    caller: Caller
    expires_at: float
    """By this process's monotonic clock."""
    subjects: frozenset[Hashable]
    """The session or key, the member and the organisation on which this rests."""


class CallerCache:
    """Callers already verified, by their exact token: bounded, expiring, and evicted when their rights end."""

    def __init__(self, most: int = MAX_CALLERS) -> None:
        self._most = most
        self._by_token: OrderedDict[str, CachedCaller] = OrderedDict()
        self._tokens_by_subject: dict[Hashable, set[str]] = {}
        self.version = 0
        """Goes up with every eviction: what was loaded before one may not be kept after it."""

    def __len__(self) -> int:
        return len(self._by_token)

    def get(self, token: str, now: float) -> Caller | None:
        found = self._by_token.get(token)
        if found is None:
            return None
        if found.expires_at <= now:
            self._evict_token(token)
            return None
        return found.caller

    def put(self, token: str, verified: CachedCaller, *, loaded_at_version: int) -> None:
        """Keep a caller, unless something was evicted since its rows were asked for."""
        if loaded_at_version != self.version:
            return
        self._evict_token(token)
        self._by_token[token] = verified
        for subject in verified.subjects:
            self._tokens_by_subject.setdefault(subject, set()).add(token)
        while len(self._by_token) > self._most:
            self._evict_token(next(iter(self._by_token)))

    def evict(self, subject: Hashable) -> None:
        self.version += 1
        for token in tuple(self._tokens_by_subject.get(subject, ())):
            self._evict_token(token)

    def clear(self) -> None:
        self.version += 1
        self._by_token.clear()
        self._tokens_by_subject.clear()

    def _evict_token(self, token: str) -> None:
        verified = self._by_token.pop(token, None)
        if verified is None:
            return
        for subject in verified.subjects:
            tokens = self._tokens_by_subject[subject]
            tokens.discard(token)
            if not tokens:
                del self._tokens_by_subject[subject]


class TokenAuthenticator:
    """One per worker. Trusts its cache only while it certainly receives every revocation."""

    def __init__(self, pool: Pool, keyring: SigningKeyCache, connect: Callable[[], Awaitable[Any]]) -> None:
        self._pool = pool
        self._keyring = keyring
        self._cache = CallerCache()
        self._listener = RevocationListener(connect, heard=self._revoke_subject, gap=self._invalidate_all)

    def start(self) -> None:
        self._listener.start()

    async def stop(self) -> None:
        await self._listener.stop()

    @property
    def is_listening(self) -> bool:
        return self._listener.is_current

    def known(self, token: str) -> Caller | None:
        """The caller of a token that was verified before and still holds; never waits."""
        now = time.monotonic()
        return self._cache.get(token, now) if now < self._listener.trusted_until else None

    async def authenticate(self, token: str) -> Caller:
        """The caller of a token, verified before or now; or a refusal."""
        return self.known(token) or await self.authenticate_anew(token)

    async def authenticate_anew(self, token: str) -> Caller:
        """Verify a token from the ground up, or refuse it: the caller is as the last commit left it."""
        if len(token) > MAX_TOKEN or not token.isascii():
            raise Unauthenticated(_REFUSAL)
        version = self._cache.version
        verified = await (self._verify_key(token) if token.startswith(API_KEY_PREFIX) else self._verify_jwt(token))
        if verified is None:
            raise Unauthenticated(_REFUSAL)
        # Setting up a second factor takes effect with the next request, so its absence is never cached.
        if self._listener.is_current and not verified.caller.must_enrol:
            self._cache.put(token, verified, loaded_at_version=version)
        return verified.caller

    async def _verify_jwt(self, token: str) -> CachedCaller | None:
        try:
            key = await self._keyring.for_verifying(kid_of(token))
            if key is None:
                return None
            claims = read_access_token(token, key)
        except TokenInvalid:
            return None
        asked_at = time.monotonic()
        session = await find_live_session(self._pool, claims.session_id, claims.user_id)
        if session is None or not claims.holds_at(session.now):
            return None
        subjects = {
            session_subject(claims.session_id),
            member_subject(claims.user_id),
            organisation_subject(session.caller.organisation_id),
        }
        if session.is_use_outdated:
            await store_last_use(self._pool, claims.session_id)
        lasts_s = min(claims.expires_at - session.now, session.lasts_s, MAX_TTL_S)
        return CachedCaller(session.caller, asked_at + lasts_s, frozenset(subjects))

    async def _verify_key(self, token: str) -> CachedCaller | None:
        if not is_api_key(token):
            return None
        asked_at = time.monotonic()
        holder = await holder_of_key(self._pool, hash_of(token))
        if holder is None:
            return None
        subjects = {
            api_key_subject(holder.caller.id),
            member_subject(holder.member_id),
            organisation_subject(holder.caller.organisation_id),
        }
        lasts_s = min(holder.lasts_s, MAX_TTL_S)
        return CachedCaller(holder.caller, asked_at + lasts_s, frozenset(subjects))

    def _revoke_subject(self, subject: str) -> None:
        if subject == SIGNING_KEYS:
            self._invalidate_all()
        else:
            self._cache.evict(subject)

    def _invalidate_all(self) -> None:
        self._keyring.evict()
        self._cache.clear()
