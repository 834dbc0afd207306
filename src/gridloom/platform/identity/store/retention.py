"""Deleting expired rows of identity in the database."""

from __future__ import annotations

from typing import Final

from gridloom.platform.database.pool import Database
from gridloom.platform.identity.login.throttling import KNOWN_NETWORK_RETENTION
from gridloom.platform.identity.store.organisations import lock_operator

# Spent refresh tokens are kept with their session, until none of its tokens can be used any more, to detect reuse.
_EXPIRED: Final = (
    "delete from session where expires_at < statement_timestamp() - interval '1 day'",
    "delete from sign_in_challenge where expires_at < statement_timestamp()",
    "delete from single_sign_on_attempt where expires_at < statement_timestamp()",
    "delete from single_sign_on_code where expires_at < statement_timestamp()",
    "delete from login_throttle where empty_at < statement_timestamp()",
    "delete from signing_key where verifies_until < statement_timestamp() - interval '1 day'",
)
_EXPIRED_NETWORKS: Final = "delete from sign_in_network where last_at < statement_timestamp() - $1::interval"


async def delete_expired(db: Database) -> None:
    """All that has expired, whichever organisation it belongs to; under the operator's lock (see
    `lock_organisation`)."""
    await lock_operator(db)
    for statement in _EXPIRED:
        await db.execute(statement)
    await db.execute(_EXPIRED_NETWORKS, KNOWN_NETWORK_RETENTION)
