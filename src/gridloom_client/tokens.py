"""Who is calling: credentials, the tokens they are exchanged for, and where tokens are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import msgspec


@dataclass(frozen=True, slots=True)
class Password:
    """A user's name and password; exchanged for tokens when first needed and whenever they end."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A machine's secret, used as it is."""

    secret: str = field(repr=False)


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of tokens; `expires_at` is in seconds since 1970, by this machine's clock."""

    access_token: str
    refresh_token: str | None = None
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return f"Tokens(expires_at={self.expires_at})"


class TokenStore(Protocol):
    """Where tokens live between calls. A refresh token works once, so the renewing caller holds the lock."""

    def load(self) -> Tokens | None: ...

    def save(self, tokens: Tokens | None) -> None: ...

    def lock(self) -> AbstractContextManager[object]:
        """Keeps other processes from renewing the same tokens."""
        ...


class InMemoryTokenStore:
    """Tokens of this client alone."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        self._tokens = tokens

    def load(self) -> Tokens | None:
        return self._tokens

    def save(self, tokens: Tokens | None) -> None:
        self._tokens = tokens

    def lock(self) -> AbstractContextManager[object]:
        return nullcontext()
