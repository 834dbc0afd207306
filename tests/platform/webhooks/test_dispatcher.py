"""Places for calls are shared fairly."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from gridloom.platform.webhooks import dispatcher
from gridloom.platform.webhooks.delivery_store import LeasedDelivery
from gridloom.platform.webhooks.dispatcher import (
    MAX_CONCURRENT_CALLS,
    MAX_CONCURRENT_CALLS_PER_ORGANISATION,
    MAX_CONCURRENT_CALLS_PER_WEBHOOK,
    Dispatcher,
)
from gridloom.platform.webhooks.http_client import CALL_TIMEOUT_S
from gridloom.platform.webhooks.model import WebhookFormat


def due(organisation_id: UUID) -> LeasedDelivery:
    now = datetime.now(UTC)
    return LeasedDelivery(
        organisation_id=organisation_id,
        id=uuid4(),
        webhook_id=uuid4(),
        event_id=uuid4(),
        format=WebhookFormat.GRIDLOOM,
        body="{}",
        attempt=1,
        give_up_at=now,
        now=now,
        url="https://example.org",
        secrets=(),
        permission=None,
    )


class TestAWebhook:
    async def test_is_busy_from_its_last_free_place_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its receiver never answers: as many calls are open as it has places, and then it is passed over."""
        one, seen = due(uuid4()), []
        waiting = [one] * MAX_CONCURRENT_CALLS

        async def claim_due(_: Any, most: int, *, busy: list[UUID], **__: Any) -> list[LeasedDelivery]:
            seen.append(list(busy))
            return [] if one.webhook_id in busy else waiting[:most]

        monkeypatch.setattr("gridloom.platform.webhooks.delivery_store.lease_due", claim_due)
        monkeypatch.setattr(dispatcher, "deliver", lambda *_: asyncio.Event().wait())
        sending = Dispatcher(None, None, None)  # type: ignore[arg-type]
        try:
            await sending._start_calls()
            assert seen == [[], [one.webhook_id]]
            assert len(sending._calls) == MAX_CONCURRENT_CALLS_PER_WEBHOOK
        finally:
            await sending.stop(grace_s=0)


class TestAnEvent:
    @pytest.mark.parametrize(
        ("payload", "is_looked_at"),
        [("ours:7", True), ("theirs:7", False), ("theirs:7 ours:8", True), ("*", True), (None, True)],
    )
    def test_is_looked_at_if_it_may_be_of_somebody_with_a_webhook(self, payload: str | None, is_looked_at: bool):
        """`*` stands for more organisations than are named one by one, and nothing for a connection that was lost."""
        sender = Dispatcher(None, None, None)  # type: ignore[arg-type]
        sender._receivers, sender._receivers_may_be_others = frozenset({"ours"}), False
        sender._on_event(payload)
        assert sender._wake.is_set() is is_looked_at


class TestADeliveryThatIsBeingCalled:
    def test_is_left_to_its_call_for_longer_than_the_call_may_take(self) -> None:
        """A receiver that is slow would otherwise be called a second time meanwhile."""
        assert 2 * timedelta(seconds=CALL_TIMEOUT_S) <= dispatcher.LEASE


class TestAnOrganisationWhoseReceiversNeverAnswer:
    async def test_leaves_places_to_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        greedy, modest = uuid4(), uuid4()
        waiting = [*(due(greedy) for _ in range(100)), due(modest)]

        async def claim_due(_: Any, most: int, *, busy_organisations: list[UUID], **__: Any) -> list[LeasedDelivery]:
            taken = [one for one in waiting if one.organisation_id not in busy_organisations][:most]
            for one in taken:
                waiting.remove(one)
            return taken

        async def deliver(*_: Any) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr("gridloom.platform.webhooks.delivery_store.lease_due", claim_due)
        monkeypatch.setattr(dispatcher, "deliver", deliver)
        sender = Dispatcher(None, None, None)  # type: ignore[arg-type]
        await sender._start_calls()
        called = [one.organisation_id for one in sender._calls.values()]
        await sender.stop(grace_s=0)
        assert called.count(modest) == 1
        assert MAX_CONCURRENT_CALLS_PER_ORGANISATION <= called.count(greedy) < MAX_CONCURRENT_CALLS - 8
