"""The signing keys as one worker holds them: shared by all replicas, replaced without a pause."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import Database, Pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity.store import signing_keys as store
from gridloom.platform.identity.tokens import SigningKey

TTL_S: Final = 60.0
# A forged token can name any key: it makes a worker look for it once a second, not once a request.
MIN_RELOAD_INTERVAL_S: Final = 1.0

JWKS_MAX_AGE: Final = timedelta(minutes=5)
"""How long others may keep the public keys; a new key waits as long before it signs."""


class SigningKeyCache:
    def __init__(self, pool: Pool, seal: Seal) -> None:
        self._pool = pool
        self._seal = seal
        self._keys: tuple[SigningKey, ...] = ()
        self._public: dict[str, tuple[Ed25519PublicKey, float]] = {}
        self._read_at = float("-inf")
        self._clock_s = 0.0
        """The database's clock when this process's own began."""

    async def for_signing(self) -> SigningKey:
        """The newest key whose time has come."""
        await self._refresh_keys(TTL_S)
        key = self._find_signing_key()
        if key is None:
            await make_first_key(self._pool, self._seal)
            await self._refresh_keys(0)
            key = self._find_signing_key()
        assert key is not None, "the database holds a key that signs"
        return key

    async def for_verifying(self, kid: str) -> Ed25519PublicKey | None:
        found = self._public.get(kid)
        if found is None:
            await self._refresh_keys(MIN_RELOAD_INTERVAL_S)
            found = self._public.get(kid)
        if found is None or found[1] <= self._database_now():
            return None
        return found[0]

    async def all(self) -> tuple[SigningKey, ...]:
        """Every key that may still verify, the newest first."""
        await self._refresh_keys(TTL_S)
        return self._keys

    def evict(self) -> None:
        """Read the keys anew before they are used next."""
        self._keys, self._public, self._read_at = (), {}, float("-inf")

    def _find_signing_key(self) -> SigningKey | None:
        now = self._database_now()
        oldest = self._keys[-1] if self._keys else None
        return next((key for key in self._keys if key.signs_from.timestamp() <= now), oldest)

    def _database_now(self) -> float:
        """The database's clock as it was heard last, for keys sign and verify by it; seconds since 1970."""
        return self._clock_s + time.monotonic()

    async def _refresh_keys(self, older_than_s: float) -> None:
        now = time.monotonic()
        if now - self._read_at < older_than_s:
            return
        keys = await store.list_signing_keys(self._pool, self._seal)
        self._clock_s = (await real_now(self._pool)).timestamp() - now
        self._keys = tuple(keys)
        self._public = {
            key.kid: (key.public, key.verifies_until.timestamp() if key.verifies_until else float("inf"))
            for key in keys
        }
        self._read_at = now


async def make_first_key(pool: Pool, seal: Seal) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await store.ensure_signing_key(connection, seal)


async def rotate_signing_key(db: Database, seal: Seal, *, distrust: bool = False) -> str:
    """Replace the signing key; answers the new key's identifier. Runs in the caller's transaction.

    Tokens already given out stay good until they expire. distrust: the private key has leaked; no token
    signed with it is accepted any more, and clients obtain a new one with their refresh token.
    """
    if distrust:
        await store.revoke_signing_keys(db)
    return await store.add_signing_key(db, seal, signs_in=timedelta(0) if distrust else JWKS_MAX_AGE)
