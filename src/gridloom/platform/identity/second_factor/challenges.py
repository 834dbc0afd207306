"""The first half of signing in with a second factor: a challenge for a right password."""

from __future__ import annotations

from typing import NoReturn

from gridloom.kernel.problem import Unauthenticated
from gridloom.platform.http import Request
from gridloom.platform.identity.login.throttling import Bucket
from gridloom.platform.identity.model import Account
from gridloom.platform.identity.store import second_factors as store
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.tokens import hash_of, new_challenge


class SecondFactorRequired(Unauthenticated, title="The code of the second factor is needed"):
    """The password is right, and the user has a second factor as well.

    Send the `challenge` of this answer with a code of the device, or a recovery code, to
    `POST /auth/public/second-factor` within five minutes.
    """


async def demand_second_factor(request: Request, account: Account, buckets: list[Bucket]) -> NoReturn:
    """Refuse for want of a code, with a challenge that takes one. The attempt counts until the code is right."""
    challenge = new_challenge()
    subjects = [bucket.subject for bucket in buckets]
    async with request.pool.acquire() as db, db.transaction():
        await lock_organisation(db, account.member.organisation_id)
        await store.insert_challenge(db, hash_of(challenge), account.member.id, subjects)
    raise SecondFactorRequired("Send the challenge with a code of the second factor.", challenge=challenge)
