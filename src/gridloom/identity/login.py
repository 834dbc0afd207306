"""Checking a password: throttled, in the same time for everybody, and remembered when it was wrong."""

from __future__ import annotations

import math

from gridloom.audit.model import ANONYMOUS, Actor
from gridloom.audit.recording import record_refusal
from gridloom.database.pool import Pool
from gridloom.edge import Call
from gridloom.identity.model import Account
from gridloom.identity.passwords import PasswordHasher
from gridloom.identity.store.login_throttle import count_failure, read_wait_s
from gridloom.identity.throttling import Bucket, LoginThrottled, address_bucket, user_bucket


async def check_login(call: Call, username: str, account: Account | None, password: str) -> bool:
    """Whether this is the account's password; 429 when too many attempts have failed.

    The throttle is asked again after a right password: of many guesses sent at once, those behind the limit are
    refused although they were let in before the first failure was counted. Nothing is held while the hash is computed.
    """
    # Under the name that the account has: otherwise each spelling of it would have failures of its own.
    known_as = account.member.username if account is not None else username
    buckets = [user_bucket(known_as), address_bucket(call.address)]
    await _refuse_throttled(call.pool, buckets)
    password_hash = account.password_hash if account is not None else None
    if await call.resources[PasswordHasher].verify(password, password_hash):
        await _refuse_throttled(call.pool, buckets)
        return True
    for bucket in buckets:
        await count_failure(call.pool, bucket)
    # An unknown user name is not written down: now and then it is a password in the wrong field.
    await record_refusal(call.pool, call, 401, actor=_actor(account), details={"reason": "wrong credentials"})
    return False


async def _refuse_throttled(pool: Pool, buckets: list[Bucket]) -> None:
    wait_s = await read_wait_s(pool, buckets)
    if wait_s > 0:
        raise LoginThrottled("Too many logins have failed. Wait before the next one.", retry_after_s=math.ceil(wait_s))


def _actor(account: Account | None) -> Actor:
    if account is None:
        return ANONYMOUS
    member = account.member
    return Actor("USER", member.organisation_id, member.id, member.username)
