"""Signing keys in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from gridloom.database.pool import Database
from gridloom.identity.store.announcements import SIGNING_KEYS, announce
from gridloom.identity.tokens import ACCESS_LIFETIME, SigningKey, new_seed, signing_key

_CLOCK_TOLERANCE: Final = timedelta(minutes=1)
_LOCK: Final = 7_108_003


async def list_signing_keys(db: Database) -> list[SigningKey]:
    """Every key that may still verify, the newest first."""
    rows = await db.fetch(
        """
        select kid, private_seed, signs_from, verifies_until from signing_key
        where verifies_until is null or verifies_until > clock_timestamp()
        order by signs_from desc, kid
        """
    )
    return [signing_key(row["kid"], row["private_seed"], row["signs_from"], row["verifies_until"]) for row in rows]


async def ensure_signing_key(db: Database) -> None:
    """Make the first key, in the caller's transaction; any number of replicas may ask at once."""
    kid, seed = new_seed()
    await lock_signing_keys(db)
    await db.execute(
        """
        insert into signing_key (kid, private_seed, signs_from)
        select $1, $2, clock_timestamp() where not exists (select from signing_key where verifies_until is null)
        """,
        kid,
        seed,
    )


async def lock_signing_keys(db: Database) -> None:
    """Let nobody else add or retire a key until this transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1)", _LOCK)


async def add_signing_key(db: Database, *, signs_in: timedelta) -> str:
    """Add the key that signs from then on; the present ones verify until the last token they sign has expired."""
    kid, seed = new_seed()
    await lock_signing_keys(db)
    await db.execute(
        """
        update signing_key set verifies_until = statement_timestamp() + $1::interval where verifies_until is null
        """,
        signs_in + ACCESS_LIFETIME + _CLOCK_TOLERANCE,
    )
    await db.execute(
        "insert into signing_key (kid, private_seed, signs_from) values ($1, $2, statement_timestamp() + $3::interval)",
        kid,
        seed,
        signs_in,
    )
    await announce(db, SIGNING_KEYS)
    return kid


async def distrust_signing_keys(db: Database) -> None:
    """Let no present key verify any more: every access token ends now."""
    await db.execute(
        """
        update signing_key set verifies_until = statement_timestamp()
        where verifies_until is null or verifies_until > statement_timestamp()
        """
    )
    await announce(db, SIGNING_KEYS)


async def forget_past_signing_keys(db: Database) -> None:
    await db.execute("delete from signing_key where verifies_until < statement_timestamp() - interval '1 day'")
