"""Signing keys in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from gridloom.platform.database.pool import Database
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity.store.revocations import SIGNING_KEYS, notify_revoked
from gridloom.platform.identity.tokens import ACCESS_LIFETIME, SigningKey, new_seed, signing_key

_CLOCK_TOLERANCE: Final = timedelta(minutes=1)
_LOCK: Final = 7_108_003


SEED_BYTES: Final = 32


async def list_signing_keys(db: Database, seal: Seal) -> list[SigningKey]:
    """Every key that may still verify, the newest first."""
    rows = await db.fetch(
        """
        select kid, private_seed, signs_from, verifies_until from signing_key
        where verifies_until is null or verifies_until > clock_timestamp()
        order by signs_from desc, kid
        """
    )
    return [
        signing_key(row["kid"], open_seed(row["private_seed"], seal), row["signs_from"], row["verifies_until"])
        for row in rows
    ]


def open_seed(stored: bytes, seal: Seal) -> bytes:
    """A seed in either form: as it is, or sealed."""
    return stored if len(stored) == SEED_BYTES else seal.open(stored)


async def ensure_signing_key(db: Database, seal: Seal) -> None:
    """Make the first key, in the caller's transaction; any number of replicas may ask at once."""
    kid, seed = new_seed()
    await lock_signing_keys(db)
    await db.execute(
        """
        insert into signing_key (kid, private_seed, signs_from)
        select $1, $2, clock_timestamp() where not exists (select from signing_key where verifies_until is null)
        """,
        kid,
        await _close_seed(db, seed, seal),
    )


async def _close_seed(db: Database, seed: bytes, seal: Seal) -> bytes:
    """Sealed where there is a key for it and no replica of a release that reads open seeds alone can be running: there
    is no signing key yet, or one was sealed before."""
    if not seal.has_key:
        return seed
    row = await db.fetchrow(
        "select count(*) as keys, bool_or(length(private_seed) <> 32) as is_any_sealed from signing_key"
    )
    assert row is not None
    return seal.close(seed) if row["keys"] == 0 or row["is_any_sealed"] else seed


async def reseal_signing_keys(db: Database, seal: Seal) -> int:
    """Seal every key with the present secrets key; how many were not."""
    await lock_signing_keys(db)
    stale = [
        row
        for row in await db.fetch("select kid, private_seed from signing_key")
        if not seal.is_current(row["private_seed"])
    ]
    for row in stale:
        sealed = seal.close(open_seed(row["private_seed"], seal))
        await db.execute("update signing_key set private_seed = $2 where kid = $1", row["kid"], sealed)
    await notify_revoked(db, SIGNING_KEYS)
    return len(stale)


async def lock_signing_keys(db: Database) -> None:
    """Let no other transaction add or retire a key until this transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1)", _LOCK)


async def add_signing_key(db: Database, seal: Seal, *, signs_in: timedelta) -> str:
    """Add the key that signs from then on; the present ones verify until the last token they sign has expired."""
    kid, seed = new_seed()
    await lock_signing_keys(db)
    stored = await _close_seed(db, seed, seal)
    await db.execute(
        """
        update signing_key set verifies_until = statement_timestamp() + $1::interval where verifies_until is null
        """,
        signs_in + ACCESS_LIFETIME + _CLOCK_TOLERANCE,
    )
    await db.execute(
        "insert into signing_key (kid, private_seed, signs_from) values ($1, $2, statement_timestamp() + $3::interval)",
        kid,
        stored,
        signs_in,
    )
    await notify_revoked(db, SIGNING_KEYS)
    return kid


async def revoke_signing_keys(db: Database) -> None:
    """Let no present key verify any more: every access token ends now."""
    await db.execute(
        """
        update signing_key set verifies_until = statement_timestamp()
        where verifies_until is null or verifies_until > statement_timestamp()
        """
    )
    await notify_revoked(db, SIGNING_KEYS)
