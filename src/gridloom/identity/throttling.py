"""How many failed logins are let through: so many at once per user and per address, then one every so often."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from gridloom.edge.rate_limit import network_of
from gridloom.kernel.problem import TooManyRequests


class LoginThrottled(TooManyRequests):
    """Too many logins have failed for this user name, or from this address.

    The right password is refused as well until the time in `Retry-After` has passed. A successful login makes the
    failures of its user forgotten.
    """

    status = 429
    title = "Too many failed logins"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Holds `capacity` failures; one leaks out every `seconds_each`."""

    subject: bytes
    capacity: int
    seconds_each: float


FAILURES_PER_USER: Final = 5
SECONDS_PER_USER_FAILURE: Final = 30.0
# Generous: an office, or a continuous integration, sits behind one address.
FAILURES_PER_ADDRESS: Final = 60
SECONDS_PER_ADDRESS_FAILURE: Final = 1.0


def user_bucket(username: str) -> Bucket:
    """Known and unknown user names alike, so that the throttle does not tell them apart."""
    return Bucket(_subject("user", username.lower()), FAILURES_PER_USER, SECONDS_PER_USER_FAILURE)


def address_bucket(address: str) -> Bucket:
    return Bucket(_subject("address", network_of(address)), FAILURES_PER_ADDRESS, SECONDS_PER_ADDRESS_FAILURE)


def _subject(kind: str, value: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{value}".encode()).digest()
