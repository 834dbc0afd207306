"""Identity providers, bound subjects and sign-ins under way, in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.ids import UserID
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.sealing import Seal, reseal_rows
from gridloom.platform.database.statement import NamedStatement
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.single_sign_on.model import IdentityProvider, SignOnAttempt

ATTEMPT_LIFETIME: Final = timedelta(minutes=10)
CODE_LIFETIME: Final = timedelta(minutes=1)


async def find_provider(db: Database, organisation_id: UUID) -> IdentityProvider | None:
    row = await db.fetchrow(
        """
        select organisation_id, issuer, client_id, sealed_client_secret, domains, required, role_claim, default_role,
               version, created_at
        from identity_provider where organisation_id = $1
        """,
        organisation_id,
    )
    if row is None:
        return None
    default_role = None if row["default_role"] is None else Role(row["default_role"])
    return read_row(IdentityProvider, row, domains=tuple(row["domains"]), default_role=default_role)


_PUT_PROVIDER: Final = NamedStatement("""
insert into identity_provider as p (organisation_id, issuer, client_id, sealed_client_secret, domains, required,
                                    role_claim, default_role, updated_at)
values (:organisation_id, :issuer, :client_id, :sealed_client_secret, :domains, :required, :role_claim, :default_role,
        clock_timestamp())
on conflict (organisation_id) do update
  set issuer = excluded.issuer, client_id = excluded.client_id,
      sealed_client_secret = excluded.sealed_client_secret, domains = excluded.domains,
      required = excluded.required, role_claim = excluded.role_claim, default_role = excluded.default_role,
      version = p.version + 1, updated_at = excluded.updated_at
""")


async def put_provider(db: Database, provider: IdentityProvider) -> IdentityProvider:
    await _PUT_PROVIDER.execute(db, provider)
    stored = await find_provider(db, provider.organisation_id)
    assert stored is not None, "it was stored a moment ago"
    return stored


async def delete_provider(db: Database, organisation_id: UUID) -> None:
    await db.execute("delete from single_sign_on_attempt where organisation_id = $1", organisation_id)
    await db.execute("delete from identity_provider where organisation_id = $1", organisation_id)


async def reseal_providers(db: Database, seal: Seal) -> int:
    return await reseal_rows(
        db,
        seal,
        "select organisation_id as key, sealed_client_secret as secret from identity_provider",
        """update identity_provider set sealed_client_secret = $2
           where organisation_id = $1 and sealed_client_secret = $3""",
    )


async def find_organisation_named(db: Database, name: str) -> UUID | None:
    """The organisation of this name, if only one has it."""
    rows = await db.fetch("select id from organisation where lower(name) = lower($1) limit 2", name)
    return rows[0]["id"] if len(rows) == 1 else None


_INSERT_ATTEMPT: Final = NamedStatement("""
insert into single_sign_on_attempt (state_hash, organisation_id, issuer, nonce, code_verifier, browser_hash, redirect,
                                    client_challenge, expires_at)
values (:state_hash, :organisation_id, :issuer, :nonce, :code_verifier, :browser_hash, :redirect, :client_challenge,
        clock_timestamp() + :lifetime::interval)
""")


async def insert_attempt(db: Database, state_hash: bytes, attempt: SignOnAttempt) -> None:
    await _INSERT_ATTEMPT.execute(db, attempt, state_hash=state_hash, lifetime=ATTEMPT_LIFETIME)


async def spend_attempt(db: Database, state_hash: bytes, browser_hash: bytes) -> SignOnAttempt | None:
    """The attempt of this state and this browser, which works once."""
    row = await db.fetchrow(
        """
        delete from single_sign_on_attempt
        where state_hash = $1 and browser_hash = $2 and expires_at > statement_timestamp()
        returning organisation_id, issuer, nonce, code_verifier, browser_hash, redirect, client_challenge
        """,
        state_hash,
        browser_hash,
    )
    return None if row is None else SignOnAttempt(**row)


async def find_bound_member(db: Database, organisation_id: UUID, issuer: str, subject: str) -> UserID | None:
    found = await db.fetchval(
        "select member_id from external_identity where organisation_id = $1 and issuer = $2 and subject = $3",
        organisation_id,
        issuer,
        subject,
    )
    return None if found is None else UserID(found)


async def bind_member(db: Database, organisation_id: UUID, issuer: str, subject: str, member_id: UUID) -> bool:
    """For good; False when the subject or the member is bound already."""
    row = await db.fetchrow(
        """
        insert into external_identity (organisation_id, issuer, subject, member_id) values ($1, $2, $3, $4)
        on conflict do nothing returning member_id
        """,
        organisation_id,
        issuer,
        subject,
        member_id,
    )
    return row is not None


async def list_members_by_email(db: Database, organisation_id: UUID, email: str) -> list[UserID]:
    rows = await db.fetch(
        "select id from member where organisation_id = $1 and lower(email) = lower($2) order by id limit 2",
        organisation_id,
        email,
    )
    return [UserID(row["id"]) for row in rows]


async def insert_code(db: Database, code_hash: bytes, member_id: UUID, challenge: str) -> None:
    await db.execute(
        """
        insert into single_sign_on_code (code_hash, member_id, challenge, expires_at)
        values ($1, $2, $3, clock_timestamp() + $4::interval)
        """,
        code_hash,
        member_id,
        challenge,
        CODE_LIFETIME,
    )


async def spend_code(db: Database, code_hash: bytes, challenge: str) -> UserID | None:
    """The member for whom it was made out; it works once, whatever the verifier was."""
    row = await db.fetchrow(
        """
        delete from single_sign_on_code where code_hash = $1 and expires_at > statement_timestamp()
        returning member_id, challenge
        """,
        code_hash,
    )
    return UserID(row["member_id"]) if row is not None and row["challenge"] == challenge else None
