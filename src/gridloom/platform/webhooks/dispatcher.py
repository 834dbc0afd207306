"""The dispatcher inside each worker process: turns events into deliveries and makes the calls that are due."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Container, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from gridloom.kernel.tasks import cancel_and_wait
from gridloom.platform.database.commit import transaction
from gridloom.platform.database.sealing import Seal
from gridloom.platform.events.store import CHANNEL as EVENTS
from gridloom.platform.identity.store.revocations import CHANNEL as RIGHTS_CHANGED
from gridloom.platform.webhooks import delivery_store
from gridloom.platform.webhooks.deliver import deliver
from gridloom.platform.webhooks.http_client import CALL_TIMEOUT_S, WebhookClient
from gridloom.platform.webhooks.rules import MAX_DELIVERY_AGE
from gridloom.platform.webhooks.store import CHANNEL as WISHES

if TYPE_CHECKING:
    from gridloom.platform.database.listener import Listener
    from gridloom.platform.database.pool import Pool
    from gridloom.platform.webhooks.delivery_store import LeasedDelivery

log = structlog.get_logger()

MAX_CONCURRENT_CALLS = 32
MAX_CONCURRENT_CALLS_PER_WEBHOOK = 4
"""Calls to one webhook at a time, so that a slow receiver delays no other."""
MAX_CONCURRENT_CALLS_PER_ORGANISATION = 12
"""Calls to all webhooks of one organisation, so that no organisation can take every slot."""
WEBHOOK_BATCH_SIZE, EVENT_BATCH_SIZE = 50, 200
LEASE = timedelta(seconds=4 * CALL_TIMEOUT_S)
POLL_INTERVAL_S = 30.0
RETRY_DELAY_S = 1.0
MAKER_GONE = "its creator is no longer a member, or its API key was deleted"
GATHER_S = 0.02
"""How long to wait for company after being woken: most looks serve several events."""
BUSY_GATHER_S = 0.1
"""The same where events came during the last look."""
MAX_RECEIVERS = 10_000
"""Organisations with webhooks that are distinguished; where there are more, every event is a reason to look."""


class _AllOrganisations:
    def __contains__(self, _organisation_id: object) -> bool:
        return True


_EVERYBODY = _AllOrganisations()


class Dispatcher:
    """Any number of these share the work; what one takes, the others leave until its lease ends."""

    def __init__(self, pool: Pool, caller: WebhookClient, seal: Seal) -> None:
        self._pool = pool
        self._caller = caller
        self._seal = seal
        self._wake = asyncio.Event()
        self._makers_may_be_gone = True
        self._receivers: Container[str] = _EVERYBODY
        self._receivers_may_be_others = True
        self._calls: dict[asyncio.Task[None], LeasedDelivery] = {}
        self._task: asyncio.Task[None] | None = None

    def attach(self, listener: Listener) -> None:
        listener.subscribe(EVENTS, self._on_event)
        listener.subscribe(WISHES, lambda _payload: self._poll_receivers())
        listener.subscribe(RIGHTS_CHANGED, lambda _payload: self._check_creators())

    async def start(self) -> None:
        self._task = asyncio.create_task(self._keep_delivering(), name="webhook dispatcher")

    async def stop(self, grace_s: float = 5.0) -> None:
        """Calls that do not end in time are made again by another replica: at least once is the promise."""
        await cancel_and_wait(self._task)
        if self._calls:
            _, late = await asyncio.wait(self._calls, timeout=grace_s)
            for call in late:
                call.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _keep_delivering(self) -> None:
        while True:
            self._wake.clear()
            try:
                pause_s = await self._poll_once()
            except Exception as error:  # noqa: BLE001  # it must outlive whatever happens to it
                log.warning("webhooks.dispatch_failed", error=repr(error))
                pause_s, self._makers_may_be_gone, self._receivers_may_be_others = RETRY_DELAY_S, True, True
            gather_s = BUSY_GATHER_S if self._wake.is_set() else GATHER_S
            try:
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
                await asyncio.sleep(gather_s)
            except TimeoutError:
                self._makers_may_be_gone = self._receivers_may_be_others = True

    def _on_event(self, payload: str | None) -> None:
        """Most organisations have no webhook, and what happens to them is no reason to look."""
        if payload is None or payload == "*":
            self._poll_receivers()
        elif self._receivers_may_be_others or any(
            grown.partition(":")[0] in self._receivers for grown in payload.split(" ")
        ):
            self._wake.set()

    def _poll_receivers(self) -> None:
        self._receivers_may_be_others = True
        self._wake.set()

    def _check_creators(self) -> None:
        self._makers_may_be_gone = True
        self._wake.set()

    async def _poll_once(self) -> float:
        """Hand out events, start the calls that are due; the seconds until the next look."""
        if self._makers_may_be_gone:
            self._makers_may_be_gone = False
            await delivery_store.disable_orphans(self._pool, MAKER_GONE)
        if self._receivers_may_be_others:
            self._receivers_may_be_others = False
            known = await delivery_store.list_receivers(self._pool, MAX_RECEIVERS + 1)
            self._receivers = frozenset(known) if len(known) <= MAX_RECEIVERS else _EVERYBODY
        has_events, next_s = await delivery_store.next_due(self._pool)
        while has_events:
            async with transaction(self._pool) as db:
                has_events = (
                    await delivery_store.make_deliveries(db, WEBHOOK_BATCH_SIZE, EVENT_BATCH_SIZE, MAX_DELIVERY_AGE) > 0
                )
            next_s = 0.0
            await self._start_calls()  # where something happens all the time, this goes on and on
        if next_s is not None and next_s <= 0:
            await self._start_calls()
            if len(self._calls) >= MAX_CONCURRENT_CALLS:
                return POLL_INTERVAL_S  # a call that ends polls again
            _, next_s = await delivery_store.next_due(self._pool)
        return POLL_INTERVAL_S if next_s is None else min(max(next_s, RETRY_DELAY_S / 2), POLL_INTERVAL_S)

    async def _start_calls(self) -> None:
        while (room := MAX_CONCURRENT_CALLS - len(self._calls)) > 0:
            most = min(room, MAX_CONCURRENT_CALLS_PER_WEBHOOK)
            claimed = await delivery_store.lease_due(
                self._pool,
                most,
                busy=_with_at_least(
                    MAX_CONCURRENT_CALLS_PER_WEBHOOK, (call.webhook_id for call in self._calls.values())
                ),
                busy_organisations=_with_at_least(
                    MAX_CONCURRENT_CALLS_PER_ORGANISATION, (call.organisation_id for call in self._calls.values())
                ),
                lease=LEASE,
            )
            for one in claimed:
                self._start_call(one)
            if len(claimed) < most:
                return

    def _start_call(self, claimed: LeasedDelivery) -> None:
        call = asyncio.create_task(deliver(self._pool, self._caller, self._seal, claimed), name="webhook call")
        self._calls[call] = claimed
        call.add_done_callback(self._note_ended)

    def _note_ended(self, call: asyncio.Task[None]) -> None:
        del self._calls[call]
        if not call.cancelled() and (error := call.exception()) is not None:
            log.error("webhooks.attempt_not_recorded", exc_info=error)
        self._wake.set()


def _with_at_least(most: int, ids: Iterable[UUID]) -> list[UUID]:
    return [id for id, calls in Counter(ids).items() if calls >= most]
