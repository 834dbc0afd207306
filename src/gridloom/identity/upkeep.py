"""What identity no longer needs is removed now and then: past sessions, empty buckets, retired keys."""

from __future__ import annotations

import asyncio
import random
from typing import Final

import structlog

from gridloom.database.away import DATABASE_FAULTS
from gridloom.database.pool import Pool
from gridloom.identity.store.login_throttle import forget_empty_buckets, forget_past_networks
from gridloom.identity.store.second_factors import delete_expired_challenges
from gridloom.identity.store.sessions import forget_past_sessions
from gridloom.identity.store.signing_keys import forget_past_signing_keys

EVERY_S: Final = 3600.0

log = structlog.get_logger(__name__)


async def tidy(pool: Pool) -> None:
    """Safe to run in any number of replicas at once."""
    await forget_past_sessions(pool)
    await delete_expired_challenges(pool)
    await forget_empty_buckets(pool)
    await forget_past_networks(pool)
    await forget_past_signing_keys(pool)


async def tidy_for_ever(pool: Pool) -> None:
    while True:
        # Replicas started together do not tidy together.
        await asyncio.sleep(EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311 — no secret depends on it
        try:
            await tidy(pool)
        except DATABASE_FAULTS as fault:
            log.warning("identity.tidy_failed", fault=str(fault))
