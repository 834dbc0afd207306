"""Secrets of webhooks, and the signatures made with them (Standard Webhooks)."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken
from standardwebhooks import Webhook as Signer

SECRET_BYTES = 32
PREFIX = "whsec_"

_OPEN, _SEALED = b"\x00", b"\x01"


class SecretUnreadable(Exception):
    """A secret was sealed with another key than the one this service has."""


class Seal:
    """Keeps secrets at rest unreadable, where the service has a key for it (`GRIDLOOM_SECRETS_KEY`)."""

    def __init__(self, key: str | None) -> None:
        self._fernet = None
        if key is not None:
            self._fernet = Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"webhook\0" + key.encode()).digest()))

    def close(self, secret: bytes) -> bytes:
        if self._fernet is None:
            return _OPEN + secret
        return _SEALED + self._fernet.encrypt(secret)

    def open(self, kept: bytes) -> bytes:
        mark, body = kept[:1], kept[1:]
        if mark == _OPEN:
            return body
        if self._fernet is None:
            raise SecretUnreadable("The secret is sealed, and GRIDLOOM_SECRETS_KEY is not set.")
        try:
            return self._fernet.decrypt(body)
        except InvalidToken:
            raise SecretUnreadable("The secret was sealed with another GRIDLOOM_SECRETS_KEY.") from None


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def shown(secret: bytes) -> str:
    return PREFIX + base64.b64encode(secret).decode()


def signed_headers(event_id: UUID, at: datetime, body: str, secrets: Sequence[bytes]) -> dict[str, str]:
    """One signature per secret, so that a receiver can change over while both are valid."""
    signatures = [Signer(secret).sign(str(event_id), at, body) for secret in secrets]
    return {
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
