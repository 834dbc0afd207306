"""The first start: an empty platform gets its operator, that operator its ADMIN, and the service its signing key."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Final

from gridloom.kernel.ids import OrganisationID, UserID, uuid7
from gridloom.platform.database.pool import Pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity.login.password_rules import find_weakness, normalised
from gridloom.platform.identity.login.passwords import hash_blocking
from gridloom.platform.identity.login.usernames import canonical_username
from gridloom.platform.identity.model import new_organisation
from gridloom.platform.identity.permissions import OrganisationKind, Role
from gridloom.platform.identity.store.members import insert_member
from gridloom.platform.identity.store.organisations import insert_organisation, is_empty_platform, lock_platform
from gridloom.platform.identity.store.signing_keys import ensure_signing_key

OPERATOR_NAME: Final = "Operator"
OPERATOR_USERNAME: Final = "operator"


NO_SECRETS_KEY: Final = (
    "Set GRIDLOOM_SECRETS_KEY to a long random text, the same for all replicas, and keep it apart from backups: it "
    "seals the secrets in the database. For example: openssl rand -base64 32."
)


class BootstrapError(Exception):
    """The platform is empty, and the credentials of its first ADMIN are missing or too weak for production."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The created member; the password is shown only to the person who starts the service."""

    organisation_id: OrganisationID
    user_id: UserID
    username: str
    password: str = field(repr=False)
    is_made_up: bool
    """Whether the password was made here and has to be printed, or was given and must not be."""


async def bootstrap_operator(
    pool: Pool,
    username: str | None,
    password: str | None,
    *,
    in_production: bool = False,
    seal: Seal | None = None,
) -> Bootstrap | None:
    """Create the operator on an empty platform; None when there is one. Any number of replicas may start at once.

    In a sandbox what is not given is made up. Production takes only credentials that were given, and only good ones,
    and begins only with a key that seals secrets at rest.
    """
    seal = seal or Seal(None, "signing-key")
    async with pool.acquire() as connection, connection.transaction():
        await lock_platform(connection)
        is_empty = await is_empty_platform(connection)
        if is_empty and in_production and not seal.has_key:
            raise BootstrapError(NO_SECRETS_KEY)
        if not is_empty:
            await ensure_signing_key(connection, seal)
            return None
        chosen = canonical_username(username or OPERATOR_USERNAME)
        if in_production:
            validate_credentials(username, password)
        secret = password or secrets.token_urlsafe(18)
        organisation = new_organisation(OPERATOR_NAME, OrganisationKind.OPERATOR)
        await insert_organisation(connection, organisation)
        member = await insert_member(
            connection,
            member_id=UserID(uuid7()),
            organisation_id=organisation.id,
            username=chosen,
            display_name=chosen,
            role=Role.ADMIN,
            password_hash=hash_blocking(secret),
        )
        assert member is not None, "the platform was empty"
        await ensure_signing_key(connection, seal)
        return Bootstrap(organisation.id, member.id, chosen, secret, is_made_up=not password)


def validate_credentials(username: str | None, password: str | None) -> None:
    """Credentials with which a production may begin, or a BootstrapError."""
    if not username or not password:
        raise BootstrapError(
            "The database is empty. Set GRIDLOOM_BOOTSTRAP_USERNAME and GRIDLOOM_BOOTSTRAP_PASSWORD for the operator's "
            "first ADMIN, or start the sandbox with GRIDLOOM_ENVIRONMENT=sandbox."
        )
    error = find_weakness(normalised(password), username)
    if error is not None:
        raise BootstrapError(f"GRIDLOOM_BOOTSTRAP_PASSWORD {error}.")
