"""Members are told of API keys that end within two weeks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from gridloom.kernel.permission import Permission
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import check_declared
from gridloom.platform.upkeep import key_expiry

pytestmark = pytest.mark.pure

NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


class TestTheNoticeOfAKey:
    async def test_is_an_event_of_its_organisation_for_who_manages_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        keys = [
            SimpleNamespace(
                id=UUID(int=number),
                organisation_id=UUID(int=10 + number),
                name=f"key {number}",
                username="ada",
                expires_at=NOW + timedelta(days=number, microseconds=123_456),
            )
            for number in (1, 2)
        ]
        claimed: list[Any] = []
        told: list[list[NewEvent]] = []

        async def real_now(db: Any) -> datetime:
            return NOW

        async def claim(db: Any, before: datetime, most: int) -> list[Any]:
            claimed.append((db, before, most))
            return keys

        async def record_events(db: Any, events: list[NewEvent]) -> None:
            assert db == "db"
            told.append(events)

        monkeypatch.setattr(key_expiry, "real_now", real_now)
        monkeypatch.setattr(key_expiry, "claim_expiring_keys", claim)
        monkeypatch.setattr(key_expiry, "record_events", record_events)
        run: Any = SimpleNamespace(db="db")
        await key_expiry.notify_expiring_keys(run)
        assert claimed == [("db", NOW + timedelta(days=14), 1000)]
        [[first, second]] = told
        assert first == NewEvent(
            type="api-key.expiring",
            organisation_id=UUID(int=11),
            subject=f"api-keys/{UUID(int=1)}",
            permission=Permission.MANAGE_ORGANISATION,
            data={
                "apiKeyID": str(UUID(int=1)),
                "name": "key 1",
                "username": "ada",
                "expiresAt": "2026-03-30T00:30:00.123Z",
            },
        )
        assert second.organisation_id == UUID(int=12)
        check_declared(first)
        keys.clear()
        await key_expiry.notify_expiring_keys(run)
        assert len(told) == 1, "nothing is told of none"
