"""Callers already verified, by their exact token: bounded, expiring, and emptied by the events that revoke them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from gridloom.edge.caller import Caller

MAX_CALLERS: Final = 20_000
MAX_TTL_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class CachedCaller:
    caller: Caller
    expires_at: float
    """By this process's own clock, which nobody sets."""
    subjects: frozenset[Hashable]
    """The session or key, the member and the organisation on which this rests."""


class CallerCache:
    def __init__(self, most: int = MAX_CALLERS) -> None:
        self._most = most
        self._by_token: OrderedDict[str, CachedCaller] = OrderedDict()
        self._tokens_by_subject: dict[Hashable, set[str]] = {}
        self.version = 0
        """Goes up with every eviction: what was loaded before one may not be kept after it."""

    def __len__(self) -> int:
        return len(self._by_token)

    def get(self, token: str, now: float) -> Caller | None:
        found = self._by_token.get(token)
        if found is None:
            return None
        if found.expires_at <= now:
            self._forget(token)
            return None
        return found.caller

    def put(self, token: str, verified: CachedCaller, *, loaded_at_version: int) -> None:
        """Keep a caller, unless something was evicted since its rows were asked for."""
        if loaded_at_version != self.version:
            return
        self._forget(token)
        self._by_token[token] = verified
        for subject in verified.subjects:
            self._tokens_by_subject.setdefault(subject, set()).add(token)
        while len(self._by_token) > self._most:
            self._forget(next(iter(self._by_token)))

    def evict(self, subject: Hashable) -> None:
        self.version += 1
        for token in tuple(self._tokens_by_subject.get(subject, ())):
            self._forget(token)

    def clear(self) -> None:
        self.version += 1
        self._by_token.clear()
        self._tokens_by_subject.clear()

    def _forget(self, token: str) -> None:
        verified = self._by_token.pop(token, None)
        if verified is None:
            return
        for subject in verified.subjects:
            tokens = self._tokens_by_subject[subject]
            tokens.discard(token)
            if not tokens:
                del self._tokens_by_subject[subject]
