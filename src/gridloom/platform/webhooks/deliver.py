"""One attempt at one delivery: sign, call, and note what came of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from prometheus_client import Counter

from gridloom.kernel.permission import Permission
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.sealing import Seal, SecretUnreadable
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import CLOUD_EVENTS, JSON
from gridloom.platform.webhooks import delivery_store
from gridloom.platform.webhooks.delivery_store import LeasedDelivery
from gridloom.platform.webhooks.http_client import AttemptResult, WebhookClient
from gridloom.platform.webhooks.model import DeliveryState, WebhookFormat
from gridloom.platform.webhooks.rules import GONE, is_accepted, next_attempt
from gridloom.platform.webhooks.signing import signed_headers

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Database, Pool

ATTEMPTS = Counter(
    "gridloom_webhook_attempts_total", "Calls to receivers of webhooks, by what came of them", ["outcome"]
)


MEDIA_TYPES: Final = {WebhookFormat.GRIDLOOM: JSON, WebhookFormat.CLOUDEVENTS: CLOUD_EVENTS}


async def deliver(pool: Pool, caller: WebhookClient, seal: Seal, claimed: LeasedDelivery) -> None:
    headers = {"content-type": MEDIA_TYPES[claimed.format], "user-agent": "Gridloom-Webhooks"}
    readable = await delivery_store.readable_by_maker(pool, claimed.organisation_id, claimed.webhook_id)
    if claimed.permission is not None and claimed.permission not in readable:
        async with transaction(pool) as db:
            await _give_up(db, claimed)
        return
    try:
        secrets = [seal.open(secret) for secret in claimed.secrets]
    except SecretUnreadable as error:
        outcome = AttemptResult(0, error=str(error))
    else:
        headers |= signed_headers(claimed.event_id, claimed.now, claimed.body, secrets)
        outcome = await caller.post(claimed.url, headers, claimed.body)
    async with transaction(pool) as db:
        await _note_outcome(db, claimed, headers, outcome)


async def _give_up(db: Database, claimed: LeasedDelivery) -> None:
    """An event that the webhook's creator may no longer read is not sent; the webhook goes on with the rest."""
    if not await delivery_store.holds_lease(db, claimed):
        return
    outcome = AttemptResult(0, error=f"the creator of the webhook no longer has {claimed.permission}")
    await delivery_store.note_attempt(db, claimed, {}, outcome)
    ATTEMPTS.labels("withheld").inc()
    await delivery_store.finish(db, claimed, DeliveryState.FAILED)


async def _note_outcome(db: Database, claimed: LeasedDelivery, headers: dict[str, str], outcome: AttemptResult) -> None:
    if not await delivery_store.holds_lease(db, claimed):
        return
    await delivery_store.note_attempt(db, claimed, headers, outcome)
    if outcome.status is not None and is_accepted(outcome.status):
        ATTEMPTS.labels("delivered").inc()
        await delivery_store.finish(db, claimed, DeliveryState.DELIVERED)
        return
    due = None
    if outcome.status != GONE:
        spread = random.uniform(-1, 1)  # noqa: S311  # no secret depends on it
        due = next_attempt(await real_now(db), claimed.attempt, claimed.give_up_at, spread)
    if due is not None:
        ATTEMPTS.labels("failed").inc()
        await delivery_store.postpone(db, claimed, due)
        return
    ATTEMPTS.labels("given up").inc()
    await delivery_store.finish(db, claimed, DeliveryState.FAILED)
    reason = outcome.error or f"the receiver answered {outcome.status}"
    if await delivery_store.disable(db, claimed, reason):
        await record_event(
            db,
            type="webhook.disabled",
            organisation_id=claimed.organisation_id,
            subject=f"webhooks/{claimed.webhook_id}",
            permission=Permission.MANAGE_ORGANISATION,
            data={"webhookID": claimed.webhook_id, "url": claimed.url, "reason": reason},
        )
