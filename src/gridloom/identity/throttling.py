"""How many attempts to log in are let through: so many at once per user and address, then one every so often."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gridloom.edge.rate_limit import network_of
from gridloom.kernel.problem import TooManyRequests


class LoginThrottled(TooManyRequests):
    """Too many attempts to log in, for this user from this address, from this address, or for this user from new ones.

    The password was not looked at, so nothing can be concluded about it. `Retry-After` says when the next attempt is
    taken. A successful login does not count. From an address where the user has logged in during the last thirty days,
    attempts from elsewhere make no difference.
    """

    status = 429
    title = "Too many attempts to log in"


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
REMEMBERED_FOR: Final = timedelta(days=30)
"""How long an address from which a user has signed in is theirs."""


def buckets_of(username: str, address: str, *, is_known_address: bool) -> list[Bucket]:
    """Where an attempt counts. Known and unknown user names alike, so that the throttle does not tell them apart."""
    buckets = [user_at_address_bucket(username, address), address_bucket(address)]
    if not is_known_address:
        buckets.append(user_bucket(username))
    return buckets


def user_at_address_bucket(username: str, address: str) -> Bucket:
    subject = _hash_subject("user-at-address", f"{username}\0{network_of(address)}")
    return Bucket(subject, ATTEMPTS_PER_USER_AND_ADDRESS, SECONDS_PER_USER_AND_ADDRESS)


def address_bucket(address: str) -> Bucket:
    return Bucket(_hash_subject("address", network_of(address)), ATTEMPTS_PER_ADDRESS, SECONDS_PER_ADDRESS)


def user_bucket(username: str) -> Bucket:
    return Bucket(_hash_subject("user", username), ATTEMPTS_PER_USER, SECONDS_PER_USER)


def _hash_subject(kind: str, value: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{value}".encode()).digest()
