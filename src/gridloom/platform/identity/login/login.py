"""Checking a password: counted first, in the same time for every user name, and recorded when it was wrong."""

from __future__ import annotations

import math

from gridloom.kernel.networks import is_within, network_of
from gridloom.kernel.problem import Forbidden, Unauthenticated
from gridloom.platform.audit.model import ANONYMOUS, Actor
from gridloom.platform.audit.recording import record_denied
from gridloom.platform.http import Request
from gridloom.platform.http.admit import NetworkNotAllowed
from gridloom.platform.identity.login.passwords import LoginsBusy, PasswordHasher
from gridloom.platform.identity.login.sessions import TokenPair, begin_session
from gridloom.platform.identity.login.throttling import Bucket, LoginThrottled, ThrottleCache, buckets_of
from gridloom.platform.identity.login.usernames import canonical_username
from gridloom.platform.identity.model import Account
from gridloom.platform.identity.second_factor.challenges import demand_second_factor
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.platform.identity.store import members
from gridloom.platform.identity.store.login_throttle import (
    count_attempt,
    give_back_attempt,
    is_known_network,
    store_known_network,
)


class WrongCredentials(Unauthenticated, title="The credentials are wrong"):
    """The user name is unknown or the password is not theirs; which of the two is not said."""


class SingleSignOnRequired(Forbidden, title="The organisation signs in by single sign-on"):
    """The organisation has ended passwords for its members: they sign in with its identity provider.

    Start at `GET /auth/public/sso/start`, or with `gridloom login --sso`. ADMINs can still use their password.
    """


async def sign_in(request: Request, username: str, password: str) -> TokenPair:
    """A new session for these credentials, in the call's transaction, which is begun here; 401 or 429 otherwise."""
    refusals = request.resources[ThrottleCache]
    wait_s = refusals.find_wait(username, request.address)
    if wait_s > 0:
        await refusals.pause()
        raise _make_problem(wait_s)
    account = await members.find_account(request.pool, canonical_username(username))
    buckets = await _verify_password(request, username, account, password)
    if buckets is None or account is None:
        raise WrongCredentials("The user name or the password is wrong.")
    if account.member.has_second_factor:
        check_policy(request, account)
        await demand_second_factor(request, account, buckets)
    await give_back_attempt(request.pool, buckets)
    check_policy(request, account)
    key = await request.resources[SigningKeyCache].for_signing()
    db = await request.begin()
    pair = await begin_session(db, key, account, address=request.address, user_agent=user_agent_of(request))
    if pair is None:
        raise WrongCredentials("The user name or the password is wrong.")
    await store_known_network(db, account.member.id, network_of(request.address))
    request.set_caller(pair.caller)
    return pair


async def check_login(request: Request, username: str, account: Account | None, password: str) -> bool:
    """Whether this is the account's password; 429, without a look at it, when too many attempts were made.

    A right password meets the limit that a wrong one meets, so an answer says nothing about what was not looked at.
    """
    buckets = await _verify_password(request, username, account, password)
    if buckets is None:
        return False
    await give_back_attempt(request.pool, buckets)
    return True


def check_policy(request: Request, account: Account) -> None:
    """Refuse a member whose password was right what the organisation does not allow."""
    if account.allowed_networks and not is_within(request.address, account.allowed_networks):
        raise NetworkNotAllowed(f"Signing in from {request.address} is not allowed.")
    if account.must_use_single_sign_on:
        raise SingleSignOnRequired("Your organisation signs in by single sign-on.")


def user_agent_of(request: Request) -> str | None:
    """The caller's user agent, without what a terminal or a page would take for more than text."""
    text = request.header("user-agent") or ""
    return "".join(character for character in text if character.isprintable())[:300] or None


async def _verify_password(
    request: Request, username: str, account: Account | None, password: str
) -> list[Bucket] | None:
    """The buckets in which the attempt counts, if the password is right; None if it is not."""
    buckets = await _buckets_of(request, username, account)
    wait_s = await count_attempt(request.pool, buckets)
    if wait_s > 0:
        request.resources[ThrottleCache].keep(username, request.address, wait_s)
        raise _make_problem(wait_s)
    password_hash = account.password_hash if account is not None else None
    try:
        is_right = await request.resources[PasswordHasher].verify(password, password_hash)
    except LoginsBusy:  # it was not checked
        await give_back_attempt(request.pool, buckets)
        raise
    if is_right:
        return buckets
    # An unknown user name is not written down: now and then it is a password in the wrong field.
    await record_denied(request.pool, request, 401, actor=_actor_of(account), details={"reason": "wrong credentials"})
    return None


def _make_problem(wait_s: float) -> LoginThrottled:
    return LoginThrottled("Too many attempts to log in. Wait before the next one.", retry_after_s=math.ceil(wait_s))


async def _buckets_of(request: Request, username: str, account: Account | None) -> list[Bucket]:
    # Under the name that the account has: otherwise each spelling of it would have attempts of its own.
    name = canonical_username(account.member.username if account is not None else username).lower()
    is_known = account is not None and await is_known_network(
        request.pool, account.member.id, network_of(request.address)
    )
    return buckets_of(name, request.address, is_known_address=is_known)


def _actor_of(account: Account | None) -> Actor:
    if account is None:
        return ANONYMOUS
    member = account.member
    return Actor("USER", member.organisation_id, member.id, member.username)
