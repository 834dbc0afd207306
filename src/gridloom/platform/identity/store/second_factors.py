"""Second factors, recovery codes and the challenges that ask for them, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from gridloom.kernel.ids import UserID
from gridloom.platform.database.pool import Database
from gridloom.platform.database.sealing import Seal, reseal_rows
from gridloom.platform.identity.store.revocations import member_subject, notify_revoked

CHALLENGE_LIFETIME: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class SecondFactor:
    sealed_secret: bytes
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class Challenge:
    member_id: UserID
    throttle_subjects: tuple[bytes, ...]
    """The buckets in which the password's attempt counts until the code is right as well."""


async def find_second_factor(db: Database, member_id: UUID) -> SecondFactor | None:
    row = await db.fetchrow(
        "select sealed_secret, confirmed_at is not null as is_confirmed from second_factor where member_id = $1",
        member_id,
    )
    return None if row is None else SecondFactor(row["sealed_secret"], row["is_confirmed"])


async def put_unconfirmed(db: Database, member_id: UUID, sealed_secret: bytes) -> bool:
    """Store a secret that has to be confirmed by a first code; False when the member has a confirmed one."""
    row = await db.fetchrow(
        """
        insert into second_factor as f (member_id, sealed_secret) values ($1, $2)
        on conflict (member_id) do update set sealed_secret = excluded.sealed_secret where f.confirmed_at is null
        returning member_id
        """,
        member_id,
        sealed_secret,
    )
    return row is not None


async def confirm(
    db: Database, member_id: UUID, *, sealed_secret: bytes, step: int, code_hashes: Sequence[bytes]
) -> bool:
    """Let the second factor count from now on; False when it has been confirmed or replaced meanwhile."""
    row = await db.fetchrow(
        """
        update second_factor set confirmed_at = statement_timestamp(), last_step = $3
        where member_id = $1 and sealed_secret = $2 and confirmed_at is null
        returning member_id
        """,
        member_id,
        sealed_secret,
        step,
    )
    if row is None:
        return False
    await db.execute("delete from recovery_code where member_id = $1", member_id)
    await db.execute(
        "insert into recovery_code (member_id, code_hash) select $1, hash from unnest($2::bytea[]) as hash",
        member_id,
        list(code_hashes),
    )
    await notify_revoked(db, member_subject(member_id))
    return True


async def spend_step(db: Database, member_id: UUID, step: int) -> bool:
    """Whether no code of this time step or a later one was spent before."""
    status = await db.execute(
        """
        update second_factor set last_step = $2
        where member_id = $1 and last_step < $2 and confirmed_at is not null
        """,
        member_id,
        step,
    )
    return str(status) == "UPDATE 1"


async def spend_recovery_code(db: Database, member_id: UUID, code_hash: bytes) -> bool:
    status = await db.execute(
        """
        update recovery_code set spent_at = statement_timestamp()
        where member_id = $1 and code_hash = $2 and spent_at is null
        """,
        member_id,
        code_hash,
    )
    return str(status) == "UPDATE 1"


async def delete_second_factor(db: Database, member_id: UUID) -> bool:
    """Whether there was one."""
    await db.execute("delete from recovery_code where member_id = $1", member_id)
    status = await db.execute("delete from second_factor where member_id = $1", member_id)
    await notify_revoked(db, member_subject(member_id))
    return str(status) == "DELETE 1"


async def reseal_second_factors(db: Database, seal: Seal) -> int:
    return await reseal_rows(
        db,
        seal,
        "select member_id as key, sealed_secret as secret from second_factor",
        "update second_factor set sealed_secret = $2 where member_id = $1 and sealed_secret = $3",
    )


async def insert_challenge(
    db: Database, challenge_hash: bytes, member_id: UUID, throttle_subjects: Sequence[bytes]
) -> None:
    await db.execute(
        """
        insert into sign_in_challenge (challenge_hash, member_id, throttle_subjects, expires_at)
        values ($1, $2, $3, clock_timestamp() + $4::interval)
        """,
        challenge_hash,
        member_id,
        list(throttle_subjects),
        CHALLENGE_LIFETIME,
    )


async def find_challenge(db: Database, challenge_hash: bytes) -> Challenge | None:
    row = await db.fetchrow(
        """
        select member_id, throttle_subjects from sign_in_challenge
        where challenge_hash = $1 and expires_at > clock_timestamp()
        """,
        challenge_hash,
    )
    return None if row is None else Challenge(UserID(row["member_id"]), tuple(row["throttle_subjects"]))


async def spend_challenge(db: Database, challenge_hash: bytes) -> bool:
    status = await db.execute(
        "delete from sign_in_challenge where challenge_hash = $1 and expires_at > statement_timestamp()",
        challenge_hash,
    )
    return str(status) == "DELETE 1"


async def delete_challenges(db: Database, member_id: UUID) -> None:
    await db.execute("delete from sign_in_challenge where member_id = $1", member_id)
