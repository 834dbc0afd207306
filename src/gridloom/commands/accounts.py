"""Commands on accounts and their secrets on the server's machine, whether the service runs or not."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.commands.operator import record_command, run_in_transaction
from gridloom.platform.database.pool import Connection
from gridloom.platform.database.sealing import Sealing, SecretUnreadable
from gridloom.platform.database.service_database import CommandError
from gridloom.platform.identity.login.usernames import canonical_username
from gridloom.platform.identity.store.identity_providers import reseal_providers
from gridloom.platform.identity.store.members import find_account
from gridloom.platform.identity.store.second_factors import delete_second_factor, reseal_second_factors
from gridloom.platform.identity.store.signing_keys import reseal_signing_keys
from gridloom.platform.webhooks.store import reseal_webhooks
from gridloom.settings import Settings


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
        try:
            outcome = Resealed(
                signing_keys=await reseal_signing_keys(connection, sealing.signing_keys),
                webhooks=await reseal_webhooks(connection, sealing.webhooks),
                second_factors=await reseal_second_factors(connection, sealing.second_factors),
                identity_providers=await reseal_providers(connection, sealing.identity_providers),
            )
        except SecretUnreadable as error:
            raise CommandError(f"{error} Add the former one to GRIDLOOM_FORMER_SECRETS_KEYS.") from error
        await record_command(connection, "rotateSecrets", "secrets", {"signingKeys": outcome.signing_keys})
        return outcome

    return run_in_transaction(settings, reseal)


def reset_second_factor(settings: Settings, username: str) -> str:
    """Remove a member's second factor; the user name as it is stored."""

    async def reset(connection: Connection) -> str:
        account = await find_account(connection, canonical_username(username))
        if account is None:
            raise CommandError(f"There is no user {username}.")
        if not await delete_second_factor(connection, account.member.id):
            raise CommandError(f"{account.member.username} has no second factor.")
        await record_command(
            connection,
            "resetSecondFactorFromCommandLine",
            f"/users/{account.member.id}",
            {"username": account.member.username},
            organisation_id=account.member.organisation_id,
        )
        return account.member.username

    return run_in_transaction(settings, reset)
