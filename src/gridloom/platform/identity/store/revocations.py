"""Notifications to every worker that a caller's permissions have changed."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from gridloom.platform.database.pool import Database

CHANNEL: Final = "identity_revoked"
SIGNING_KEYS: Final = "signing-keys"


def session_subject(session_id: UUID) -> str:
    return f"session:{session_id}"


def member_subject(member_id: UUID) -> str:
    return f"member:{member_id}"


def api_key_subject(api_key_id: UUID) -> str:
    return f"api-key:{api_key_id}"


def organisation_subject(organisation_id: UUID) -> str:
    return f"organisation:{organisation_id}"


async def notify_revoked(db: Database, subject: str) -> None:
    """When the present transaction commits, every worker evicts the cached callers of this subject."""
    await db.execute("select pg_notify($1, $2)", CHANNEL, subject)
