"""Password hashes: argon2id on one thread of its own, so that logins never slow down anything else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import PasswordHasher as Argon2
from argon2 import Type
from argon2.exceptions import InvalidHashError, VerificationError

from gridloom.kernel.problem import TooManyRequests
from gridloom.platform.identity.login.password_rules import check_password, normalised

T = TypeVar("T")

MAX_WAITING: Final = 64
NICENESS: Final = 10

# OWASP's second choice: 19 MiB and two passes cost an attacker what they cost us, about 35 ms.
_ARGON2: Final = Argon2(time_cost=2, memory_cost=19 * 1024, parallelism=1, hash_len=32, salt_len=16, type=Type.ID)


class LoginsBusy(TooManyRequests, title="Too many logins at once"):
    """More people are logging in than passwords can be checked. Nothing is wrong with the request: send it again."""


class PasswordHasher:
    """Hashes and verifies, one password at a time; refuses when too many wait."""

    def __init__(self, most_waiting: int = MAX_WAITING) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="passwords", initializer=_lower_thread_priority)
        self._most_waiting = most_waiting
        self._waiting = 0
        # The password of no account: verifying against it takes as long as verifying against a person's.
        self._nobodys_hash = _ARGON2.hash(secrets.token_urlsafe(32))

    async def check_strength(self, password: str, names: Iterable[str], *, pointer: str) -> None:
        """Refuse a password that is easy to guess; on the thread, and in the queue, of those that are hashed."""
        await self._run_work(lambda: check_password(password, names, pointer=pointer))

    async def hash(self, password: str) -> str:
        return await self._run_work(lambda: _ARGON2.hash(normalised(password)))

    async def verify(self, password: str, password_hash: str | None) -> bool:
        """Whether the password is the one that was hashed; None, for an unknown user, costs the same and is False."""
        matches = await self._run_work(
            lambda: _match_password(password_hash or self._nobodys_hash, normalised(password))
        )
        return matches and password_hash is not None

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run_work(self, work: Callable[[], T]) -> T:
        if self._waiting >= self._most_waiting:
            raise LoginsBusy("Too many passwords are being checked at the moment.", retry_after_s=2)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1


def hash_blocking(password: str) -> str:
    """The hash, on the calling thread: for commands and the first start, where nothing waits."""
    return _ARGON2.hash(normalised(password))


def _match_password(password_hash: str, password: str) -> bool:
    try:
        return _ARGON2.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _lower_thread_priority() -> None:
    """On Linux a thread has a niceness of its own: requests come first where cores are few."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
