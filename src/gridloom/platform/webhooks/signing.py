"""Secrets of webhooks, and the signatures made with them (Standard Webhooks)."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from standardwebhooks import Webhook as Signer

SECRET_BYTES = 32
PREFIX = "whsec_"


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
