"""Notice of API keys that end soon, so that machines do not stop without warning."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from gridloom.kernel.permission import Permission
from gridloom.platform.database.clock import real_now
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.platform.identity.store.api_keys import claim_expiring_keys
from gridloom.platform.identity.store.organisations import lock_operator
from gridloom.platform.jobs import JobRun, job

NOTICE: Final = timedelta(days=14)
MAX_KEYS_AT_ONCE: Final = 1000


@job("identity.notify-expiring-keys", every=timedelta(hours=1))
async def notify_expiring_keys(run: JobRun) -> None:
    """In the transaction that claims them: one event for each key."""
    await lock_operator(run.db)
    keys = await claim_expiring_keys(run.db, await real_now(run.db) + NOTICE, MAX_KEYS_AT_ONCE)
    events = [
        NewEvent(
            type="api-key.expiring",
            organisation_id=key.organisation_id,
            subject=f"api-keys/{key.id}",
            permission=Permission.MANAGE_ORGANISATION,
            data={
                "apiKeyID": str(key.id),
                "name": key.name,
                "username": key.username,
                "expiresAt": key.expires_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            },
        )
        for key in keys
    ]
    if events:
        await record_events(run.db, events)
