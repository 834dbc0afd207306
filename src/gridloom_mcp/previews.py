"""Changes that wait for their confirmation: a token each, bound to exactly what was shown, for ten minutes."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from gridloom_mcp.platform import ArgumentError

LIFETIME_S: Final = 600.0
MAX_WAITING: Final = 100

Change: TypeAlias = Callable[[str], Awaitable[dict[str, Any]]]
"""Makes the change with an Idempotency-Key."""


@dataclass
class Preview:
    change: Change
    expires_at: float
    key: str | None = None
    done: dict[str, Any] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Previews:
    """In this process's memory: a restart forgets them, and nothing was changed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, Preview] = {}

    def offer(self, change: Change) -> str:
        """The token to confirm the change with."""
        now = self._clock()
        self._waiting = {token: one for token, one in self._waiting.items() if one.expires_at > now}
        if len(self._waiting) >= MAX_WAITING:
            raise ArgumentError(
                f"{MAX_WAITING} previews wait for their confirmation: confirm some, or wait ten minutes."
            )
        token = secrets.token_urlsafe(16)
        self._waiting[token] = Preview(change, now + LIFETIME_S)
        return token

    async def confirm(self, token: str, key: str) -> dict[str, Any]:
        """The change's answer. The same token and key again answer the same and change nothing; another is refused."""
        found = self._waiting.get(token)
        if found is None or found.expires_at <= self._clock():
            raise ArgumentError("There is no such preview, or it is older than ten minutes: make another one.")
        async with found.lock:
            if found.key not in (None, key):
                raise ArgumentError(
                    "This preview was confirmed with another idempotency_key; nothing more was changed."
                )
            found.key = key
            if found.done is not None:
                return {**found.done, "replayed": True}
            found.done = await found.change(key)
            return found.done
