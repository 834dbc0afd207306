"""What identity keeps running in each worker: the hashing thread, the keys, and the ear for revocations."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import asyncpg

from gridloom.database.pool import Pool, server_settings
from gridloom.database.sealing import Sealing
from gridloom.edge.dispatch import Edge
from gridloom.identity.api_key_routes import read_key_use
from gridloom.identity.keyring import Keyring
from gridloom.identity.mail import Mailer
from gridloom.identity.signing_in.passwords import PasswordHasher
from gridloom.identity.signing_in.throttling import RecentRefusals
from gridloom.identity.upkeep import tidy_for_ever
from gridloom.identity.verifying.verification import Authenticator
from gridloom.kernel.shares import Share
from gridloom.settings import Settings
from gridloom.worker.health import Check, HealthChecks

LISTENER_NAME: Final = "gridloom revocations, reads sealed keys"
"""What a worker's listener calls itself in the database: releases before secrets were sealed said less."""


@contextlib.asynccontextmanager
async def reside(edge: Edge, settings: Settings) -> AsyncIterator[None]:
    async def connect() -> Any:
        return await asyncpg.connect(
            settings.database_url, timeout=5, server_settings=server_settings(application_name=LISTENER_NAME)
        )

    sealing = Sealing(settings.secrets_key, settings.former_secrets_keys)
    keyring, hasher = Keyring(edge.pool, sealing.signing_keys), PasswordHasher()
    mailer = Mailer(settings.smtp_url, settings.mail_from)
    authenticator = Authenticator(edge.pool, keyring, connect)
    for resource in (sealing, keyring, hasher, mailer, authenticator, RecentRefusals()):
        edge.resources.add(resource)
    edge.authenticator = authenticator
    edge.shares.add_meter(Share.API_KEYS, partial(read_key_use, settings.shares))

    async def check_revocations(pool: Pool) -> Check:
        if authenticator.hears_revocations:
            return Check(name="revocations", status="OK", detail="heard as they happen")
        return Check(name="revocations", status="DEGRADED", detail="not heard: every token is verified anew")

    edge.resources[HealthChecks].checks.append(check_revocations)
    authenticator.start()
    mailer.start()
    tidying = asyncio.create_task(tidy_for_ever(edge.pool), name="identity-upkeep")
    try:
        yield
    finally:
        tidying.cancel()
        await authenticator.stop()
        mailer.close()
        hasher.close()
