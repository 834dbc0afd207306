"""What identity no longer needs is removed now and then: past sessions, empty buckets, retired keys."""

from __future__ import annotations

import asyncio
import random
from typing import Final

import structlog

from gridloom.database.errors import DATABASE_ERRORS
from gridloom.database.pool import Pool
from gridloom.identity.store.identity_providers import delete_expired_attempts
from gridloom.identity.store.login_throttle import delete_empty_buckets, delete_expired_networks
from gridloom.identity.store.second_factors import delete_expired_challenges
from gridloom.identity.store.sessions import delete_expired_sessions
from gridloom.identity.store.signing_keys import delete_expired_signing_keys

EVERY_S: Final = 3600.0

log = structlog.get_logger(__name__)


async def delete_expired(pool: Pool) -> None:
    """Safe to run in any number of replicas at once."""
    await delete_expired_sessions(pool)
    await delete_expired_challenges(pool)
    await delete_expired_attempts(pool)
    await delete_empty_buckets(pool)
    await delete_expired_networks(pool)
    await delete_expired_signing_keys(pool)


async def delete_expired_forever(pool: Pool) -> None:
    while True:
        # Replicas started together do not tidy together.
        await asyncio.sleep(EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311 — no secret depends on it
        try:
            await delete_expired(pool)
        except DATABASE_ERRORS as error:
            log.warning("identity.retention_failed", error=str(error))
