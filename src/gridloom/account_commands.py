"""What an operator does to accounts and their secrets from the server's machine, whether the service runs or not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from gridloom.audit.model import Actor, NewAuditRecord
from gridloom.audit.store import insert_entry
from gridloom.database.pool import Connection, create_pool
from gridloom.database.sealing import Sealing, SecretUnreadable
from gridloom.identity.login.usernames import canonical_username
from gridloom.identity.store.identity_providers import reseal_providers
from gridloom.identity.store.members import find_account
from gridloom.identity.store.second_factors import delete_second_factor, reseal_second_factors
from gridloom.identity.store.signing_keys import count_older_replicas, reseal_signing_keys
from gridloom.operator_commands import CommandError, require_initialised_dsn
from gridloom.settings import Settings
from gridloom.webhooks.store import reseal_webhooks

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resealed:
    """How many secrets of each kind were sealed anew."""

    signing_keys: int
    webhooks: int
    second_factors: int
    identity_providers: int


def rotate_secrets(settings: Settings) -> Resealed:
    """Seal every secret in the database with the present GRIDLOOM_SECRETS_KEY, in one transaction."""
    if settings.secrets_key is None:
        raise CommandError("Set GRIDLOOM_SECRETS_KEY, the same as for all replicas, and run this again.")
    sealing = Sealing(settings.secrets_key, settings.former_secrets_keys)

    async def reseal(connection: Connection) -> Resealed:
        older = await count_older_replicas(connection)
        if older:
            raise CommandError(
                f"{older} workers of an earlier release are connected, which cannot read sealed keys. "
                "Replace them first."
            )
        try:
            outcome = Resealed(
                signing_keys=await reseal_signing_keys(connection, sealing.signing_keys),
                webhooks=await reseal_webhooks(connection, sealing.webhooks),
                second_factors=await reseal_second_factors(connection, sealing.second_factors),
                identity_providers=await reseal_providers(connection, sealing.identity_providers),
            )
        except SecretUnreadable as error:
            raise CommandError(f"{error} Add the former one to GRIDLOOM_FORMER_SECRETS_KEYS.") from error
        await _record_change(connection, "rotateSecrets", "secrets", {"signingKeys": outcome.signing_keys})
        return outcome

    return _run_in_transaction(settings, reseal)


def reset_second_factor(settings: Settings, username: str) -> str:
    """Remove a member's second factor; the user name as it is stored."""

    async def reset(connection: Connection) -> str:
        account = await find_account(connection, canonical_username(username))
        if account is None:
            raise CommandError(f"There is no user {username}.")
        if not await delete_second_factor(connection, account.member.id):
            raise CommandError(f"{account.member.username} has no second factor.")
        details: dict[str, object] = {"username": account.member.username}
        await _record_change(connection, "resetSecondFactorFromCommandLine", f"/users/{account.member.id}", details)
        return account.member.username

    return _run_in_transaction(settings, reset)


async def _record_change(connection: Connection, action: str, resource: str, details: dict[str, object]) -> None:
    entry = NewAuditRecord(
        actor=Actor("SYSTEM", name="command line"),
        action=action,
        method="POST",
        resource=resource,
        status=200,
        subject_organisation_id=None,
        address=None,
        request_id=None,
        details=details,
    )
    await insert_entry(connection, entry)


def _run_in_transaction(settings: Settings, work: Callable[[Connection], Awaitable[T]]) -> T:
    async def run(dsn: str) -> T:
        async with await create_pool(dsn, size=1) as pool, pool.acquire() as connection, connection.transaction():
            return await work(connection)

    with require_initialised_dsn(settings) as dsn:
        return asyncio.run(run(dsn))
