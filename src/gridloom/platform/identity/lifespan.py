"""Identity's lifespan in each worker: the hashing thread, the keys, and the listener for revocations."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import asyncpg

from gridloom.kernel.shares import Share
from gridloom.platform.database.pool import Pool, server_settings
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.health_checks import Check, HealthChecks
from gridloom.platform.http.application import Application
from gridloom.platform.identity.api_key_routes import read_key_use
from gridloom.platform.identity.invitation_routes import read_invitation_use
from gridloom.platform.identity.login.passwords import PasswordHasher
from gridloom.platform.identity.login.throttling import ThrottleCache
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.single_sign_on.provider_client import ProviderClient
from gridloom.platform.identity.token_verification.verification import TokenAuthenticator
from gridloom.platform.outbound.url_policy import UrlPolicy
from gridloom.settings import Settings

LISTENER_NAME: Final = "gridloom revocations, reads sealed keys"
"""The application name of a worker's listener in the database: releases before secrets were sealed said less."""


@contextlib.asynccontextmanager
async def lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    async def connect() -> Any:
        return await asyncpg.connect(
            settings.database_url, timeout=5, server_settings=server_settings(application_name=LISTENER_NAME)
        )

    sealing = Sealing(settings.secrets_key, settings.former_secrets_keys)
    keyring, hasher = SigningKeyCache(edge.pool, sealing.signing_keys), PasswordHasher()
    mailer = Mailer(settings.smtp_url, settings.mail_from)
    authenticator = TokenAuthenticator(edge.pool, keyring, connect)
    rules = UrlPolicy(settings.environment == "sandbox", listens_on_loopback=settings.listens_on_loopback)
    providers = ProviderClient(rules)
    for resource in (sealing, keyring, hasher, mailer, authenticator, rules, providers, ThrottleCache()):
        edge.resources.add(resource)
    edge.authenticator = authenticator
    edge.shares.add_meter(Share.INVITATIONS, partial(read_invitation_use, settings.shares))
    edge.shares.add_meter(Share.API_KEYS, partial(read_key_use, settings.shares))

    async def check_revocations(pool: Pool) -> Check:
        if authenticator.is_listening:
            return Check(name="revocations", status="OK", detail="heard as they happen")
        return Check(
            name="revocations",
            status="DEGRADED",
            detail="Revocation listener disconnected; tokens are verified without the cache.",
        )

    edge.resources[HealthChecks].checks.append(check_revocations)
    authenticator.start()
    mailer.start()
    try:
        yield
    finally:
        await authenticator.stop()
        await providers.close()
        mailer.close()
        hasher.close()
