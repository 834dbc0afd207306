"""The second half of signing in: a session for a challenge and a code."""

from __future__ import annotations

from gridloom.kernel.networks import network_of
from gridloom.kernel.problem import Unauthenticated
from gridloom.platform.http import Request
from gridloom.platform.identity.login.login import check_policy, user_agent_of
from gridloom.platform.identity.login.sessions import TokenPair, begin_session
from gridloom.platform.identity.second_factor.verification import count_code_attempt, reject_code, spend_code
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.store import members
from gridloom.platform.identity.store import second_factors as store
from gridloom.platform.identity.store.login_throttle import give_back_attempts, store_known_network
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.tokens import hash_of


class ChallengeExpired(Unauthenticated, title="The challenge is not accepted"):
    """The challenge is unknown, was used, or its five minutes are over, or the password was changed. Log in again."""


async def complete_sign_in(request: Request, challenge_text: str, code: str) -> TokenPair:
    """A new session for a challenge and a code, in the call's transaction, which is begun here; 401 or 429 else."""
    await request.replay_if_stored()
    challenge_hash = hash_of(challenge_text)
    challenge = await store.find_challenge(request.pool, challenge_hash)
    account = None if challenge is None else await members.read_account(request.pool, challenge.member_id)
    if challenge is None or account is None:
        raise ChallengeExpired("The challenge is unknown, used or expired.")
    check_policy(request, account)
    bucket = await count_code_attempt(request, account.member.id)
    key = await request.resources[SigningKeyCache].for_signing()
    db = await request.begin()
    await lock_organisation(db, account.member.organisation_id)
    if await members.read_account(db, account.member.id) is None:  # removed before the lock was taken
        raise ChallengeExpired("The challenge is unknown, used or expired.")
    if not await spend_code(request, db, account.member.id, code):
        raise await reject_code(request, account.member)
    if not await store.spend_challenge(db, challenge_hash):
        raise ChallengeExpired("The challenge was used or revoked a moment ago.")
    pair = await begin_session(
        db, key, account, address=request.address, user_agent=user_agent_of(request), is_password_checked=False
    )
    assert pair is not None, "the member is locked"
    await store_known_network(db, account.member.id, network_of(request.address))
    await give_back_attempts(db, [bucket.subject, *challenge.throttle_subjects])
    request.set_caller(pair.caller)
    return pair
