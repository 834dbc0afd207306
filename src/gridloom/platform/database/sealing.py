"""Secrets at rest: encrypted with a key that is not in the database (`GRIDLOOM_SECRETS_KEY`)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from cryptography.fernet import Fernet, InvalidToken

from gridloom.platform.database.pool import Database

_OPEN: Final = b"\x00"
_SEALED: Final = b"\x01"


class SecretUnreadable(Exception):
    """A secret was sealed with another key than the ones this service has."""


class Seal:
    """Seals and opens secrets of one purpose. Without a key it stores them as they are, marked so."""

    def __init__(self, key: str | None, purpose: str, former_keys: Sequence[str] = ()) -> None:
        """former_keys open what was sealed with them; nothing is sealed with them any more."""
        self._fernet = None if key is None else _make_fernet(key, purpose)
        self._former = [_make_fernet(former, purpose) for former in former_keys]

    @property
    def has_key(self) -> bool:
        return self._fernet is not None

    def close(self, secret: bytes) -> bytes:
        if self._fernet is None:
            return _OPEN + secret
        return _SEALED + self._fernet.encrypt(secret)

    def open(self, stored: bytes) -> bytes:
        mark, body = stored[:1], stored[1:]
        if mark == _OPEN:
            return body
        fernets = ([] if self._fernet is None else [self._fernet]) + self._former
        if not fernets:
            raise SecretUnreadable("The secret is sealed, and GRIDLOOM_SECRETS_KEY is not set.")
        for fernet in fernets:
            try:
                return fernet.decrypt(body)
            except InvalidToken:
                continue
        raise SecretUnreadable("The secret was sealed with another GRIDLOOM_SECRETS_KEY.")

    def is_current(self, stored: bytes) -> bool:
        """Whether it is sealed with the present key."""
        if self._fernet is None or stored[:1] != _SEALED:
            return False
        try:
            self._fernet.decrypt(stored[1:])
        except InvalidToken:
            return False
        return True


class Sealing:
    """The seals of a service, one for each kind of secret."""

    def __init__(self, key: str | None, former_keys: Sequence[str] = ()) -> None:
        self.webhooks = Seal(key, "webhook", former_keys)
        self.signing_keys = Seal(key, "signing-key", former_keys)
        self.second_factors = Seal(key, "second-factor", former_keys)
        self.identity_providers = Seal(key, "identity-provider", former_keys)


async def reseal_rows(db: Database, seal: Seal, select: str, update: str) -> int:
    """Seal every secret of a table with the present secrets key; how many were not.

    `select` gives each as `key` and `secret`; `update` takes the key, the secret as it is to be, and as it was.
    """
    stale = [row for row in await db.fetch(select) if not seal.is_current(row["secret"])]
    for row in stale:
        await db.execute(update, row["key"], seal.close(seal.open(row["secret"])), row["secret"])
    return len(stale)


def _make_fernet(key: str, purpose: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(purpose.encode() + b"\0" + key.encode()).digest()))
