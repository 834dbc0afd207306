"""Deletes expired rows of identity: past sessions, empty buckets, retired keys."""

from __future__ import annotations

import asyncio
import random
from typing import Final

import structlog

from gridloom.database.errors import DATABASE_ERRORS
from gridloom.database.pool import Pool
from gridloom.identity.store.retention import delete_expired

EVERY_S: Final = 3600.0

log = structlog.get_logger(__name__)


async def delete_expired_forever(pool: Pool) -> None:
    while True:
        # Replicas started together do not tidy together.
        await asyncio.sleep(EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311 — no secret depends on it
        try:
            await delete_expired(pool)
        except DATABASE_ERRORS as error:
            log.warning("identity.retention_failed", error=str(error))
