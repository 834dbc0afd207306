"""Checking a code: counted first, over all challenges and replicas, and spent in the transaction that it lets in."""

from __future__ import annotations

import hashlib
import math
from uuid import UUID

from gridloom.kernel.problem import Unauthenticated
from gridloom.platform.audit.model import Actor
from gridloom.platform.audit.recording import record_denied
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import Database
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.http import Request
from gridloom.platform.identity.login.throttling import Bucket, LoginThrottled
from gridloom.platform.identity.model import Member
from gridloom.platform.identity.second_factor.codes import find_step, recovery_code_hash
from gridloom.platform.identity.store import second_factors as store
from gridloom.platform.identity.store.login_throttle import count_attempt

ATTEMPTS = 5
SECONDS_EACH = 30.0


class WrongSecondFactor(Unauthenticated, title="The code of the second factor is wrong"):
    """The code is not right, or was used before: a code works once, and so does a recovery code."""


def attempts_bucket(member_id: UUID) -> Bucket:
    """Wrong codes of a user, whatever the challenge and the address."""
    return Bucket(hashlib.sha256(b"second-factor\0" + member_id.bytes).digest(), ATTEMPTS, SECONDS_EACH)


async def count_code_attempt(request: Request, member_id: UUID) -> Bucket:
    """Count an attempt before its code is looked at; 429 where there were too many."""
    bucket = attempts_bucket(member_id)
    wait_s = await count_attempt(request.pool, [bucket])
    if wait_s > 0:
        raise LoginThrottled("Too many wrong codes. Wait before the next one.", retry_after_s=math.ceil(wait_s))
    return bucket


async def spend_code(request: Request, db: Database, member_id: UUID, code: str) -> bool:
    """Whether this is a code of the member's second factor that was not used before; from now on it was.

    Of two requests with one code the row's lock lets one through, whichever replicas they reach.
    """
    stored = await store.find_second_factor(db, member_id)
    if stored is None or not stored.is_confirmed:
        return False
    secret = request.resources[Sealing].second_factors.open(stored.sealed_secret)
    step = find_step(secret, code.replace(" ", ""), (await real_now(db)).timestamp())
    if step is not None:
        return await store.spend_step(db, member_id, step)
    return await store.spend_recovery_code(db, member_id, recovery_code_hash(member_id, code))


async def reject_code(request: Request, member: Member) -> WrongSecondFactor:
    """Undo what the request has begun, and record the refusal."""
    await request.release()
    actor = Actor("USER", member.organisation_id, member.id, member.username)
    await record_denied(request.pool, request, 401, actor=actor, details={"reason": "wrong code of the second factor"})
    return WrongSecondFactor("The code is wrong or was used before.")
