"""How many attempts to log in are let through: so many at once per user and address, then one every so often."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gridloom.kernel.networks import network_of
from gridloom.kernel.problem import TooManyRequests


class LoginThrottled(TooManyRequests, title="Too many attempts to log in"):
    """Too many attempts to log in, for this user from this address, from this address, or for this user from new ones.

    The password was not looked at, so nothing can be concluded about it. `Retry-After` says when the next
    attempt is taken. A successful login does not count. From an address where the user has logged in during the last
    thirty days, attempts from elsewhere make no difference.
    """


class AcceptancesThrottled(TooManyRequests, title="Too many attempts to accept an invitation"):
    """Too many invitations could not be accepted from this address. Nothing of the request was looked at.

    `Retry-After` says when the next attempt is taken. An invitation that is accepted does not count.
    """


@dataclass(frozen=True, slots=True)
class Bucket:
    """Holds `capacity` attempts; one leaks out every `seconds_each`."""

    subject: bytes
    capacity: int
    seconds_each: float


ATTEMPTS_PER_USER_AND_ADDRESS: Final = 5
SECONDS_PER_USER_AND_ADDRESS: Final = 30.0
# Generous: an office, or a continuous integration, sits behind one address.
ATTEMPTS_PER_ADDRESS: Final = 60
SECONDS_PER_ADDRESS: Final = 1.0
# For those who have many addresses. NIST SP 800-63B allows an account a hundred failures in a row.
ATTEMPTS_PER_USER: Final = 100
SECONDS_PER_USER: Final = 30.0
KNOWN_NETWORK_RETENTION: Final = timedelta(days=30)
"""How long an address from which a user has signed in is theirs."""

REJECTION_CACHE_TTL_S: Final = 1.0
"""No longer than the shortest wait that a caller is given."""
MAX_REFUSALS: Final = 10_000
PAUSE_S: Final = 0.25
"""Before a client that does not wait is rejected again, and up to twice that, so that clients that came together are
not all answered at one instant: a caller that asks without a break gets at most four answers a second."""
MAX_PAUSING: Final = 1_000


class ThrottleCache:
    """Clients that this worker has just rejected: for a second, asking the database would give the same result.

    So a storm of logins costs hardly more than saying no, and that in its own time. This only ever refuses, and looks
    at nothing but what was sent.
    """

    def __init__(self) -> None:
        self._pausing = 0
        self._waits: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def keep(self, username: str, address: str, wait_s: float) -> None:
        now = time.monotonic()
        self._waits[username, network_of(address)] = (now + min(wait_s, REJECTION_CACHE_TTL_S), now + wait_s)
        if len(self._waits) > MAX_REFUSALS:
            self._waits.popitem(last=False)

    async def pause(self) -> None:
        if self._pausing >= MAX_PAUSING:
            return
        self._pausing += 1
        try:
            await asyncio.sleep(PAUSE_S * (1 + random.random()))  # noqa: S311 — nothing secret
        finally:
            self._pausing -= 1

    def find_wait(self, username: str, address: str) -> float:
        """The seconds that this client still has to wait; 0 where the database has to be asked."""
        if not self._waits:
            return 0.0
        who = (username, network_of(address))
        believed_until, until = self._waits.get(who, (0.0, 0.0))
        now = time.monotonic()
        if believed_until <= now:
            self._waits.pop(who, None)
            return 0.0
        return until - now


def buckets_of(username: str, address: str, *, is_known_address: bool) -> list[Bucket]:
    """Where an attempt counts. Known and unknown user names alike, so that the throttle does not tell them apart."""
    buckets = [user_at_address_bucket(username, address), address_bucket(address)]
    if not is_known_address:
        buckets.append(user_bucket(username))
    return buckets


def user_at_address_bucket(username: str, address: str) -> Bucket:
    subject = hash_subject("user-at-address", f"{username}\0{network_of(address)}")
    return Bucket(subject, ATTEMPTS_PER_USER_AND_ADDRESS, SECONDS_PER_USER_AND_ADDRESS)


def address_bucket(address: str) -> Bucket:
    return Bucket(hash_subject("address", network_of(address)), ATTEMPTS_PER_ADDRESS, SECONDS_PER_ADDRESS)


def acceptance_bucket(address: str) -> Bucket:
    return Bucket(hash_subject("acceptance", network_of(address)), ATTEMPTS_PER_ADDRESS, SECONDS_PER_ADDRESS)


def user_bucket(username: str) -> Bucket:
    return Bucket(hash_subject("user", username), ATTEMPTS_PER_USER, SECONDS_PER_USER)


def hash_subject(kind: str, value: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{value}".encode()).digest()
